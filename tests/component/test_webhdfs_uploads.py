"""Uploads whose pieces, or whose end, are lost or doubled on their way to the cluster."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator

import pytest

from queue_agent.webhdfs.files import PIECE_SIZE
from tests.component.cutting_relay import CuttingRelay, Where
from tests.component.webhdfs_client import ROOT, Client, serving
from yt_local.testing import LocalCluster

CONTENT = b"0123456789abcdef" * ((PIECE_SIZE + 100_000) // 16)
"""Two pieces."""


@pytest.fixture
async def relay(yt_cluster: LocalCluster) -> AsyncIterator[CuttingRelay]:
    yt_cluster.client.create("map_node", ROOT, recursive=True)
    async with CuttingRelay(yt_cluster.address) as relay:
        yield relay


@pytest.fixture
async def client(yt_cluster: LocalCluster, relay: CuttingRelay) -> AsyncIterator[Client]:
    async with serving(yt_cluster, proxy=f"http://{relay.address}") as client:
        yield client


@pytest.mark.parametrize("where", Where, ids=lambda where: where.name.lower())
async def test_a_large_upload_that_loses_an_answer_fails_and_leaves_nothing(
    client: Client, relay: CuttingRelay, where: Where
) -> None:
    relay.cut("write_file", where, skip=1)
    status, document = await client.create("/file", io.BytesIO(CONTENT))
    assert (status, document["RemoteException"]["exception"]) == (503, "RetriableException")
    assert relay.came["write_file"] == 2
    assert await client.names("/") == []


@pytest.mark.parametrize("where", Where, ids=lambda where: where.name.lower())
async def test_a_small_upload_that_loses_an_answer_is_begun_again_as_a_whole(
    client: Client, relay: CuttingRelay, where: Where
) -> None:
    relay.cut("write_file", where)
    assert await client.create("/file", b"content") == (201, None)
    assert relay.came["write_file"] == 2
    assert await client.read("/file") == b"content"


async def test_a_piece_that_was_doubled_on_its_way_is_noticed(client: Client, relay: CuttingRelay) -> None:
    relay.double("write_file", skip=1)
    status, document = await client.create("/file", io.BytesIO(CONTENT))
    assert (status, document["RemoteException"]["exception"]) == (503, "RetriableException")
    assert "bytes in the cluster" in document["RemoteException"]["message"]
    assert await client.names("/") == []


async def test_whether_a_file_is_there_is_not_claimed_when_nobody_said(client: Client, relay: CuttingRelay) -> None:
    # A light command comes in a batch: after the one that looks, those that begin, create, look at the size, commit.
    relay.cut("execute_batch", Where.BEFORE_ANSWER, skip=4)
    status, document = await client.create("/file", b"content")
    assert (status, document["RemoteException"]["exception"]) == (503, "IOException")
    assert "is not known" in document["RemoteException"]["message"]
    assert await client.read("/file") == b"content"
    assert relay.came["write_file"] == 1
