"""What a cluster answers, as plain values: the input of snapshots; and what a cheap look spares asking again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from queue_agent.core.values.refs import CrossClusterRef


@dataclass(frozen=True, slots=True)
class ObjectRevisions:
    """A cluster's watch list, `//sys/@queue_agent_object_revisions`: attribute revision by path."""

    queues: Mapping[str, int]
    consumers: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ColumnDescription:
    """One column of a table's schema as the cluster lists it."""

    name: str
    type: str
    """Simple type name such as `uint64`; of an optional column the type inside."""

    required: bool = False
    sort_order: str | None = None


@dataclass(frozen=True, slots=True)
class TabletDescription:
    """One tablet as Cypress lists it in `@tablets`."""

    index: int
    tablet_id: str
    state: str
    """`mounted`, `frozen`, `unmounted`, `mounting`, ..."""

    cell_id: str | None
    host: str | None
    """`host:port` of the cell's leading peer; None if not known."""


@dataclass(frozen=True, slots=True)
class TableDescription:
    """What is needed of a table before its tablets can be asked."""

    columns: Sequence[ColumnDescription]
    tablets: Sequence[TabletDescription]
    """In order of their index, without gaps."""

    object_id: str | None = None
    """Of this table; one that is created at the same path has another. None: not known."""

    unique_keys: bool = False
    created_at: datetime | None = None
    """By the clock of the cluster; None: not known."""

    data_ttl: timedelta | None = None
    """Of an ordered table: the cluster removes older rows, whether they were read or not. None: it removes none."""


class TabletInfo(NamedTuple):
    """Answer of `get_tablet_infos` for one tablet."""

    total_row_count: int
    """Index after the last row, trimmed rows included."""

    trimmed_row_count: int
    """Index of the first row that is still there."""

    last_write_timestamp: int
    """YTsaurus timestamp of the last commit, 0 if there was none."""


class TableFacts(NamedTuple):
    """What tells cheaply that a table's description is still true, unless a tablet went to another cell."""

    object_id: str
    attribute_revision: int
    tablet_count_by_state: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Poll:
    """A cheap look at a table: whether anything has happened to it or in it."""

    facts: TableFacts
    tablet_infos: Mapping[int, TabletInfo] | None
    """Of the tablets known, by index; None if they could not be had, of one of them at least."""

    digest: bytes | None = field(default=None, compare=False)
    """Of the answer, for whoever polls again; None: there is none."""


@dataclass(frozen=True, slots=True)
class Watch:
    """A table to poll."""

    path: str
    tablet_count: int = 0
    """How many tablets it is known to have."""

    last: Poll | None = None
    """The last poll, of as many tablets; it is returned again if nothing has changed."""

    object_id: str | None = None
    """Of the table that has these tablets; None: it is the one at the path."""


@dataclass(frozen=True, slots=True)
class ConsumerOffset:
    """One row of a consumer table, for a known queue."""

    partition_index: int
    offset: int
    """Index of the first row not read."""

    last_write_timestamp: int
    """YTsaurus timestamp at which the row was written last."""

    meta: Mapping[str, Any] = field(default_factory=dict)
    """`cumulative_data_weight` and `offset_timestamp`, each only if known."""


DESCRIPTION_PASSES: Final = 60
"""After so many passes a table is described again: a tablet that went to another cell changes nothing else."""

OFFSETS_PASSES: Final = 100
"""After so many passes offsets are read again, whatever the cluster says about writes."""

_LEAST_TIMESTAMP: Final = 1
"""Of a tablet that was never written to."""


@dataclass(frozen=True, slots=True)
class KnownTable:
    """A table's description, and the facts that were true before it was asked for."""

    table: CrossClusterRef
    facts: TableFacts
    description: TableDescription

    @property
    def tablet_count(self) -> int:
        return len(self.description.tablets)

    def is_confirmed_by(self, poll: Poll) -> bool:
        """Whether the description is still true, and the look at the tablets complete."""
        return poll.facts == self.facts and poll.tablet_infos is not None


def remember_table(table: CrossClusterRef, facts: TableFacts, description: TableDescription) -> KnownTable | None:
    """What can be relied on in the next pass; None while a tablet is on its way, or frozen."""
    if all(tablet.state == "mounted" for tablet in description.tablets):
        return KnownTable(table, facts, description)
    return None


def is_refresh_due(key: object, pass_index: int, period: int) -> bool:
    """Whether everything is to be asked in this pass: once in so many, but not for all objects in the same pass."""
    return (pass_index + hash(key)) % period == 0


def tablet_count(poll: Poll) -> int:
    """How many tablets a table had."""
    return sum(poll.facts.tablet_count_by_state.values())


def is_untouched(old: Poll | None, new: Poll) -> bool:
    """Whether nothing was written to a sorted table after the older look.

    Commits have growing timestamps, but may come to a tablet in another order: one that is late keeps its rows locked,
    and whoever reads waits for it. So what was read after the older look holds whatever has a timestamp up to then.
    """
    return (
        old is not None
        and old == new
        and bool(new.tablet_infos)
        and all(info.last_write_timestamp > _LEAST_TIMESTAMP for info in (new.tablet_infos or {}).values())
    )
