"""TrimJournalStore and TrimJournalReader over a dynamic table beside the state tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

import structlog

from queue_agent.adapters.cluster.plain_values import to_plain
from queue_agent.adapters.cluster.queries import quote_path, quote_string
from queue_agent.core.state.trim_journal import KEY_COLUMNS, TABLE_NAME, JournalSpan, Loser, TrimRecord
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.scalars import read_instant, read_integer, read_text
from queue_agent.core.values.trim_constraints import ConstraintKind, TrimConstraint
from queue_agent.errors import ClusterError

log = structlog.get_logger(__name__)

_ADDED: Final = frozenset({"losers", "tablet_id"})
"""Columns that tables of earlier versions do not have, until `queue-agent init-state` adds them."""

_PAGE: Final = 2000
"""Rows of one query: more of them would hold up everything else while they are decoded."""

_MOST_PARTITIONS: Final = 20
"""Named in a condition; beyond that all are read."""

_MOST_CONDITIONS: Final = 6000
"""Characters of a query, which travels in a header: proxies take 8 KB for certain."""


_Places = Mapping[CrossClusterRef, tuple[str, frozenset[int]]]
"""First instant and partitions by table."""


class JournalCluster(Protocol):
    """The command this needs; `YtCluster` has it."""

    async def insert_rows(self, path: str, rows: list[dict[str, Any]]) -> None: ...

    async def select_all(self, path: str, queries: Sequence[str]) -> Sequence[Sequence[Mapping[str, Any]]]: ...

    async def get_attributes(self, path: str, names: Collection[str]) -> Mapping[str, Any]: ...

    async def delete_rows(self, path: str, keys: Sequence[Mapping[str, Any]]) -> None: ...


class TrimJournalTable:
    """`ports.TrimJournalStore` and `ports.TrimJournalReader`.

    Args:
        cluster: where the table is.
        root: directory of the state tables.
    """

    def __init__(self, cluster: JournalCluster, root: str) -> None:
        self._cluster = cluster
        self._path = f"{root}/{TABLE_NAME}"
        self._added: frozenset[str] = frozenset()
        """Those that the table is known to have; as long as some are missing it is asked each time."""

    async def write(self, records: Collection[TrimRecord]) -> None:
        """Add records in one transaction; one that is there already is written again as it was."""
        missing = _ADDED - await self._find_added()
        rows = [to_row(record) for record in records]
        rows = [{name: value for name, value in row.items() if name not in missing} for row in rows]
        try:
            await self._cluster.insert_rows(self._path, rows)
        except ClusterError:
            self._added = frozenset()
            raise

    async def read(self, wanted: Mapping[CrossClusterRef, JournalSpan]) -> Sequence[TrimRecord]:
        """See `ports.TrimJournalReader`."""
        places = {table: (encode_instant(span.since), span.partitions) for table, span in wanted.items()}
        return [record for group in _groups(places) for record in await self._read_pages(group)]

    async def _read_pages(self, wanted: _Places) -> Sequence[TrimRecord]:
        """Records of tables whose conditions fit into one query."""
        rest, page = dict(wanted), _PAGE
        found: dict[tuple[Any, ...], TrimRecord | None] = {}
        while True:
            rows = await self._select(rest, page)
            known = len(found)
            found |= {tuple(to_plain(row[name]) for name in KEY_COLUMNS): _try_to_read(row) for row in rows}
            if len(rows) < page:
                return [record for record in found.values() if record is not None]
            if len(found) == known:
                page *= 2  # more rows than a page have one instant
            last = rows[-1]
            place = str(to_plain(last["queue_cluster"])), str(to_plain(last["queue_path"]))
            instant = str(to_plain(last["instant"]))
            rest = {
                table: (instant if (table.cluster, table.path) == place else since, partitions)
                for table, (since, partitions) in rest.items()
                if (table.cluster, table.path) >= place
            }

    async def _select(self, wanted: _Places, limit: int) -> Sequence[Mapping[str, Any]]:
        columns = [*_READ, *sorted(await self._find_added())]
        names, keys = (", ".join(f"[{column}]" for column in one) for one in (columns, KEY_COLUMNS))
        where = " or ".join(_condition(table, *place) for table, place in wanted.items())
        query = f"{names} from {quote_path(self._path)} where {where} order by {keys} limit {limit}"
        try:
            [rows] = await self._cluster.select_all(self._path, [query])
        except ClusterError:
            self._added = frozenset()
            raise
        return rows

    async def remove(self, records: Collection[TrimRecord]) -> None:
        """See `ports.TrimJournalStore`."""
        rows = [to_row(record) for record in records]
        await self._cluster.delete_rows(self._path, [{name: row[name] for name in KEY_COLUMNS} for row in rows])

    async def _find_added(self) -> frozenset[str]:
        if self._added != _ADDED:
            attributes = await self._cluster.get_attributes(self._path, ["schema"])
            self._added = _ADDED & {str(column["name"]) for column in attributes.get("schema", ())}
        return self._added


def _condition(table: CrossClusterRef, since: str, partitions: Collection[int]) -> str:
    indexes = ""
    if len(partitions) <= _MOST_PARTITIONS:
        indexes = f" and [partition_index] in ({', '.join(map(str, sorted(partitions)))})"
    return (
        f"([queue_cluster] = {quote_string(table.cluster)} and [queue_path] = {quote_string(table.path)}"
        f" and [instant] >= {quote_string(since)}{indexes})"
    )


def _groups(wanted: _Places) -> Iterator[_Places]:
    """Parts whose conditions fit into one query."""
    group: dict[CrossClusterRef, tuple[str, frozenset[int]]] = {}
    length = 0
    for table, place in wanted.items():
        size = len(_condition(table, *place).encode())
        if group and length + size > _MOST_CONDITIONS:
            yield group
            group, length = {}, 0
        group[table] = place
        length += size
    if group:
        yield group


def to_row(record: TrimRecord) -> dict[str, Any]:
    """Columns of the table by name."""
    return {
        "queue_cluster": record.queue.cluster,
        "queue_path": record.queue.path,
        "instant": encode_instant(record.instant),
        "partition_index": record.partition_index,
        "agent": record.agent,
        "object_id": record.object_id,
        "lower_row_index": record.lower_row_index,
        "trimmed_row_count": record.trimmed_row_count,
        "constraint": record.constraint.to_map(),
        "losers": None if record.losers is None else [_loser_map(loser) for loser in record.losers],
        "tablet_id": record.tablet_id,
    }


_READ: Final = (
    "queue_cluster",
    "queue_path",
    "instant",
    "partition_index",
    "agent",
    "object_id",
    "lower_row_index",
    "trimmed_row_count",
)


def _loser_map(loser: Loser) -> dict[str, Any]:
    return {
        "consumer": str(loser.consumer),
        "offset": loser.offset,
        "data_weight": loser.data_weight,
        "cause": _cause(loser),
        "subject": loser.subject,
    }


_VITAL: Final = "vital_trimming"
_EXPORT: Final = "export_trimming"
_QUARANTINE: Final = "quarantine"


def _cause(loser: Loser) -> str:
    if loser.is_quarantined:
        return _QUARANTINE
    return _VITAL if loser.vital_trimming else _EXPORT


def _try_to_read(row: Mapping[str, Any]) -> TrimRecord | None:
    """A record; None: somebody has edited the row, and it tells nothing."""
    try:
        losers, tablet_id = to_plain(row.get("losers")), to_plain(row.get("tablet_id"))
        return TrimRecord(
            instant=read_instant(to_plain(row["instant"]), "instant"),
            agent=str(to_plain(row["agent"])),
            queue=CrossClusterRef(str(to_plain(row["queue_cluster"])), str(to_plain(row["queue_path"]))),
            object_id=str(to_plain(row["object_id"])),
            partition_index=read_integer(to_plain(row["partition_index"]), "partition_index"),
            lower_row_index=read_integer(to_plain(row["lower_row_index"]), "lower_row_index"),
            trimmed_row_count=read_integer(to_plain(row["trimmed_row_count"]), "trimmed_row_count"),
            constraint=TrimConstraint(ConstraintKind.END_OF_PARTITION),
            losers=None if losers is None else [_read_loser(one) for one in losers],
            tablet_id=None if tablet_id is None else read_text(tablet_id, "tablet_id"),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        log.warning("a row of the journal of trims makes no sense", error=repr(error))
        return None


def _read_loser(one: Mapping[str, Any]) -> Loser:
    offset, weight, subject = one["offset"], one["data_weight"], one["subject"]
    return Loser(
        CrossClusterRef.parse(read_text(one["consumer"], "consumer")),
        None if offset is None else read_integer(offset, "offset"),
        None if weight is None else read_integer(weight, "data_weight"),
        one["cause"] != _EXPORT,
        None if subject is None else read_text(subject, "subject"),
        one["cause"] == _QUARANTINE,
    )
