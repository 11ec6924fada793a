"""KEDA's external scaler beside a whole agent: the command as a process, asked by a gRPC client."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Mapping
from typing import Any, Final

import aiohttp
import grpc

from queue_agent.keda import externalscaler_pb2 as messages
from tests.component.running_agent import User, eventually, running_agent
from tests.e2e.playground import environment
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
            return await method(request, timeout=20)
        except grpc.aio.AioRpcError as error:
            return error.code()


async def test_keda_is_told_how_many_readers_a_consumer_needs() -> None:
    async with LocalClusters({"pythia": 0}) as clusters, aiohttp.ClientSession() as session:
        user = User(session, "root", clusters.addresses["pythia"])
        await user.create_queue("//tmp/q", tablet_count=2)
        await user.create_consumer("//tmp/c", "//tmp/q")
        rows: list[Mapping[str, Any]] = [
            {"$tablet_index": index, "data": "x"} for index, count in ((0, 30), (1, 5)) for _ in range(count)
        ]
        await user.insert("//tmp/q", rows)
        async with running_agent(session, clusters.addresses) as agent:
            scaler = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "queue_agent", "scaler", "--listen", "127.0.0.1:0", "--agent", agent.origin),
                stdout=asyncio.subprocess.PIPE,
                env=environment(),
            )
            try:
                assert scaler.stdout is not None
                ready = (await scaler.stdout.readline()).decode()
                assert ready.startswith("ready: external scaler 127.0.0.1:")
                async with grpc.aio.insecure_channel(ready.rpartition(" ")[2].strip()) as channel:
                    await _ask(Keda(channel), user)
                scaler.send_signal(signal.SIGTERM)
                assert await scaler.wait() == 0
            finally:
                if scaler.returncode is None:
                    scaler.kill()
                    await scaler.wait()


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
