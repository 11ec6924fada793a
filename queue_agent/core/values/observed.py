"""What a cluster answers, as plain values: the input of snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


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

    unique_keys: bool = False


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
class Glance:
    """A cheap look at a table: whether anything has happened to it or in it."""

    facts: TableFacts
    tablet_infos: Mapping[int, TabletInfo] | None
    """Of the tablets known, by index; None if they could not be had, of one of them at least."""

    digest: bytes | None = field(default=None, compare=False)
    """Of the answer, for whoever glances again; None: there is none."""


@dataclass(frozen=True, slots=True)
class Watch:
    """A table to glance at."""

    path: str
    tablet_count: int = 0
    """How many tablets it is known to have."""

    last: Glance | None = None
    """A glance at as many tablets; if nothing is different, it is given again."""


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
