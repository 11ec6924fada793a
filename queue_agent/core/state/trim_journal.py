"""The journal of trims: who dropped which rows, when and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from queue_agent.core.state.lifetimes import lifetime_attributes
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import TrimConstraint

TABLE_NAME: Final = "trim_journal"
"""In the directory of the state tables."""

LIFETIME: Final = timedelta(days=30)
"""Rows of the journal are kept so long; another lifetime can be set when the table is created."""

KEY_COLUMNS: Final[Mapping[str, str]] = {
    "queue_cluster": "string",
    "queue_path": "string",
    "instant": "string",
    "partition_index": "int64",
    "agent": "string",
}
"""Types by name; a queue's trims stand together, in order of time."""

VALUE_COLUMNS: Final[Mapping[str, str]] = {
    "object_id": "string",
    "lower_row_index": "int64",
    "trimmed_row_count": "int64",
    "constraint": "any",
    "losers": "any",
    "tablet_id": "string",
}
"""Types by name."""


TABLE_ATTRIBUTES: Final = lifetime_attributes(LIFETIME)


@dataclass(frozen=True, slots=True)
class JournalSpan:
    """Which records of a table are wanted."""

    since: datetime
    """Instant of the first."""

    partitions: frozenset[int]
    """Their indexes."""

    def joined(self, other: JournalSpan) -> JournalSpan:
        """All that one of the two wants."""
        return JournalSpan(min(self.since, other.since), self.partitions | other.partitions)


@dataclass(frozen=True, slots=True)
class Loser:
    """A consumer that may not have committed all rows which a trim removed, by its offset right before the trim.

    It lost rows if the offset is less than `TrimRecord.trimmed_row_count`, or is one of older rows than these.
    """

    consumer: CrossClusterRef
    offset: int | None
    """None: it could not be read."""

    data_weight: int | None = None
    """Bytes of those rows; None: not known."""

    vital_trimming: bool = True
    """The rows went since the vital consumers had read them; False: since exports had copied them."""

    subject: str | None = None
    """The vital consumer or the export that let them go last; None: not known."""

    is_quarantined: bool = False
    """It would have held the rows, but it is in quarantine."""


@dataclass(frozen=True, slots=True)
class TrimRecord:
    """One trim, written right before it: a row of the journal.

    It was not carried out if an agent was killed at that moment. Then the same rows are in a later record.
    """

    instant: datetime
    agent: str
    """Host and process."""

    queue: CrossClusterRef
    object_id: str
    """Of the table, which may be somewhere else since."""

    partition_index: int
    lower_row_index: int
    """The first row that went."""

    trimmed_row_count: int
    """The first row that stayed."""

    constraint: TrimConstraint
    """Why this far and no further."""

    losers: Sequence[Loser] | None = None
    """Every other consumer had committed the rows. None: not known, for an agent of an earlier version wrote this."""

    tablet_id: str | None = None
    """Of the partition of the table. None: not known, for an agent of an earlier version wrote this."""
