"""What the owner of a consumer has said in its attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.scalars import shown
from queue_agent.core.verdicts.objective_config import UNREAD_OBJECTIVES, ConsumerObjectives
from queue_agent.core.verdicts.rebuilding import RebuildKind
from queue_agent.core.verdicts.sentences import count
from queue_agent.core.verdicts.values import Seconds

ACKNOWLEDGED: Final = "queue_agent_acknowledged"
"""Attribute of a consumer: for each queue, up to when its owner knows of losses, reshards and re-creations.

One consumer of several in a table has such a map of its own below `consumers` and its name.
"""

PROTECTED: Final = "queue_agent_protected"
"""Attribute of a consumer, of the same form: for each queue, since when nobody may put it into quarantine."""

_CONSUMERS: Final = "consumers"
_ROUNDING: Final = 1e-6
"""Seconds: what is published is rounded to microseconds."""

_CLOCKS_DIFFER: Final = 600.0
"""Seconds by which the clocks of two computers may differ; less than a wrong time zone."""


@dataclass(frozen=True, slots=True)
class OwnersWord:
    """What one consumer's attributes say."""

    objectives: ConsumerObjectives = UNREAD_OBJECTIVES
    acknowledged: Mapping[CrossClusterRef, Seconds] = field(default_factory=dict)
    """Up to when the owner knows what happened, by queue."""


def parse_acknowledged(value: Any, name: str, now: Seconds) -> dict[CrossClusterRef, Seconds]:
    """Read the attribute; None says nothing.

    Args:
        value: of the attribute.
        name: of one consumer of several in the table; empty: it is the only one.
        now: nobody knows what happens later.

    Raises:
        ValueError: a value is of the wrong type, no instant, or one that is yet to come.
    """
    return {
        CrossClusterRef.parse(queue): _read_past(instant, now) + _ROUNDING
        for queue, instant in _read_entries(value, name, ACKNOWLEDGED).items()
    }


def is_protected(value: Any, name: str, queue: CrossClusterRef) -> bool:
    """Whether nobody may put a consumer into quarantine in a queue; so it is, too, if the attribute makes no sense.

    Args:
        value: of the attribute `PROTECTED`.
        name: of one consumer of several in the table; empty: it is the only one.
        queue: in question.
    """
    try:
        return queue in parse_protected(value, name)
    except ValueError:
        return True


def parse_protected(value: Any, name: str) -> frozenset[CrossClusterRef]:
    """Queues in which a consumer is protected; arguments as for `is_protected`, ValueError if they make no sense."""
    return frozenset(CrossClusterRef.parse(one) for one in _read_entries(value, name, PROTECTED))


def put_entry(attribute: str, value: Any, name: str, queue: CrossClusterRef, instant: str) -> dict[str, Any]:
    """An attribute with one more entry, or a later one.

    Args:
        attribute: `ACKNOWLEDGED` or `PROTECTED`.
        value: of the attribute.
        name: of one consumer of several in the table; empty: it is the only one.
        queue: of the entry.
        instant: of the entry.

    Raises:
        ValueError: the value is of the wrong type.
    """
    whole = _read_map(value, attribute)
    entry = {str(queue): instant}
    if not name:
        return {**whole, **entry}
    consumers = _read_map(whole.get(_CONSUMERS), _CONSUMERS)
    return {**whole, _CONSUMERS: {**consumers, name: {**_read_map(consumers.get(name), name), **entry}}}


def unknown_incidents(verdict: Mapping[str, Any], known: Seconds | None) -> list[tuple[str, str]]:
    """Incidents that the owner has not acknowledged: a sentence, and the instant when it ended, for each.

    Args:
        verdict: as it is published.
        known: up to when everything is; None: nothing is.
    """
    found: list[tuple[str, str]] = []
    loss, rebuild = verdict.get("loss"), verdict.get("rebuild")
    if loss is not None:
        possibly = loss["possibly_lost_row_count"]
        doubt = f", {possibly:,} of them possibly" if possibly else ""
        words = f"Lost {count(loss['row_count'], 'row')}{doubt}, from {loss['since']} to {loss['until']}"
        found.append((words, loss["until"]))
    if rebuild is not None:
        was = "created again" if rebuild["kind"] == RebuildKind.RECREATION.value else "resharded"
        found.append((f"The queue was {was} at {rebuild['time']}", rebuild["time"]))
    return [one for one in found if known is None or _read_instant(one[1]) > known]


def _read_entries(value: Any, name: str, attribute: str) -> Mapping[str, Any]:
    """Of one consumer, by queue."""
    whole = _read_map(value, attribute)
    if name:
        whole = _read_map(_read_map(whole.get(_CONSUMERS), _CONSUMERS).get(name), name)
    return {queue: entry for queue, entry in whole.items() if queue != _CONSUMERS}


def _read_map(value: Any, place: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(f'Error reading "{place}": expected a map, got {shown(value)}')
    return value


def _read_past(value: Any, now: Seconds) -> Seconds:
    """As `_read_instant`; ValueError too if it is yet to come: later losses would be hidden."""
    instant = _read_instant(value)
    if instant > now + _CLOCKS_DIFFER:
        raise ValueError(f"expected an instant that has passed, got {shown(value)}")
    return instant


def _read_instant(value: Any) -> Seconds:
    """Seconds since the epoch of an instant as it is published; ValueError if it is none."""
    try:
        instant = datetime.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        instant = None
    if instant is None or instant.tzinfo is None:
        raise ValueError(f"expected an instant with its zone, such as 2026-05-01T10:00:00Z, got {shown(value)}")
    return instant.timestamp()
