"""How long old versions of rows are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from yt_local.base.clock import COUNTER_BITS
from yt_wire import yson
from yt_wire.error import YtError

_HALF_AN_HOUR: Final = 30 * 60 * 1000

RETENTION_ATTRIBUTES: Final = ("min_data_versions", "max_data_versions", "min_data_ttl", "max_data_ttl")

_NAMES: Final = frozenset(RETENTION_ATTRIBUTES)


@dataclass(frozen=True, slots=True)
class Retention:
    """What a table's attributes say: minima forbid that a version goes, maxima allow it; times in milliseconds."""

    min_data_versions: int = 1
    max_data_versions: int = 1
    min_data_ttl: int = _HALF_AN_HOUR
    max_data_ttl: int = _HALF_AN_HOUR

    @classmethod
    def of(cls, attributes: Mapping[str, Any]) -> Retention | None:
        """From the attributes of a table, or the parameters of a lookup; None if there are none.

        Raises:
            YtError: one is no number.
        """
        if _NAMES.isdisjoint(attributes):
            return None
        given = {name: attributes[name] for name in RETENTION_ATTRIBUTES if not yson.is_null(attributes.get(name))}
        for name, value in given.items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise YtError(f'"{name}" must be a non-negative number, got {yson.shown(value)}')
        return cls(**{name: int(value) for name, value in given.items()}) if given else None

    def expired(self, timestamps: Sequence[int], now: int, oldest_read: int | None) -> list[int]:
        """Which versions of a key can go.

        Args:
            timestamps: of all its versions, newest first.
            now: timestamp of the present.
            oldest_read: as of then and later, everything must still read the same; None if nobody reads the past.
        """
        needed = 0 if oldest_read is None else sum(timestamp > oldest_read for timestamp in timestamps) + 1
        return [
            timestamp
            for position, timestamp in enumerate(timestamps)
            if position >= max(needed, self.min_data_versions)
            and timestamp <= before(now, self.min_data_ttl)
            and (position >= self.max_data_versions or timestamp <= before(now, self.max_data_ttl))
        ]


def queue_ttl(attributes: Mapping[str, Any]) -> int | None:
    """How old the newest row of a segment of an ordered table gets, in milliseconds; None if segments stay for ever.

    As tablet nodes have it (queue-api.md, section 13): maxima count if no version has to stay, minima if none may.
    """
    ttls = [
        attributes.get(ttl)
        for versions, ttl in (("min_data_versions", "max_data_ttl"), ("max_data_versions", "min_data_ttl"))
        if attributes.get(versions) == 0
    ]
    return min((ttl for ttl in ttls if ttl is not None), default=None)


def before(timestamp: int, milliseconds: int) -> int:
    """A timestamp so much earlier."""
    return timestamp - (milliseconds << COUNTER_BITS) // 1000
