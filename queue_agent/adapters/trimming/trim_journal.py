"""TrimJournalStore and TrimJournalReader over a dynamic table beside the state tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Protocol

import structlog

from queue_agent.adapters.cluster.plain_values import to_plain
from queue_agent.adapters.cluster.queries import quote_path, quote_string
from queue_agent.core.state.trim_journal import TABLE_NAME, Loser, TrimRecord
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.scalars import read_instant, read_integer, read_text
from queue_agent.core.values.trim_constraints import ConstraintKind, TrimConstraint
from queue_agent.errors import ClusterError

log = structlog.get_logger(__name__)

_ADDED: Final = "losers"
"""A column that tables of earlier versions do not have, until `queue-agent init-state` adds it."""

_MOST_READ: Final = 20_000
"""Rows of one query. What is beyond counts as trimmed by others, so as possibly lost."""


class JournalCluster(Protocol):
    """The command this needs; `YtCluster` has it."""

    async def insert_rows(self, path: str, rows: list[dict[str, Any]]) -> None: ...

    async def select_all(self, path: str, queries: Sequence[str]) -> Sequence[Sequence[Mapping[str, Any]]]: ...

    async def get_attributes(self, path: str, names: Collection[str]) -> Mapping[str, Any]: ...


class TrimJournalTable:
    """`ports.TrimJournalStore` and `ports.TrimJournalReader`.

    Args:
        cluster: where the table is.
        root: directory of the state tables.
    """

    def __init__(self, cluster: JournalCluster, root: str) -> None:
        self._cluster = cluster
        self._path = f"{root}/{TABLE_NAME}"
        self._has_losers = False
        """Whether the table is known to have this column; until then it is asked each time, for it may be added."""

    async def write(self, records: Collection[TrimRecord]) -> None:
        """Add records in one transaction; one that is there already is written again as it was."""
        has_losers = await self._find_losers_column()
        rows = [to_row(record) for record in records]
        if not has_losers:
            rows = [{name: value for name, value in row.items() if name != _ADDED} for row in rows]
        try:
            await self._cluster.insert_rows(self._path, rows)
        except ClusterError:
            self._has_losers = False
            raise

    async def read(self, since: Mapping[CrossClusterRef, datetime]) -> Sequence[TrimRecord]:
        """See `ports.TrimJournalReader`."""
        columns = [*_READ, _ADDED] if await self._find_losers_column() else _READ
        parts = [
            f"([queue_cluster] = {quote_string(queue.cluster)} and [queue_path] = {quote_string(queue.path)}"
            f" and [instant] >= {quote_string(encode_instant(instant))})"
            for queue, instant in since.items()
        ]
        names = ", ".join(f"[{column}]" for column in columns)
        query = f"{names} from {quote_path(self._path)} where {' or '.join(parts)} limit {_MOST_READ}"
        try:
            [rows] = await self._cluster.select_all(self._path, [query])
        except ClusterError:
            self._has_losers = False
            raise
        return [record for record in map(_try_to_read, rows) if record is not None]

    async def _find_losers_column(self) -> bool:
        if not self._has_losers:
            attributes = await self._cluster.get_attributes(self._path, ["schema"])
            self._has_losers = any(str(column["name"]) == _ADDED for column in attributes.get("schema", ()))
        return self._has_losers


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
        _ADDED: None if record.losers is None else [_loser_map(loser) for loser in record.losers],
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
        "cause": _VITAL if loser.vital_trimming else _EXPORT,
        "subject": loser.subject,
    }


_VITAL: Final = "vital_trimming"
_EXPORT: Final = "export_trimming"


def _try_to_read(row: Mapping[str, Any]) -> TrimRecord | None:
    """A record; None: somebody has edited the row, and it tells nothing."""
    try:
        losers = to_plain(row.get(_ADDED))
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
    )
