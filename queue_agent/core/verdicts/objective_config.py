"""`@queue_agent_objective` of a consumer: what its owner promises, strictly read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final

from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.scalars import read_integer, shown
from queue_agent.core.verdicts.objectives import Objective, ObjectiveSeconds, ObjectiveStatus

ATTRIBUTE: Final = "queue_agent_objective"

_KEYS: Final = ("max_lag_seconds", "target", "window_days", "max_gap")
_QUEUES: Final = "queues"
_LONGEST: Final = 30 * 86400
"""Seconds; nobody calls a reader fresh after a month."""

_MOST_DAYS: Final = 90
_LEAST_GAP: Final = 1000
"""Milliseconds: consumers are polled each second."""


@dataclass(frozen=True, slots=True)
class ConsumerObjectives:
    """Objectives of one consumer in all of its queues."""

    default: Objective | None = None
    by_queue: Mapping[CrossClusterRef, Objective | None] = field(default_factory=dict)
    error: ErrorInfo | None = None
    """Why the attribute cannot be read: there are no objectives then."""

    is_read: bool = True
    """False: what the attribute says is not known yet."""

    def find(self, queue: CrossClusterRef) -> Objective | None:
        """The objective for one queue; None: the owner set none."""
        return self.by_queue.get(queue, self.default)

    def status(self, queue: CrossClusterRef, seconds: ObjectiveSeconds | None) -> ObjectiveStatus | None:
        """What is published about one queue; None: nothing.

        Args:
            queue: of the consumer.
            seconds: as they are published; None: not known.
        """
        if self.error is not None:
            return ObjectiveStatus(None, self.error)
        objective = self.find(queue)
        return None if objective is None else ObjectiveStatus(objective, None, seconds)


UNREAD_OBJECTIVES: Final = ConsumerObjectives(is_read=False)
"""Before the attribute was read for the first time."""


def parse_objectives(value: Any) -> ConsumerObjectives:
    """Read the attribute; None is no objective.

    Keys below `queues` replace those of the whole for their queue.

    Raises:
        ValueError: a key is not known, or a value is of the wrong type or out of its range.
    """
    if value is None:
        return ConsumerObjectives()
    whole = dict(_read_map(value, ATTRIBUTE))
    queues = whole.pop(_QUEUES, {})
    _check_keys(whole, (*_KEYS, _QUEUES), "")
    by_queue: dict[CrossClusterRef, Objective | None] = {}
    for name, own in _read_map(queues, _QUEUES).items():
        place = f"{_QUEUES}/{name if isinstance(name, str) and len(name) <= 200 else shown(name)}/"
        own = _read_map(own, place.rstrip("/"))
        _check_keys(own, _KEYS, place)
        by_queue[_read_queue(name)] = _read_objective({**whole, **own}, place)
    if not whole and not by_queue:
        raise ValueError("The objective is empty: set max_lag_seconds and target, or max_gap, or remove it")
    return ConsumerObjectives(_read_objective(whole, "") if whole else None, by_queue)


def _read_objective(value: Mapping[str, Any], place: str) -> Objective:
    lag, target = value.get("max_lag_seconds"), value.get("target")
    if (lag is None) != (target is None):
        missing = "target" if target is None else "max_lag_seconds"
        raise ValueError(f'"{place}{missing}" is missing: max_lag_seconds and target go together')
    if lag is None and value.get("max_gap") is None:
        raise ValueError(f'"{place}window_days" alone says nothing: set max_lag_seconds and target as well')
    days = value.get("window_days", 28)
    gap = value.get("max_gap")
    return Objective(
        None if lag is None else _read_number(lag, f"{place}max_lag_seconds", 1, _LONGEST),
        None if target is None else _read_target(target, f"{place}target"),
        read_integer(days, f"{place}window_days", 1, _MOST_DAYS),
        None if gap is None else read_integer(gap, f"{place}max_gap", _LEAST_GAP, 1000 * _LONGEST) / 1000,
    )


def _check_keys(value: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
    unknown = sorted(map(str, value.keys() - set(known)))
    if unknown:
        name = unknown[0]
        nearest = get_close_matches(name, known, 1)
        hint = f'; did you mean "{nearest[0]}"?' if nearest else f"; known are {', '.join(known)}"
        raise ValueError(f"Unknown key {shown(place + name)}{hint}")
    for key, one in value.items():
        if one is None:
            raise ValueError(f'"{place}{key}" is null: remove the key, or set a value')


def _read_map(value: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f'Error reading "{place}": expected a map, got {shown(value)}')
    return value


def _read_queue(name: Any) -> CrossClusterRef:
    try:
        return CrossClusterRef.parse(name)
    except ValueError as error:
        raise ValueError(f"Error reading {_QUEUES}: {shown(name)} is no queue of the form cluster://path") from error


def _read_number(value: Any, name: str, least: float, most: float) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:
        raise ValueError(f'Error reading "{name}": expected a number from {least} to {most}, got {shown(value)}')
    return float(value)


def _read_target(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise ValueError(f'Error reading "{name}": expected a share above 0 and below 1, got {shown(value)}')
    return float(value)
