"""How published values are written: instants, durations, unsigned numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

MAX_UNSIGNED: Final = 2**64 - 1
"""YSON's greatest number."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""An instant that is not set."""


class Unsigned(int):
    """A number that is published as YSON's uint64; a plain `int` is an int64."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Entity:
    """YSON's `#` with attributes; a plain None is one without."""

    attributes: Mapping[str, Any]


def encode_instant(instant: datetime) -> str:
    """ISO 8601 in UTC with microseconds, such as `2024-05-01T10:20:30.000000Z`."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def encode_duration(duration: timedelta) -> int:
    """Whole milliseconds, rounded down."""
    return duration // timedelta(milliseconds=1)
