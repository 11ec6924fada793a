"""Methods on rows of dynamic tables."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence, Set
from contextlib import asynccontextmanager
from itertools import groupby
from typing import Any, Final, NamedTuple

from yt_local.commands.command import Body
from yt_local.formats.row_output import ValueRows
from yt_local.proxy.rpc.call import NOTHING, Call, Method, reply
from yt_local.proxy.rpc.parameters import parameters, rich_path, text
from yt_local.proxy.rpc.rowsets import (
    WireRow,
    decode_rows,
    descriptor,
    encode_rows,
    encode_versioned_rows,
)
from yt_local.rows.row_locks import LockName
from yt_local.security.permissions import UNCHECKED
from yt_local.tables.dynamic.open_tables import Table
from yt_wire import rpc, yson
from yt_wire.bus import Part
from yt_wire.connection import Reply
from yt_wire.error import ErrorCode, YtError
from yt_wire.guid import NULL_GUID
from yt_wire.proto import api_pb2 as api
from yt_wire.proto.core_pb2 import TGuid
from yt_wire.ypath import parse_rich

_NULL_TIMESTAMP: Final = 0
_MICROSECONDS: Final = 1000
_LOCK_BITS: Final = 4
_LEGACY_LOCK_BITS: Final = 2
"""Of older clients, which know no shared writes."""

_LEGACY_READ_LOCK_BITS: Final = 1
"""Of the oldest, and of others where all locks are weak."""
_LOCKS: Final[tuple[LockName, ...]] = ("none", "shared_weak", "shared_strong", "exclusive", "shared_write")
"""By their numbers in masks."""


class _Modification(NamedTuple):
    """What is to be done with a row."""

    kind: int
    locks: tuple[LockName, ...]
    """On each group of columns, as far as the caller says so."""

    row: WireRow


async def _modify(call: Call, request: api.TReqModifyRows) -> Reply:
    async with _modifying(call, request.transaction_id):
        await _modify_rows(call, request, call.attachments)
    return NOTHING


async def _batch_modify(call: Call, request: api.TReqBatchModifyRows) -> Reply:
    rest = list(call.attachments)
    async with _modifying(call, request.transaction_id):
        for count in request.part_counts:
            (message,) = _take(rest, 1)
            subrequest = rpc.parse(api.TReqModifyRows, message or b"")
            subrequest.transaction_id.CopyFrom(request.transaction_id)
            await _modify_rows(call, subrequest, _take(rest, count))
        _check_all_taken(rest)
    return NOTHING


def _take(rest: list[Part], count: int) -> list[Part]:
    """The next so many attachments, which are of one subrequest; YtError 101 if there are not so many."""
    if not 0 <= count <= len(rest):
        raise YtError(f"A subrequest wants {count} attachments, there are {len(rest)} left", ErrorCode.PROTOCOL)
    taken = rest[:count]
    del rest[:count]
    return taken


def _check_all_taken(rest: Sequence[Part]) -> None:
    if rest:
        raise YtError(f"There are {len(rest)} attachments more than subrequests want", ErrorCode.PROTOCOL)


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


def _at(timestamp: int) -> dict[str, Any]:
    """A timestamp to read at as parameters; without one the latest rows are read."""
    return {} if timestamp == _NULL_TIMESTAMP else {"timestamp": timestamp}


async def _looked_up(
    call: Call,
    request: api.TReqLookupRows | api.TReqVersionedLookupRows | api.TReqMultiLookup.TSubrequest,
    timestamp: int,
    attachments: Sequence[Part],
    **options: Any,
) -> Any:
    keys = decode_rows(request.rowset_descriptor, attachments)
    found: dict[str, Any] = {
        "path": rich_path(request.path),
        "keep_missing_rows": request.keep_missing_rows,
        **_at(timestamp),
        **options,
    }
    if request.columns:
        found["column_names"] = list(map(text, request.columns))
    answer = await call.execute("lookup_rows", found, Body(rows=[key.values for key in keys]))
    return answer.rows


def _check_retention(timestamp: int) -> None:
    """YtError if an answer is to leave out what is older than a timestamp."""
    if timestamp != _NULL_TIMESTAMP:
        raise YtError("Retention timestamps are not supported")


async def _lookup(call: Call, request: api.TReqLookupRows) -> Reply:
    _check_retention(request.retention_timestamp)
    rows = await _looked_up(call, request, request.timestamp, call.attachments)
    return _rowset(api.TRspLookupRows(rowset_descriptor=descriptor(rows.columns)), rows)


async def _multi_lookup(call: Call, request: api.TReqMultiLookup) -> Reply:
    rest = list(call.attachments)
    answer = api.TRspMultiLookup()
    attachments = []
    for subrequest in request.subrequests:
        rows = await _looked_up(call, subrequest, request.timestamp, _take(rest, subrequest.attachment_count))
        answer.subresponses.add(rowset_descriptor=descriptor(rows.columns), attachment_count=1)
        attachments.append(encode_rows(rows.columns, rows.rows))
    _check_all_taken(rest)
    return reply(answer, *attachments)


async def _lookup_versions(call: Call, request: api.TReqVersionedLookupRows) -> Reply:
    options: dict[str, Any] = {"versioned": True}
    if request.HasField("retention_config"):
        retention = request.retention_config
        options["retention_config"] = {
            "min_data_versions": retention.min_data_versions,
            "max_data_versions": retention.max_data_versions,
            "min_data_ttl": retention.min_data_ttl // _MICROSECONDS,
            "max_data_ttl": retention.max_data_ttl // _MICROSECONDS,
        }
    rows = await _looked_up(call, request, request.timestamp, call.attachments, **options)
    schema = call.cluster.tables.open(parse_rich(request.path).path, UNCHECKED).schema
    wanted = list(map(text, request.columns))
    columns = [column for column in schema.columns if not wanted or column.name in wanted]
    message = api.TRspVersionedLookupRows(rowset_descriptor=descriptor(columns, versioned=True))
    return reply(message, encode_versioned_rows(columns, rows))


async def _select(call: Call, request: api.TReqSelectRows) -> Reply:
    _check_retention(request.retention_timestamp)
    found = {**parameters(request, {"timestamp": ""}), **_at(request.timestamp), "enable_statistics": True}
    answer = await call.execute("select_rows", found)
    statistics = answer.response_parameters
    message = api.TRspSelectRows(
        rowset_descriptor=descriptor(answer.rows.columns),
        statistics=api.TQueryStatistics(
            rows_read=statistics["rows_read"],
            incomplete_input=statistics["incomplete_input"],
            incomplete_output=statistics["incomplete_output"],
        ),
    )
    return await call.cluster.turns.run(lambda: _rowset(message, answer.rows))


async def _explain(call: Call, request: api.TReqExplainQuery) -> Reply:
    answer = await call.execute("explain_query", parameters(request))
    return reply(api.TRspExplainQuery(value=yson.dumps(answer)))


def _rowset(message: api.TRspLookupRows | api.TRspSelectRows, rows: ValueRows) -> Reply:
    return reply(message, encode_rows(rows.columns, rows.rows))


METHODS: Final = (
    Method(api.TReqModifyRows, _modify),
    Method(api.TReqBatchModifyRows, _batch_modify),
    Method(api.TReqLookupRows, _lookup),
    Method(api.TReqMultiLookup, _multi_lookup),
    Method(api.TReqVersionedLookupRows, _lookup_versions),
    Method(api.TReqSelectRows, _select),
    Method(api.TReqExplainQuery, _explain),
)
