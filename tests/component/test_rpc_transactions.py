"""Transactions over RPC: how they begin and end, and that what is done twice counts once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

import pytest
from google.protobuf.message import Message

from tests.component.rpc_calls import Caller, calling
from yt_local.runner import LocalClusters
from yt_wire import rpc
from yt_wire.connection import random_guid
from yt_wire.error import ErrorCode
from yt_wire.guid import NULL_GUID
from yt_wire.proto import api_pb2 as api
from yt_wire.proto.core_pb2 import TAttribute, TAttributeDictionary, TGuid

MAP_NODE: Final = 303
GROUP: Final = 502
BOTH_KINDS: Final = [api.TT_MASTER, api.TT_TABLET]
SOMEBODY: Final = rpc.to_proto_guid(random_guid())
NOBODY: Final = rpc.to_proto_guid(NULL_GUID)


@pytest.fixture
async def caller() -> AsyncIterator[Caller]:
    async with (
        LocalClusters({"pythia": 0}) as clusters,
        calling(clusters.rpc_addresses["pythia"]) as caller,
    ):
        yield caller


async def started(caller: Caller, kind: api.ETransactionType) -> TGuid:
    response = await caller.call(api.TReqStartTransaction(type=kind, id=NOBODY, start_timestamp=0))
    return rpc.parse(api.TRspStartTransaction, response.body).id


def mutation() -> api.TMutatingOptions:
    return api.TMutatingOptions(mutation_id=rpc.to_proto_guid(random_guid()))


@pytest.mark.parametrize("kind", BOTH_KINDS)
async def test_a_repeated_commit_is_answered_as_the_first_time(caller: Caller, kind: api.ETransactionType) -> None:
    request = api.TReqCommitTransaction(transaction_id=await started(caller, kind), mutating_options=mutation())
    first = await caller.call(request)
    await caller.call(api.TReqCreateNode(path="//tmp/meanwhile", type=MAP_NODE))
    await caller.call(api.TReqGenerateTimestamps())
    assert (await caller.call(request)).body == first.body
    answer = rpc.parse(api.TRspCommitTransaction, first.body)
    assert list(answer.commit_timestamps.timestamps) == [answer.primary_commit_timestamp]


@pytest.mark.parametrize("kind", BOTH_KINDS)
async def test_without_its_prerequisites_nothing_is_committed(caller: Caller, kind: api.ETransactionType) -> None:
    transaction = api.TPrerequisiteOptions.TTransactionPrerequisite(transaction_id=SOMEBODY)
    revision = api.TPrerequisiteOptions.TRevisionPrerequisite(path="//tmp", revision=1)
    for options in (
        api.TPrerequisiteOptions(transactions=[transaction]),
        api.TPrerequisiteOptions(revisions=[revision]),
    ):
        transaction_id = await started(caller, kind)
        request = api.TReqCommitTransaction(transaction_id=transaction_id, prerequisite_options=options)
        assert (await caller.refusal(request)).code == ErrorCode.PREREQUISITE_CHECK_FAILED
        request.ClearField("prerequisite_options")
        assert (await caller.refusal(request)).code == ErrorCode.NO_SUCH_TRANSACTION


@pytest.mark.parametrize(
    "request_",
    [
        api.TReqStartTransaction(type=api.TT_TABLET, id=SOMEBODY),
        api.TReqStartTransaction(type=api.TT_TABLET, start_timestamp=5),
        api.TReqFlushTransaction(transaction_id=SOMEBODY),
    ],
    ids=["an id", "a start", "a commit by others"],
)
async def test_what_transactions_cannot_have_is_refused(caller: Caller, request_: Message) -> None:
    assert "ransactions" in (await caller.refusal(request_)).message


async def test_a_mutation_id_of_another_request_does_no_harm(caller: Caller) -> None:
    options = mutation()
    await caller.call(api.TReqSetNode(path="//tmp/a", value=b"1", mutating_options=options))
    await caller.call(api.TReqCreateNode(path="//tmp/b", type=MAP_NODE, mutating_options=options))
    exists = await caller.call(api.TReqExistsNode(path="//tmp/b"))
    assert rpc.parse(api.TRspExistsNode, exists.body).exists
    attributes = rpc.to_proto_attributes({"name": "people"})
    response = await caller.call(api.TReqCreateObject(type=GROUP, attributes=attributes, mutating_options=options))
    assert rpc.parse(api.TRspCreateObject, response.body).HasField("object_id")


async def test_names_of_attributes_are_text(caller: Caller) -> None:
    attributes = TAttributeDictionary(attributes=[TAttribute(key=b"\xff", value=b"1")])
    error = await caller.refusal(api.TReqCreateNode(path="//tmp/a", type=MAP_NODE, attributes=attributes))
    assert error.code == ErrorCode.PROTOCOL
