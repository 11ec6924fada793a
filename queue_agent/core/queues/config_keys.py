"""Keys of `@auto_trim_config` and `@static_export_config` that mean nothing, such as `enabl`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from queue_agent.core.exports.config import EXPORT_KEYS
from queue_agent.core.state.rows import QueueRow
from queue_agent.core.state.trim_config import AutoTrimConfig
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.scalars import shown

UNKNOWN_CONFIG_KEYS: Final = "queue_agent_queue_controller_unknown_config_keys"
"""Category of an alert, our own."""

_MAX_NAMED: Final = 10
"""Keys that an alert names; the owner of a queue can set any number."""

_MAX_LENGTH: Final = 100
"""Characters of a key that are shown."""


@dataclass(frozen=True, slots=True)
class UnknownKey:
    """Key of a queue's configuration that the agent ignores."""

    path: str
    """Below the queue, such as `@auto_trim_config/enabl`."""

    nearest: str | None
    """Known key that it resembles; None: there is none."""

    def __str__(self) -> str:
        hint = "" if self.nearest is None else f' (did you mean "{self.nearest}"?)'
        return f"{self.path}{hint}"


def find_unknown_keys(row: QueueRow) -> list[UnknownKey]:
    """Keys that the agent ignores, sorted by their paths."""
    found = [*_compare("@auto_trim_config", row.auto_trim_config or {}, AutoTrimConfig.keys())]
    for name, export in (row.static_export_config or {}).items():
        if isinstance(export, Mapping):
            found += _compare(f"@static_export_config/{_printable(name)}", export, EXPORT_KEYS)
    return sorted(found, key=lambda one: one.path)


def find_key_alerts(row: QueueRow) -> Mapping[str, ErrorInfo]:
    """Alert about the keys that the agent ignores, by category; empty if it knows all."""
    keys = find_unknown_keys(row)
    if not keys:
        return {}
    named = "; ".join(map(str, keys[:_MAX_NAMED]))
    more = f"; and {len(keys) - _MAX_NAMED} more" if len(keys) > _MAX_NAMED else ""
    return {UNKNOWN_CONFIG_KEYS: ErrorInfo(f"The agent ignores unknown keys: {named}{more}")}


def _compare(path: str, value: Mapping[str, Any], known: Collection[str]) -> Iterator[UnknownKey]:
    for key in value.keys() - known:
        name = _printable(key)
        yield UnknownKey(f"{path}/{name}", next(iter(get_close_matches(name, sorted(known), 1)), None))


def _printable(key: Any) -> str:
    """A key for people; owners of queues must not send control characters to terminals of operators."""
    text = str(key)
    return text if text.isprintable() and len(text) <= _MAX_LENGTH else shown(text)
