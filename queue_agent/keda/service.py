"""The external scaler as a gRPC server: KEDA's questions become questions to an agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final

import grpc

from queue_agent.keda import externalscaler_pb2 as messages

METRIC: Final = "drainable_rows"

_SERVICE: Final = "externalscaler.ExternalScaler"
_DEFAULT_TARGET_ROWS: Final = 1000


class RefusedError(Exception):
    """The question makes no sense, or nobody can answer it now.

    Args:
        message: for people.
        code: of gRPC.
    """

    def __init__(self, message: str, code: grpc.StatusCode) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Question:
    """What a ScaledObject asks for: `metadata` of its trigger."""

    consumer: str
    queue: str
    target_rows: int
    activation_rows: int


@dataclass(frozen=True, slots=True)
class Load:
    """What the agent answers; see `core.status.scaling`."""

    value: int
    active: bool


Ask = Callable[[Question], Awaitable[Load]]
"""RefusedError if there is no answer: never 0, so that KEDA's fallback applies."""


@dataclass(frozen=True, slots=True)
class Certificates:
    """What the server shows, in PEM."""

    certificate: bytes
    key: bytes
    client_authority: bytes | None = None
    """Clients have to show a certificate of this authority; None: they need none."""


class ExternalScaler:
    """Serves until it is left; an async context manager.

    Args:
        ask: the agent.
        listen: `host:port`; with port 0 see `port`.
        period: seconds between two polls for clients that stream changes.
        certificates: for TLS; None: connections are not encrypted.

    Raises:
        RuntimeError: the port, or the certificate, cannot be used.
    """

    def __init__(self, ask: Ask, listen: str, period: float, certificates: Certificates | None = None) -> None:
        self._ask = ask
        self._period = period
        self._server = grpc.aio.server()
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, self._handlers()),))
        self.port = self._listen(listen, certificates)

    async def __aenter__(self) -> ExternalScaler:
        await self._server.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._server.stop(grace=1.0)

    def _listen(self, listen: str, certificates: Certificates | None) -> int:
        if certificates is None:
            return int(self._server.add_insecure_port(listen))
        credentials = grpc.ssl_server_credentials(
            [(certificates.key, certificates.certificate)],
            root_certificates=certificates.client_authority,
            require_client_auth=certificates.client_authority is not None,
        )
        return int(self._server.add_secure_port(listen, credentials))

    def _handlers(self) -> Mapping[str, Any]:
        unary, stream = grpc.unary_unary_rpc_method_handler, grpc.unary_stream_rpc_method_handler
        methods: dict[str, tuple[Any, Any, Any]] = {
            "IsActive": (unary, self._is_active, messages.ScaledObjectRef),
            "StreamIsActive": (stream, self._stream_is_active, messages.ScaledObjectRef),
            "GetMetricSpec": (unary, self._get_metric_spec, messages.ScaledObjectRef),
            "GetMetrics": (unary, self._get_metrics, messages.GetMetricsRequest),
        }
        return {
            name: kind(method, request.FromString, lambda answer: answer.SerializeToString())
            for name, (kind, method, request) in methods.items()
        }

    async def _is_active(self, request: messages.ScaledObjectRef, context: Any) -> messages.IsActiveResponse:
        load = await self._load(request, context)
        return messages.IsActiveResponse(result=load.active)

    async def _stream_is_active(
        self, request: messages.ScaledObjectRef, context: Any
    ) -> AsyncIterator[messages.IsActiveResponse]:
        """One answer at once, and one at each change; while nobody can answer there is none."""
        question = await _checked(request, context)
        told: bool | None = None
        while True:
            try:
                active = (await self._ask(question)).active
            except RefusedError as error:
                if error.code is not grpc.StatusCode.UNAVAILABLE:
                    await context.abort(error.code, str(error))
            else:
                if active is not told:
                    told = active
                    yield messages.IsActiveResponse(result=active)
            await asyncio.sleep(self._period)

    async def _get_metric_spec(self, request: messages.ScaledObjectRef, context: Any) -> messages.GetMetricSpecResponse:
        target = (await _checked(request, context)).target_rows
        spec = messages.MetricSpec(metricName=METRIC, targetSize=target, targetSizeFloat=target)
        return messages.GetMetricSpecResponse(metricSpecs=[spec])

    async def _get_metrics(self, request: messages.GetMetricsRequest, context: Any) -> messages.GetMetricsResponse:
        value = (await self._load(request.scaledObjectRef, context)).value
        metric = messages.MetricValue(metricName=METRIC, metricValue=value, metricValueFloat=value)
        return messages.GetMetricsResponse(metricValues=[metric])

    async def _load(self, request: messages.ScaledObjectRef, context: Any) -> Load:
        question = await _checked(request, context)
        try:
            return await self._ask(question)
        except RefusedError as error:
            await context.abort(error.code, str(error))
            raise  # abort has raised already


async def _checked(request: messages.ScaledObjectRef, context: Any) -> Question:
    try:
        return read_question(request.scalerMetadata)
    except ValueError as error:
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        raise  # as above


def read_question(metadata: Mapping[str, str]) -> Question:
    """What the `metadata` of a trigger asks for; ValueError if it makes no sense."""
    for name in ("consumer", "queue"):
        if not metadata.get(name):
            raise ValueError(f'metadata has no "{name}"')
    target = _integer(metadata, "targetRows", _DEFAULT_TARGET_ROWS, least=1)
    activation = _integer(metadata, "activationRows", 0, least=0)
    return Question(metadata["consumer"], metadata["queue"], target, activation)


def _integer(metadata: Mapping[str, str], name: str, default: int, least: int) -> int:
    text = metadata.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= 18 and int(text) >= least):
        raise ValueError(f'metadata "{name}" must be a whole number, at least {least}; got {text!r}')
    return int(text)
