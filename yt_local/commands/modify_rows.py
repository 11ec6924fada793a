"""insert_rows, delete_rows, lock_rows: changes of rows; over RPC one method has all of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence, Set
from contextlib import asynccontextmanager
from itertools import groupby
from typing import Any, Final, Literal, NamedTuple

from pydantic import Field

from yt_local.calls.call import NOTHING, Call, Method
from yt_local.calls.command import (
    Body,
    Command,
    Parameters,
    PathParameter,
    TransactionId,
    tablet_transaction,
    volatile,
)
from yt_local.calls.manual import NO_SUCH_NODE, Manual
from yt_local.calls.messages import rich_path
from yt_local.calls.rows import check_all_taken, take
from yt_local.calls.rowsets import WireRow, decode_rows
from yt_local.cluster import Cluster
from yt_local.formats.format import InputRow
from yt_local.rows.row_locks import LOCK_TYPES, LockName
from yt_local.session import Session
from yt_local.tables.dynamic.open_tables import Table
from yt_local.tables.dynamic.tablet_transaction import Atomicity
from yt_wire import rpc
from yt_wire.bus import Part
from yt_wire.connection import Reply
from yt_wire.error import ErrorCode, YtError
from yt_wire.guid import NULL_GUID
from yt_wire.proto import api_pb2 as api
from yt_wire.proto.core_pb2 import TGuid
from yt_wire.ypath import parse_rich

_ROWS: Final = {
    1: "no dynamic table; atomicity other than the table's; a replica table is written to directly",
    307: "a row does not go with the schema",
    500: NO_SUCH_NODE,
    1700: "somebody else has written a row since the transaction started; at the commit, or at once without one",
    1701: "`$tablet_index` out of range; the tablet was resharded since the transaction first wrote to it",
    1702: "a tablet is not mounted, or the table has no mounted one",
    1704: "the tablet was mounted again since the transaction's first write",
    1714: "a replicated table has no synchronous replica, and `require_sync_replica` is not false",
    1718: "the table at the end of a synchronous replica is bound to another replica",
    1717: "more rows than a transaction may have",
    11000: "no such tablet transaction",
}

_LOCK_BITS: Final = 4

_LEGACY_LOCK_BITS: Final = 2
"""Of older clients, which know no shared writes."""

_LEGACY_READ_LOCK_BITS: Final = 1
"""Of the oldest, and of others where all locks are weak."""

_LOCKS: Final[tuple[LockName, ...]] = ("none", "shared_weak", "shared_strong", "exclusive", "shared_write")
"""By their numbers in masks."""


class _Write(Parameters):
    path: PathParameter
    atomicity: Atomicity = "full"
    durability: Literal["sync", "async"] = "sync"
    require_sync_replica: bool = True
    transaction_id: TransactionId = None


class _Insert(_Write):
    update: bool = False
    aggregate: bool = False
    allow_missing_key_columns: bool = False
    lock_type: Literal["exclusive", "shared_write"] = "exclusive"


class _Lock(Parameters):
    path: PathParameter
    locks: list[str] = Field(default_factory=list)
    lock_type: LockName = "shared_strong"
    transaction_id: TransactionId = None


async def _insert_rows(cluster: Cluster, session: Session, parameters: _Insert, body: Body) -> Any:
    cluster.writer.insert_rows(
        session.access,
        parameters.path,
        _rows_to_write(cluster, session, parameters.path, body),
        update=parameters.update,
        aggregate=parameters.aggregate,
        lock=LOCK_TYPES[parameters.lock_type],
        atomicity=parameters.atomicity,
        require_sync_replica=parameters.require_sync_replica,
        transaction=tablet_transaction(cluster, parameters.transaction_id),
    )
    return {}


async def _delete_rows(cluster: Cluster, session: Session, parameters: _Write, body: Body) -> Any:
    cluster.writer.delete_rows(
        session.access,
        parameters.path,
        _rows_to_write(cluster, session, parameters.path, body),
        atomicity=parameters.atomicity,
        require_sync_replica=parameters.require_sync_replica,
        transaction=tablet_transaction(cluster, parameters.transaction_id),
    )
    return {}


async def _lock_rows(cluster: Cluster, session: Session, parameters: _Lock, body: Body) -> Any:
    transaction = cluster.tablet_transactions.get(parameters.transaction_id or str(NULL_GUID))
    rows = _rows_to_write(cluster, session, parameters.path, body)
    cluster.writer.lock_rows(
        session.access, parameters.path, rows, parameters.locks, LOCK_TYPES[parameters.lock_type], transaction
    )
    return {}


def _rows_to_write(cluster: Cluster, session: Session, path: str, body: Body) -> list[InputRow]:
    return body.rows_for(lambda: cluster.tables.open(path, session.access.to("write")).schema.columns)


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "insert_rows",
        _Insert,
        _insert_rows,
        Manual(
            "Writes rows: by key to a sorted table, at the end of a tablet to an ordered one.",
            "an empty body",
            {
                **_ROWS,
                1: f"{_ROWS[1]}; `update` or `aggregate` with an ordered table; `shared_write` that is not enabled",
            },
            ignored=("durability", "sequence_number", "table_writer"),
            differs="A row is on disk, with `--data-dir`, when it is answered, whatever `durability` says.",
            parameters={
                "update": "columns that are not in a row keep their values",
                "aggregate": "values of aggregate columns are added to what there is",
                "allow_missing_key_columns": "key columns that a row does not name are null even "
                "where they are required",
            },
        ),
        input_type="tabular",
        is_heavy=True,
        transactions="taken",
    ),
    volatile(
        "delete_rows",
        _Write,
        _delete_rows,
        Manual(
            "Deletes rows by their keys.",
            errors={**_ROWS, 1716: "the table is ordered"},
            ignored=("durability", "sequence_number", "table_writer"),
        ),
        input_type="tabular",
        is_heavy=True,
        transactions="taken",
    ),
    volatile(
        "lock_rows",
        _Lock,
        _lock_rows,
        Manual(
            "Locks rows, or groups of their columns, for the tablet transaction.",
            errors={**_ROWS, 1: "no transaction; an unknown group; no dynamic table", 1716: "the table is ordered"},
            ignored=("table_writer",),
            parameters={"locks": "groups of columns to be locked"},
        ),
        input_type="tabular",
        is_heavy=True,
        transactions="taken",
    ),
)


class _Modification(NamedTuple):
    """What is to be done with a row."""

    kind: int
    locks: tuple[LockName, ...]
    """On each group of columns, as far as the caller says so."""

    row: WireRow


async def _rpc_modify(call: Call, request: api.TReqModifyRows) -> Reply:
    async with _modifying(call, request.transaction_id):
        await _modify_rows(call, request, call.attachments)
    return NOTHING


async def _rpc_batch_modify(call: Call, request: api.TReqBatchModifyRows) -> Reply:
    rest = list(call.attachments)
    async with _modifying(call, request.transaction_id):
        for count in request.part_counts:
            (message,) = take(rest, 1)
            subrequest = rpc.parse(api.TReqModifyRows, message or b"")
            subrequest.transaction_id.CopyFrom(request.transaction_id)
            await _modify_rows(call, subrequest, take(rest, count))
        check_all_taken(rest)
    return NOTHING


@asynccontextmanager
async def _modifying(call: Call, transaction_id: TGuid) -> AsyncIterator[None]:
    """What a request adds to its transaction, all of it or nothing, before the next request adds anything.

    Raises:
        YtError: 11000 if there is no such transaction: without one there is no place for what is only half done.
    """
    transaction = call.cluster.tablet_transactions.get(str(rpc.from_proto_guid(transaction_id)))
    async with transaction.turns:
        count = len(transaction.requests)
        try:
            yield
        except (YtError, asyncio.CancelledError):
            transaction.drop_requests(count)
            raise


async def _modify_rows(call: Call, request: api.TReqModifyRows, attachments: Sequence[Part]) -> None:
    """Do what a request wants in the order of its rows; those of concurrent requests come in the order of arrival."""
    if rpc.from_proto_guid(request.upstream_replica_id) != NULL_GUID:
        raise YtError("Rows are not taken from an upstream replica")
    rows = decode_rows(request.rowset_descriptor, attachments)
    kinds = request.row_modification_types
    if len(kinds) != len(rows):
        raise YtError(f"There are {len(rows)} rows and {len(kinds)} modification types", ErrorCode.PROTOCOL)
    table = call.cluster.tables.open(parse_rich(request.path).path, call.session.access.to("write"))
    common = {
        "path": rich_path(request.path),
        "transaction_id": str(rpc.from_proto_guid(request.transaction_id)),
        "require_sync_replica": request.require_sync_replica if request.HasField("require_sync_replica") else True,
    }
    aggregates = {column.name.encode() for column in table.schema.columns if column.aggregate is not None}
    modifications = map(_Modification, kinds, _locks(request, len(rows)), rows)
    for (kind, locks, aggregate), group in groupby(
        modifications, lambda item: (item.kind, item.locks, _is_aggregated(item.row, aggregates))
    ):
        values = [item.row.values for item in group]
        if kind == api.RMT_DELETE:
            await call.execute("delete_rows", common, Body(rows=values))
        else:
            if kind == api.RMT_MODIFY:
                await _lock(call, table, common, values, locks)
                # Rows that name nothing but keys are there to be locked.
                keys = {column.name.encode() for column in table.codec.key_columns}
                values = [row for row in values if not keys.issuperset(row)]
            if values:
                await _write(call, table, common, values, aggregate=aggregate, shared="shared_write" in locks)


def _is_aggregated(row: WireRow, aggregates: Set[bytes]) -> bool:
    """Whether the values of aggregate columns are to be added to those there are.

    Raises:
        YtError: some are, and others are to take their place: it is all or none of a row.
    """
    if not row.aggregated:
        return False
    for name in aggregates - row.aggregated:
        if row.values.get(name) is not None:
            raise YtError(f'Column "{name.decode()}" is to be replaced in a row that is to be aggregated')
    return True


async def _lock(
    call: Call, table: Table, common: dict[str, Any], rows: list[dict[bytes, Any]], locks: Sequence[LockName]
) -> None:
    """Take the locks on groups of columns."""
    groups = table.codec.lock_groups.names
    if len(locks) > len(groups):
        raise YtError(f"Table {table.path} has {len(groups)} lock groups, number {len(locks) - 1} is to be locked")
    for lock in sorted(set(locks) - {"none"}):
        names = [name for name, held in zip(groups, locks, strict=False) if held == lock]
        keys = [column.name.encode() for column in table.codec.key_columns if column.expression is None]
        only_keys = [{name: row[name] for name in keys if name in row} for row in rows]
        await call.execute("lock_rows", {**common, "locks": names, "lock_type": lock}, Body(rows=only_keys))


async def _write(
    call: Call,
    table: Table,
    common: dict[str, Any],
    rows: list[dict[bytes, Any]],
    *,
    aggregate: bool,
    shared: bool,
) -> None:
    options: dict[str, Any] = {"aggregate": aggregate}
    if table.schema.is_sorted:
        # What a row does not name stays as it is; rows that name everything need no look at what there is.
        width = len(table.codec.write_columns)
        options["update"] = any(len(row) < width for row in rows)
    if shared:
        options["lock_type"] = "shared_write"
    await call.execute("insert_rows", {**common, **options}, Body(rows=rows))


def _locks(request: api.TReqModifyRows, row_count: int) -> Iterator[tuple[LockName, ...]]:
    """The locks on the groups of columns of every row, as newer clients say it, or as older ones do."""
    for index in range(row_count):
        if index < len(request.row_locks):
            yield _unpacked(request.row_locks[index].bitmap, _LOCK_BITS)
        elif index < len(request.row_legacy_locks):
            yield _unpacked([request.row_legacy_locks[index]], _LEGACY_LOCK_BITS)
        elif index < len(request.row_legacy_read_locks):
            yield _unpacked([request.row_legacy_read_locks[index]], _LEGACY_READ_LOCK_BITS)
        else:
            yield ()


def _unpacked(words: Sequence[int], bits: int) -> tuple[LockName, ...]:
    numbers = [word >> shift & (1 << bits) - 1 for word in words for shift in range(0, 64, bits)]
    while numbers and not numbers[-1]:
        numbers.pop()
    try:
        return tuple(_LOCKS[number] for number in numbers)
    except IndexError as error:
        raise YtError(f"There is no lock type {max(numbers)}", ErrorCode.PROTOCOL) from error


METHODS: Final[tuple[Method, ...]] = (
    Method(api.TReqModifyRows, _rpc_modify),
    Method(api.TReqBatchModifyRows, _rpc_batch_modify),
)
