"""The external scaler, asked by a gRPC client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import grpc
import pytest

from queue_agent.keda import externalscaler_pb2 as messages
from queue_agent.keda.service import METRIC, ExternalScaler, Load, Question, RefusedError, read_question
from tests.waiting import LIMIT_SECONDS, until

METADATA: Final = {"consumer": "a://c", "queue": "a://q", "targetRows": "10", "activationRows": "3"}
UNKNOWN: Final = RefusedError("the queue is not mounted", grpc.StatusCode.UNAVAILABLE)


class Agent:
    """Answers as told, and keeps what it was asked."""

    def __init__(self) -> None:
        self.answer: Load | RefusedError = Load(25, active=True)
        self.asked: list[Question] = []

    async def ask(self, question: Question) -> Load:
        self.asked.append(question)
        if isinstance(self.answer, RefusedError):
            raise self.answer
        return self.answer


class Keda:
    """Asks as KEDA does."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel

    def call(self, name: str, request: Any, answer: Any) -> Any:
        kind = self._channel.unary_stream if name.startswith("Stream") else self._channel.unary_unary
        path = f"/externalscaler.ExternalScaler/{name}"
        method = kind(path, request_serializer=lambda one: one.SerializeToString(), response_deserializer=answer)
        return method(request, timeout=LIMIT_SECONDS)


def _ref(metadata: Mapping[str, str] = METADATA) -> messages.ScaledObjectRef:
    return messages.ScaledObjectRef(name="reader", namespace="default", scalerMetadata=metadata)


@asynccontextmanager
async def _asked(agent: Agent) -> AsyncIterator[Keda]:
    async with (
        ExternalScaler(agent.ask, "127.0.0.1:0", 0.01) as scaler,
        grpc.aio.insecure_channel(f"127.0.0.1:{scaler.port}") as channel,
    ):
        yield Keda(channel)


async def test_the_metric_has_the_wanted_target_and_the_agent_s_value() -> None:
    agent = Agent()
    async with _asked(agent) as keda:
        spec = await keda.call("GetMetricSpec", _ref(), messages.GetMetricSpecResponse.FromString)
        assert [(one.metricName, one.targetSize, one.targetSizeFloat) for one in spec.metricSpecs] == [(METRIC, 10, 10)]
        request = messages.GetMetricsRequest(scaledObjectRef=_ref(), metricName=METRIC)
        found = await keda.call("GetMetrics", request, messages.GetMetricsResponse.FromString)
    values = [(one.metricName, one.metricValue, one.metricValueFloat) for one in found.metricValues]
    assert values == [(METRIC, 25, 25)]
    assert agent.asked == [Question("a://c", "a://q", 10, 3)]


@pytest.mark.parametrize("active", [True, False])
async def test_it_is_active_if_the_agent_says_so(active: bool) -> None:
    agent = Agent()
    agent.answer = Load(0, active)
    async with _asked(agent) as keda:
        assert (await keda.call("IsActive", _ref(), messages.IsActiveResponse.FromString)).result is active


async def test_what_nobody_knows_is_unavailable_and_never_0() -> None:
    agent = Agent()
    agent.answer = UNKNOWN
    async with _asked(agent) as keda:
        with pytest.raises(grpc.aio.AioRpcError, match="not mounted") as caught:
            await keda.call("IsActive", _ref(), messages.IsActiveResponse.FromString)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        request = messages.GetMetricsRequest(scaledObjectRef=_ref())
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await keda.call("GetMetrics", request, messages.GetMetricsResponse.FromString)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_a_stream_tells_of_changes_and_is_silent_while_nothing_is_known() -> None:
    agent = Agent()
    async with _asked(agent) as keda:
        stream = keda.call("StreamIsActive", _ref(), messages.IsActiveResponse.FromString)
        assert (await stream.read()).result is True
        agent.answer = UNKNOWN
        async with asyncio.TaskGroup() as group:
            silent = group.create_task(stream.read())
            asked = len(agent.asked)
            await until(lambda: len(agent.asked) >= asked + 5)
            assert not silent.done()
            agent.answer = Load(0, active=False)
        assert silent.result().result is False
        agent.answer = RefusedError("no such consumer", grpc.StatusCode.NOT_FOUND)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stream.read()
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize("name", ["IsActive", "GetMetricSpec", "StreamIsActive"])
async def test_metadata_without_a_meaning_are_an_invalid_argument(name: str) -> None:
    async with _asked(Agent()) as keda:
        answer = messages.GetMetricSpecResponse if name == "GetMetricSpec" else messages.IsActiveResponse
        call = keda.call(name, _ref({"consumer": "a://c"}), answer.FromString)
        with pytest.raises(grpc.aio.AioRpcError, match='no "queue"') as caught:
            await (call.read() if name.startswith("Stream") else call)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_metadata_have_defaults() -> None:
    assert read_question({"consumer": "c", "queue": "q"}) == Question("c", "q", 1000, 0)


@pytest.mark.parametrize("number", ["0", "-1", "", "many", "1.5", "٣", "9" * 19])
def test_a_target_is_a_whole_number_from_1(number: str) -> None:
    with pytest.raises(ValueError, match="targetRows"):
        read_question({"consumer": "c", "queue": "q", "targetRows": number})
