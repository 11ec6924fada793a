"""The journal of trims: who dropped which rows, when and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import TrimConstraint

TABLE_NAME: Final = "trim_journal"
"""In the directory of the state tables."""

LIFETIME: Final = timedelta(days=30)
"""Rows of the journal are kept so long, unless whoever creates the table wants otherwise."""

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
}
"""Types by name."""


def table_attributes(lifetime: timedelta = LIFETIME) -> dict[str, Any]:
    """Attributes with which the cluster drops old rows of the journal by itself, within a day or so."""
    return {
        "min_data_versions": 0,
        "max_data_versions": 1,
        "min_data_ttl": 0,
        "max_data_ttl": lifetime // timedelta(milliseconds=1),
        "auto_compaction_period": timedelta(days=1) // timedelta(milliseconds=1),
    }


@dataclass(frozen=True, slots=True)
class Loser:
    """A consumer that had not committed all rows which a trim removed, by its offset right before the trim."""

    consumer: CrossClusterRef
    offset: int | None
    """None: it could not be read."""

    data_weight: int | None = None
    """Bytes of those rows; None: not known."""

    vital_trimming: bool = True
    """The rows went since the vital consumers had read them; False: since exports had copied them."""

    subject: str | None = None
    """The vital consumer or the export that let them go last; None: not known."""


@dataclass(frozen=True, slots=True)
class TrimRecord:
    """One trim that was done: a row of the journal."""

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
    """Every other consumer had committed the rows. None: not known, for the answer to the trim was lost, or an agent of
    an earlier version wrote this."""
