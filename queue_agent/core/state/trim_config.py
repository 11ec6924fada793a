"""What is to be trimmed: `@auto_trim_config` of a queue, and what the agent may do about it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any

from queue_agent.core.values.scalars import read_boolean, read_integer, read_milliseconds


class TrimmingMode(enum.Enum):
    """What an agent does about trimming."""

    OFF = "off"
    """Nothing."""

    OBSERVE = "observe"
    """It decides and publishes what it would trim, and trims nothing."""

    TRIM = "trim"


@dataclass(frozen=True, slots=True)
class AutoTrimConfig:
    """Wishes of a queue's owner."""

    enable: bool = False
    retained_rows: int | None = None
    """Rows to keep in each partition; None: no such wish."""

    retained_lifetime_duration: timedelta | None = None
    """Rows younger than this are kept; whole seconds. None: no such wish."""

    @classmethod
    def unknown_keys(cls, value: Mapping[str, Any]) -> list[str]:
        """Keys without a meaning, which `parse` ignores."""
        return sorted(value.keys() - cls.keys())

    @classmethod
    def keys(cls) -> frozenset[str]:
        """Keys that have a meaning."""
        return frozenset(one.name for one in fields(cls))

    @classmethod
    def parse(cls, value: Mapping[str, Any] | None) -> AutoTrimConfig:
        """Read the attribute; None is the default. Unknown keys are ignored.

        Raises:
            ValueError: a value is of the wrong type or out of its range.
        """
        value = {} if value is None else value
        enable = read_boolean(value.get("enable", False), "enable")
        rows = None if value.get("retained_rows") is None else read_integer(value["retained_rows"], "retained_rows")
        lifetime = None
        if value.get("retained_lifetime_duration") is not None:
            lifetime = read_milliseconds(value["retained_lifetime_duration"], "retained_lifetime_duration")
            if lifetime % timedelta(seconds=1):
                raise ValueError('The value of "retained_lifetime_duration" must be a multiple of 1000 (1 second)')
        return cls(enable, rows, lifetime)
