"""`queue-agent scaler`: KEDA's external scaler over gRPC, beside an agent."""

from __future__ import annotations

import asyncio
import signal
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlencode

import typer

from queue_agent.cli.agent_api import AgentApi, object_path
from queue_agent.cli.errors import CommandError
from queue_agent.cli.options import DEFAULT_AGENT, Agent, exit_codes
from queue_agent.cli.references import parse_object

if TYPE_CHECKING:
    from queue_agent.keda.service import Load, Question

_ASK_SECONDS = 5.0


def command(
    agent: Agent = None,
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Address to listen on.")] = "127.0.0.1:6000",
    period: Annotated[
        float, typer.Option(min=0.1, help="Seconds between two looks for streams of activity (external-push).")
    ] = 5.0,
) -> None:
    """Tell KEDA over gRPC how many readers a consumer needs, until SIGTERM or SIGINT."""
    with exit_codes():
        asyncio.run(_serve(agent or DEFAULT_AGENT, listen, period))


async def _serve(address: str, listen: str, period: float) -> None:
    try:
        from queue_agent.keda.service import ExternalScaler
    except ImportError as error:
        raise CommandError("the scaler needs more packages: pip install yt-queue-agent[keda]") from error
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with AgentApi(address, _ASK_SECONDS) as api:
        try:
            scaler = ExternalScaler(lambda question: ask_agent(api, question), listen, period)
        except RuntimeError as error:
            raise CommandError(f"cannot listen on {listen}: {error}") from error
        async with scaler:
            typer.echo(f"ready: external scaler {listen.rpartition(':')[0]}:{scaler.port}")
            await stop.wait()


async def ask_agent(api: AgentApi, question: Question) -> Load:
    """What the agent says at `/scaling`; RefusedError if it says nothing."""
    from grpc import StatusCode

    from queue_agent.keda.service import Load, RefusedError

    codes: dict[int, StatusCode] = {
        HTTPStatus.BAD_REQUEST: StatusCode.INVALID_ARGUMENT,
        HTTPStatus.NOT_FOUND: StatusCode.NOT_FOUND,
    }
    try:
        ref = parse_object(question.consumer, "consumer")
    except CommandError as error:
        raise RefusedError(str(error), StatusCode.INVALID_ARGUMENT) from error
    path, _, name = object_path("consumers", ref).partition("?")
    query = urlencode(
        {
            "queue": question.queue,
            "target_rows": question.target_rows,
            "activation_rows": question.activation_rows,
        }
    )
    try:
        status, answer = await api.request("GET", f"{path}/scaling?{query}{'&' if name else ''}{name}")
    except CommandError as error:
        raise RefusedError(str(error), StatusCode.UNAVAILABLE) from error
    if status != HTTPStatus.OK:
        words = answer.get("message") if isinstance(answer, dict) else answer
        raise RefusedError(str(words), codes.get(status, StatusCode.UNAVAILABLE))
    return Load(answer["value"], answer["active"])
