"""KEDA's external scaler beside a whole agent: the command as a process, asked by a gRPC client."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp
import grpc
import pytest

from queue_agent.keda import externalscaler_pb2 as messages
from tests.component.running_agent import RunningAgent, User, eventually, running_agent
from tests.e2e.playground import environment
from tests.waiting import LIMIT_SECONDS
from yt_local.runner import LocalClusters

METADATA: Final = {"consumer": "pythia://tmp/c", "queue": "pythia://tmp/q", "targetRows": "10"}


class Keda:
    """Asks as KEDA does; an error is its code."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel

    async def value(self, **metadata: str) -> Any:
        ref = messages.ScaledObjectRef(scalerMetadata={**METADATA, **metadata})
        request = messages.GetMetricsRequest(scaledObjectRef=ref, metricName="drainable_rows")
        answer = await self._call("GetMetrics", request, messages.GetMetricsResponse.FromString)
        return answer.metricValues[0].metricValue if isinstance(answer, messages.GetMetricsResponse) else answer

    async def is_active(self) -> Any:
        ref = messages.ScaledObjectRef(scalerMetadata=METADATA)
        answer = await self._call("IsActive", ref, messages.IsActiveResponse.FromString)
        return answer.result if isinstance(answer, messages.IsActiveResponse) else answer

    async def _call(self, name: str, request: Any, deserialize: Any) -> Any:
        method = self._channel.unary_unary(
            f"/externalscaler.ExternalScaler/{name}",
            request_serializer=lambda one: one.SerializeToString(),
            response_deserializer=deserialize,
        )
        try:
            return await method(request, timeout=LIMIT_SECONDS)
        except grpc.aio.AioRpcError as error:
            return error.code()


@asynccontextmanager
async def scaler(agent: RunningAgent, *arguments: str) -> AsyncIterator[str]:
    """The command as a process that ends well; gives its address."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "queue_agent", "scaler", "--listen", "127.0.0.1:0", "--agent", agent.origin),
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        env=environment(),
    )
    try:
        assert process.stdout is not None
        ready = (await process.stdout.readline()).decode()
        assert ready.startswith("ready: external scaler 127.0.0.1:")
        yield ready.rpartition(" ")[2].strip()
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.fixture
async def world() -> AsyncIterator[tuple[User, RunningAgent]]:
    """A consumer with 30 and 5 unread rows in two partitions, and an agent."""
    async with LocalClusters({"pythia": 0}) as clusters, aiohttp.ClientSession() as session:
        user = User(session, "root", clusters.addresses["pythia"])
        await user.create_queue("//tmp/q", tablet_count=2)
        await user.create_consumer("//tmp/c", "//tmp/q")
        rows: list[Mapping[str, Any]] = [
            {"$tablet_index": index, "data": "x"} for index, count in ((0, 30), (1, 5)) for _ in range(count)
        ]
        await user.insert("//tmp/q", rows)
        async with running_agent(session, clusters.addresses) as agent:
            yield user, agent


async def test_keda_is_told_how_many_readers_a_consumer_needs(world: tuple[User, RunningAgent]) -> None:
    user, agent = world
    async with scaler(agent) as address, grpc.aio.insecure_channel(address) as channel:
        await _ask(Keda(channel), user)


async def test_over_tls_only_clients_that_show_their_certificate_are_answered(
    world: tuple[User, RunningAgent], tmp_path: Path
) -> None:
    server, client, client_key = _issue(tmp_path)
    files = ["--certificate", str(tmp_path / "server.crt"), "--key", str(tmp_path / "server.key")]
    _, agent = world
    async with scaler(agent, *files) as address:
        async with grpc.aio.secure_channel(address, grpc.ssl_channel_credentials(server)) as channel:
            await eventually(Keda(channel).value, lambda value: value == 15)
        async with grpc.aio.insecure_channel(address) as channel:
            assert await Keda(channel).value() is grpc.StatusCode.UNAVAILABLE
        async with grpc.aio.secure_channel(address, grpc.ssl_channel_credentials(client)) as channel:
            assert await Keda(channel).value() is grpc.StatusCode.UNAVAILABLE, "the server is not known"
    async with scaler(agent, *files, "--client-authority", str(tmp_path / "client.crt")) as address:
        shown = grpc.ssl_channel_credentials(server, client_key, client)
        async with grpc.aio.secure_channel(address, shown) as channel:
            await eventually(Keda(channel).value, lambda value: value == 15)
        async with grpc.aio.secure_channel(address, grpc.ssl_channel_credentials(server)) as channel:
            assert await Keda(channel).value() is grpc.StatusCode.UNAVAILABLE


def _issue(folder: Path) -> tuple[bytes, bytes, bytes]:
    """Two certificates with their keys; gives that of the server, that of the client and the client's key."""
    for name in ("server", "client"):
        subject = ["-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
        files = ["-keyout", str(folder / f"{name}.key"), "-out", str(folder / f"{name}.crt")]
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        subprocess.run(["openssl", "req", "-x509", "-nodes", *curve, *files, *subject], check=True, capture_output=True)
    server, client, key = (folder / name for name in ("server.crt", "client.crt", "client.key"))
    return server.read_bytes(), client.read_bytes(), key.read_bytes()


async def _ask(keda: Keda, user: User) -> None:
    await eventually(keda.value, lambda value: value == 15)  # a partition counts for one reader at most
    assert await keda.is_active() is True
    assert await keda.value(targetRows="0") is grpc.StatusCode.INVALID_ARGUMENT
    assert await keda.value(consumer="//tmp/c") is grpc.StatusCode.INVALID_ARGUMENT
    assert await keda.value(consumer="pythia://tmp/none") is grpc.StatusCode.NOT_FOUND
    assert await keda.value(queue="pythia://tmp/other") is grpc.StatusCode.NOT_FOUND
    for index, end in ((0, 30), (1, 5)):
        await user.advance("//tmp/c", "//tmp/q", index, end)
    await eventually(keda.value, lambda value: value == 0)
    assert await keda.is_active() is False
    await user.run("unmount_table", path="//tmp/q")
    await eventually(keda.value, lambda value: value is grpc.StatusCode.UNAVAILABLE)
