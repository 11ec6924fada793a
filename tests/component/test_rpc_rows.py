"""Rows of dynamic tables over RPC, as clients that are not careful send them: all of a request counts, or nothing."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

import pytest

from tests.component.rpc_calls import Caller, calling
from yt_local.base.faults import Delay, Scope
from yt_local.calls.rowsets import decode_rows
from yt_local.runner import LocalClusters
from yt_wire import rpc
from yt_wire.connection import random_guid
from yt_wire.error import ErrorCode
from yt_wire.guid import NULL_GUID
from yt_wire.proto import api_pb2 as api
from yt_wire.proto.core_pb2 import TGuid

TABLE: Final = "//tmp/t"
SCHEMA: Final = [
    {"name": "key", "type": "int64", "sort_order": "ascending"},
    {"name": "value", "type": "int64"},
    {"name": "first", "type": "int64", "aggregate": "sum"},
    {"name": "second", "type": "int64", "aggregate": "sum"},
    {"name": "locked", "type": "int64", "lock": "group"},
]
AGGREGATED: Final = 1
WRITE, DELETE, MODIFY = api.RMT_WRITE, api.RMT_DELETE, api.RMT_MODIFY
"""Kinds of modifications."""


@pytest.fixture
async def clusters() -> AsyncIterator[LocalClusters]:
    async with LocalClusters({"pythia": 0}, test_controls=True) as clusters:
        yield clusters


@pytest.fixture
async def caller(clusters: LocalClusters) -> AsyncIterator[Caller]:
    async with calling(clusters.rpc_addresses["pythia"]) as caller:
        attributes = rpc.to_proto_attributes({"dynamic": True, "schema": SCHEMA})
        await caller.call(api.TReqCreateNode(path=TABLE, type=401, attributes=attributes))
        await caller.call(api.TReqMountTable(path=TABLE))
        yield caller


def rowset(*rows: Mapping[str, int | None], flags: Mapping[str, int] | None = None) -> tuple[list[str], bytes]:
    """Names of columns, and rows whose values name them by number."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    pieces = [struct.pack("<Q", len(rows))]
    for row in rows:
        pieces.append(struct.pack("<Q", len(row)))
        for name, value in row.items():
            flag = (flags or {}).get(name, 0)
            if value is None:
                pieces.append(struct.pack("<HBBI", names.index(name), 0x02, flag, 0))
            else:
                pieces.append(struct.pack("<HBBIq", names.index(name), 0x03, flag, 0, value))
    return names, b"".join(pieces)


def descriptor(names: Sequence[str]) -> api.TRowsetDescriptor:
    entries = [api.TRowsetDescriptor.TNameTableEntry(name=name.encode()) for name in names]
    return api.TRowsetDescriptor(name_table_entries=entries)


def modification(
    transaction_id: TGuid, kinds: Sequence[Any], *rows: Mapping[str, int | None], **options: Any
) -> tuple[api.TReqModifyRows, bytes]:
    """A request and its attachment."""
    names, data = rowset(*rows, flags=options.pop("flags", None))
    request = api.TReqModifyRows(
        transaction_id=transaction_id,
        path=TABLE,
        row_modification_types=kinds,
        rowset_descriptor=descriptor(names),
        **options,
    )
    return request, data


async def started(caller: Caller) -> TGuid:
    response = await caller.call(api.TReqStartTransaction(type=api.TT_TABLET, sticky=True))
    return rpc.parse(api.TRspStartTransaction, response.body).id


async def commit(caller: Caller, transaction_id: TGuid) -> None:
    await caller.call(api.TReqCommitTransaction(transaction_id=transaction_id))


async def selected(caller: Caller, columns: str = "key") -> list[dict[bytes, Any]]:
    response = await caller.call(api.TReqSelectRows(query=f"{columns} from [{TABLE}]"))
    message = rpc.parse(api.TRspSelectRows, response.body)
    return [row.values for row in decode_rows(message.rowset_descriptor, response.attachments)]


async def test_rows_are_written_in_a_transaction_that_is_there(caller: Caller) -> None:
    for transaction_id in (rpc.to_proto_guid(NULL_GUID), rpc.to_proto_guid(random_guid())):
        request, data = modification(transaction_id, [WRITE, DELETE], {"key": 1, "value": 1}, {"key": 2})
        assert (await caller.refusal(request, data)).code == ErrorCode.NO_SUCH_TRANSACTION
        batch = api.TReqBatchModifyRows(transaction_id=transaction_id, part_counts=[1])
        error = await caller.refusal(batch, request.SerializeToString(), data)
        assert error.code == ErrorCode.NO_SUCH_TRANSACTION
    assert await selected(caller) == []


async def test_after_a_commit_nothing_is_added_or_committed(caller: Caller) -> None:
    transaction_id = await started(caller)
    request, data = modification(transaction_id, [WRITE], {"key": 1, "value": 1})
    await caller.call(request, data)
    await commit(caller, transaction_id)
    for late, attachments in ((request, (data,)), (api.TReqCommitTransaction(transaction_id=transaction_id), ())):
        assert (await caller.refusal(late, *attachments)).code == ErrorCode.NO_SUCH_TRANSACTION
    assert await selected(caller) == [{b"key": 1}]


async def test_of_a_request_that_is_refused_nothing_is_written(caller: Caller) -> None:
    transaction_id = await started(caller)
    good, good_data = modification(transaction_id, [WRITE], {"key": 1, "value": 1})
    bad, bad_data = modification(transaction_id, [WRITE, MODIFY], {"key": 2, "value": 1}, {"key": 3, "nope": 1})
    await caller.call(good, good_data)
    assert "nope" in str(await caller.refusal(bad, bad_data))
    good, good_data = modification(transaction_id, [WRITE], {"key": 4, "value": 1})
    parts = (good.SerializeToString(), good_data, bad.SerializeToString(), bad_data)
    batch = api.TReqBatchModifyRows(transaction_id=transaction_id, part_counts=[1, 1])
    assert "nope" in str(await caller.refusal(batch, *parts))
    await commit(caller, transaction_id)
    assert await selected(caller) == [{b"key": 1}]


async def test_modifications_are_done_one_after_the_other(clusters: LocalClusters, caller: Caller) -> None:
    transaction_id = await started(caller)
    first = modification(
        transaction_id, [WRITE, DELETE, WRITE], {"key": 1, "value": 1}, {"key": 1}, {"key": 2, "value": 1}
    )
    second = modification(transaction_id, [DELETE], {"key": 2})
    with clusters.cluster("pythia").faults.active(Delay(0.01), Scope(frozenset(["insert_rows", "delete_rows"]))):
        async with asyncio.TaskGroup() as group:
            for request, data in (first, second):
                group.create_task(caller.call(request, data))
    await commit(caller, transaction_id)
    assert await selected(caller) == []


async def test_what_comes_from_an_upstream_replica_is_refused(caller: Caller) -> None:
    transaction_id = await started(caller)
    for replica_id, is_refused in ((random_guid(), True), (NULL_GUID, False)):
        upstream = rpc.to_proto_guid(replica_id)
        request, data = modification(transaction_id, [WRITE], {"key": 1, "value": 1}, upstream_replica_id=upstream)
        if is_refused:
            assert "upstream replica" in str(await caller.refusal(request, data))
        else:
            await caller.call(request, data)


@pytest.mark.parametrize("mask", [0x2, 0x10], ids=["columns of no group", "a group"])
async def test_a_locked_row_is_not_written_by_others(caller: Caller, mask: int) -> None:
    locking, writing = await started(caller), await started(caller)
    locks = [api.TLockMask(bitmap=[mask], size=2)]
    request, data = modification(locking, [MODIFY], {"key": 1}, row_locks=locks)
    await caller.call(request, data)
    request, data = modification(writing, [WRITE], {"key": 1, "value": 1, "locked": 1})
    await caller.call(request, data)
    await commit(caller, writing)
    error = await caller.refusal(api.TReqCommitTransaction(transaction_id=locking))
    assert error.find(ErrorCode.TABLET_TRANSACTION_LOCK_CONFLICT) is not None


async def test_groups_that_are_not_there_are_not_locked(caller: Caller) -> None:
    transaction_id = await started(caller)
    locks = [api.TLockMask(bitmap=[0x200], size=3)]
    request, data = modification(transaction_id, [MODIFY], {"key": 1}, row_locks=locks)
    assert "2 lock groups" in str(await caller.refusal(request, data))


async def test_of_one_row_all_values_are_added_or_none(caller: Caller) -> None:
    for _ in range(2):
        transaction_id = await started(caller)
        row = {"key": 1, "first": 3, "second": None}
        request, data = modification(transaction_id, [WRITE], row, flags={"first": AGGREGATED})
        await caller.call(request, data)
        row["second"] = 3
        request, data = modification(transaction_id, [WRITE], row, flags={"first": AGGREGATED})
        assert '"second" is to be replaced' in str(await caller.refusal(request, data))
        await commit(caller, transaction_id)
    assert await selected(caller, "first, second") == [{b"first": 6, b"second": None}]


async def test_subrequests_want_the_attachments_there_are(caller: Caller) -> None:
    names, data = rowset({"key": 1})
    for counts in ([2], [-1], [1], [1, 1, 1]):
        subrequests = [
            api.TReqMultiLookup.TSubrequest(path=TABLE, rowset_descriptor=descriptor(names), attachment_count=count)
            for count in counts
        ]
        attachments = [data] * (1 if counts == [2] else 2)
        error = await caller.refusal(api.TReqMultiLookup(subrequests=subrequests), *attachments)
        assert error.code == ErrorCode.PROTOCOL
    transaction_id = await started(caller)
    request, data = modification(transaction_id, [WRITE], {"key": 1, "value": 1})
    for counts, extra in (([2], ()), ([-1], ()), ([1], (b"",))):
        batch = api.TReqBatchModifyRows(transaction_id=transaction_id, part_counts=counts)
        error = await caller.refusal(batch, request.SerializeToString(), data, *extra)
        assert error.code == ErrorCode.PROTOCOL
    await commit(caller, transaction_id)
    assert await selected(caller) == []


async def test_what_would_change_an_answer_is_refused_unless_it_is_nothing(caller: Caller) -> None:
    await caller.call(api.TReqCreateNode(path="//tmp/static", type=401, ignore_existing=True))
    for schema_id, is_refused in ((NULL_GUID, False), (random_guid(), True)):
        schema = rpc.to_proto_guid(schema_id)
        request = api.TReqAlterTable(path="//tmp/static", schema=b"[{name=a; type=int64}]", schema_id=schema)
        if is_refused:
            assert (await caller.refusal(request)).code == ErrorCode.GENERIC
        else:
            await caller.call(request)


async def test_values_that_are_older_than_a_timestamp_are_not_there(caller: Caller) -> None:
    transaction_id = await started(caller)
    request, data = modification(transaction_id, [WRITE], {"key": 1, "value": 1})
    await caller.call(request, data)
    await commit(caller, transaction_id)
    names, key = rowset({"key": 1})
    for timestamp, count in ((0, 1), (2**61, 0)):
        lookup = api.TReqLookupRows(
            path=TABLE, rowset_descriptor=descriptor(names), retention_timestamp=timestamp, keep_missing_rows=False
        )
        found = await caller.call(lookup, key)
        message = rpc.parse(api.TRspLookupRows, found.body)
        assert len(list(decode_rows(message.rowset_descriptor, found.attachments))) == count
        select = api.TReqSelectRows(query=f"key from [{TABLE}]", retention_timestamp=timestamp)
        selection = await caller.call(select)
        answer = rpc.parse(api.TRspSelectRows, selection.body)
        assert len(list(decode_rows(answer.rowset_descriptor, selection.attachments))) == count
    for read in (  # a sum of what is old and what is new cannot be taken apart
        api.TReqLookupRows(path=TABLE, rowset_descriptor=descriptor(names), retention_timestamp=1),
        api.TReqSelectRows(query=f"key from [{TABLE}]", retention_timestamp=1),
    ):
        attachments = (key,) if isinstance(read, api.TReqLookupRows) else ()
        assert "aggregate" in (await caller.refusal(read, *attachments)).message
