"""Vital consumers that an agent has given notice, or whose rows it no longer keeps: what the table says of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.scalars import read_boolean

TABLE_NAME: Final = "consumer_quarantines"
"""In the directory of the state tables."""

KEY_COLUMNS: Final[Mapping[str, str]] = {
    "queue_cluster": "string",
    "queue_path": "string",
    "consumer_cluster": "string",
    "consumer_path": "string",
    "consumer_name": "string",
}
"""Types by name."""

VALUE_COLUMNS: Final[Mapping[str, str]] = {
    "object_id": "string",
    "announced_at": "string",
    "renewed_at": "string",
    "notice_seconds": "double",
    "waited_seconds": "double",
    "is_started": "boolean",
    "commits": "any",
}
"""Types by name."""

TABLE_ATTRIBUTES: Final[Mapping[str, Any]] = {"min_data_versions": 0, "max_data_versions": 1, "min_data_ttl": 0}
"""Rows are written again and again, and only the last version counts."""

ATTRIBUTE: Final = "queue_agent_quarantine"
"""Of a queue: whether its owner allows quarantines."""


@dataclass(frozen=True, slots=True)
class QuarantineTerms:
    """When an agent puts a vital consumer into quarantine, as its file says."""

    after: timedelta
    """Of silence, until it is announced."""

    notice: timedelta
    """From the announcement to the first row that goes."""

    max_rows_per_hour: int
    """Unread rows of a queue that go in an hour."""


@dataclass(frozen=True, slots=True)
class QuarantineWish:
    """What the owner of a queue says about quarantines."""

    enable: bool = False
    require_export: bool = False
    """Only if the queue has a static export, so that no row goes which it has not copied."""

    @classmethod
    def parse(cls, value: Any) -> QuarantineWish:
        """Read the attribute; None is the default.

        Raises:
            ValueError: it is no map, a key has no meaning, or a value is not of its type.
        """
        if value is None:
            return cls()
        if not isinstance(value, Mapping):
            raise ValueError(f'Error reading "{ATTRIBUTE}": expected a map')
        unknown = sorted(value.keys() - {"enable", "require_export"})
        if unknown:
            raise ValueError(f'Error reading "{ATTRIBUTE}": unknown key "{unknown[0]}"')
        return cls(
            read_boolean(value.get("enable", False), "enable"),
            read_boolean(value.get("require_export", False), "require_export"),
        )


class Commit(NamedTuple):
    """The last commit of a consumer in a partition."""

    offset: int
    written_at: int
    """YTsaurus timestamp: that of the same offset, committed again, is another."""


@dataclass(frozen=True, slots=True)
class Quarantine:
    """One vital consumer in one queue: a row of the table."""

    consumer: CrossClusterRef
    object_id: str
    """Of the queue: one that was created again has other rows."""

    commits: Mapping[int, Commit]
    """By partition, when it was announced; without those that it has not begun. Others mean that somebody reads."""

    announced_at: datetime
    renewed_at: datetime
    """When an agent wrote the row last."""

    notice: timedelta
    """As announced: from then to the first row that goes."""

    waited: timedelta = timedelta(0)
    """Time that agents have watched it wait, each by a clock that is never set."""

    is_started: bool = False
    """Rows may go."""

    @property
    def state(self) -> str:
        return "started" if self.is_started else "announced"

    @property
    def left(self) -> timedelta:
        """Time to the first row that may go."""
        return timedelta(0) if self.is_started else max(timedelta(0), self.notice - self.waited)

    def to_map(self) -> dict[str, Any]:
        """The published form."""
        return {
            "consumer": str(self.consumer),
            "state": self.state,
            "announced_at": encode_instant(self.announced_at),
            "left": self.left.total_seconds(),
        }
