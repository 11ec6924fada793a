"""The RPC proxy of a local cluster by its bytes: who is let in, what is refused, what faults do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from google.protobuf.message import Message

from tests.component.rpc_calls import Caller, calling
from tests.waiting import until
from yt_local.base.faults import Cut, Drop, Hang, HttpStatus, Refuse, Scope
from yt_local.commands import METHODS
from yt_local.runner import LocalClusters
from yt_local.security.permissions import UNLIMITED
from yt_wire import rpc, yson
from yt_wire.connection import random_guid
from yt_wire.error import ErrorCode
from yt_wire.proto import api_pb2 as api
from yt_wire.proto.rpc_pb2 import TReqDiscover, TRspDiscover

TOKENS = {"root-token": "root", "guest-token": "guest"}
GET = api.TReqGetNode(path="//tmp/@key")


@pytest.fixture
async def clusters() -> AsyncIterator[LocalClusters]:
    async with LocalClusters({"pythia": 0}, tokens=TOKENS, test_controls=True) as clusters:
        yield clusters


@pytest.fixture
async def caller(clusters: LocalClusters) -> AsyncIterator[Caller]:
    async with calling(clusters.rpc_addresses["pythia"]) as caller:
        yield caller


async def test_who_one_is_is_believed_unless_a_token_says_otherwise(clusters: LocalClusters, caller: Caller) -> None:
    requests = clusters.cluster("pythia").requests
    for user, token in ((None, None), ("guest", None), (None, "guest-token"), ("root", "root-token"), (None, "odd")):
        await caller.call(GET, user=user, token=token)
    assert [request.user for request in requests.find()] == ["root", "guest", "guest", "root", "root"]
    error = await caller.refusal(GET, user="root", token="guest-token")
    assert error.code == ErrorCode.RPC_AUTHENTICATION and "users mismatch" in error.message
    assert (await caller.refusal(GET, user="nobody")).find(ErrorCode.AUTHENTICATION) is not None


async def test_where_tokens_are_required_nobody_is_believed() -> None:
    async with (
        LocalClusters({"pythia": 0}, tokens=TOKENS, require_token=True) as clusters,
        calling(clusters.rpc_addresses["pythia"]) as caller,
    ):
        assert (await caller.refusal(GET, user="root")).code == ErrorCode.RPC_AUTHENTICATION
        assert (await caller.refusal(GET, token="odd")).find(ErrorCode.INVALID_CREDENTIALS) is not None
        response = await caller.call(GET, token="root-token")
        assert yson.loads(rpc.parse(api.TRspGetNode, response.body).value) == "tmp"
        # To find the way nobody has to say who he is.
        assert rpc.parse(TRspDiscover, (await caller.call(TReqDiscover())).body).up


async def test_proxies_are_told_of_by_role(clusters: LocalClusters, caller: Caller) -> None:
    for role, expected in ((None, [clusters.rpc_addresses["pythia"]]), ("heavy", [])):
        request = api.TReqDiscoverProxies(role=role)
        response = await caller.call(request, service="DiscoveryService")
        assert rpc.parse(api.TRspDiscoverProxies, response.body).addresses == expected


async def test_what_is_malformed_is_refused_and_the_connection_goes_on(caller: Caller) -> None:
    started = await caller.call(api.TReqStartTransaction(type=api.TT_TABLET))
    transaction_id = rpc.parse(api.TRspStartTransaction, started.body).id
    rowset, writes = api.TRowsetDescriptor(), [api.RMT_WRITE]
    untyped = api.TReqModifyRows(transaction_id=transaction_id, path="//t", rowset_descriptor=rowset)
    typed = api.TReqModifyRows(
        transaction_id=transaction_id, path="//t", rowset_descriptor=rowset, row_modification_types=writes
    )
    refusals: list[tuple[Message, tuple[bytes, ...], dict[str, str], ErrorCode]] = [
        (api.TReqReadTable(path="//t"), (), {}, ErrorCode.RESOLVE),
        (untyped, (b"x",), {}, ErrorCode.PROTOCOL),
        (typed, (bytes(8),), {}, ErrorCode.PROTOCOL),
        (api.TReqBatchModifyRows(transaction_id=transaction_id, part_counts=[3]), (), {}, ErrorCode.PROTOCOL),
        (api.TReqSetNode(path="//tmp/x", value=b"{"), (), {}, ErrorCode.GENERIC),
        (api.TReqCreateNode(path="//tmp/x", type=77), (), {}, ErrorCode.GENERIC),
        (api.TReqLockNode(path="//tmp", mode=9), (), {}, ErrorCode.GENERIC),
        (TReqDiscover(), (), {"method": "GetNode"}, ErrorCode.PROTOCOL),
        (GET, (), {"method": "NoSuch"}, ErrorCode.NO_SUCH_METHOD),
        (GET, (), {"service": "NoSuch"}, ErrorCode.NO_SUCH_SERVICE),
    ]
    for request, attachments, options, code in refusals:
        error = await caller.refusal(request, *attachments, **options)
        assert error.code == code, error
    assert not caller.connection.is_closed


async def test_a_repeated_change_is_answered_as_the_first_time(caller: Caller) -> None:
    options = api.TMutatingOptions(mutation_id=rpc.to_proto_guid(random_guid()))
    request = api.TReqCreateNode(path="//tmp/once", type=303, mutating_options=options)
    first = await caller.call(request)
    assert (await caller.call(request)).body == first.body
    request.ClearField("mutating_options")
    assert (await caller.refusal(request)).code == ErrorCode.ALREADY_EXISTS


async def test_faults_befall_calls_as_they_do_requests(clusters: LocalClusters) -> None:
    cluster = clusters.cluster("pythia")
    address = clusters.rpc_addresses["pythia"]
    create = api.TReqCreateNode(path="//tmp/dropped", type=303)
    with cluster.faults.active(Refuse(), Scope(frozenset(["get"]))):
        async with calling(address) as caller:
            assert (await caller.refusal(GET)).code == ErrorCode.UNAVAILABLE
    with cluster.faults.active(HttpStatus(502)):
        async with calling(address) as caller:
            assert (await caller.refusal(GET)).code == ErrorCode.UNAVAILABLE
    for effect, executed in ((Drop(), False), (Drop(executed=True), True), (Cut(), True)):
        with cluster.faults.active(effect):
            async with calling(address) as caller:
                assert (await caller.refusal(create)).code == ErrorCode.TRANSPORT
        assert cluster.cypress.exists(UNLIMITED, "//tmp/dropped") is executed
        if executed:
            cluster.cypress.remove(UNLIMITED, "//tmp/dropped", recursive=True, force=True)
    with cluster.faults.active(Hang()) as fault:
        async with calling(address) as caller, asyncio.TaskGroup() as group:
            hanging = group.create_task(caller.refusal(GET))
            await until(lambda: fault.hits > 0)
            cluster.faults.remove(fault.number)
            assert (await hanging).code == ErrorCode.TRANSPORT


async def test_a_cluster_that_is_off_takes_no_calls(clusters: LocalClusters) -> None:
    faults = clusters.cluster("pythia").faults
    async with calling(clusters.rpc_addresses["pythia"]) as caller:
        faults.turn_off()
        assert (await caller.refusal(GET)).code == ErrorCode.TRANSPORT
    faults.turn_on()
    async with calling(clusters.rpc_addresses["pythia"]) as caller:
        await caller.call(GET)


def test_every_method_is_one_that_clients_know() -> None:
    for name, method in METHODS.items():
        response = method.request_type.DESCRIPTOR.name.replace("TReq", "TRsp")
        assert hasattr(api, response) or name in ("ReadTable", "ReadFile"), name
