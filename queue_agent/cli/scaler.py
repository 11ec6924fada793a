"""`queue-agent scaler`: KEDA's external scaler over gRPC, beside an agent."""

from __future__ import annotations

import asyncio
import signal
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple
from urllib.parse import urlencode

import typer

from queue_agent.cli.addresses import DEFAULT_AGENT
from queue_agent.cli.agent_api import AgentApi, object_path
from queue_agent.cli.errors import CommandError
from queue_agent.cli.options import Agent, exit_codes
from queue_agent.cli.references import parse_object

if TYPE_CHECKING:
    from queue_agent.keda.service import Certificates, Load, Question

_ASK_SECONDS = 5.0


def command(
    agent: Agent = None,
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Address to listen on.")] = "127.0.0.1:6000",
    period: Annotated[
        float, typer.Option(min=0.1, help="Seconds between two looks for streams of activity (external-push).")
    ] = 5.0,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Certificate for TLS, in PEM; goes with --key. Read at the start."),
    ] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="Private key of the certificate, in PEM.")] = None,
    client_authority: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Let in only clients with a certificate of this authority, in PEM."),
    ] = None,
) -> None:
    """Tell KEDA over gRPC how many readers a consumer needs, until SIGTERM or SIGINT."""
    with exit_codes():
        asyncio.run(_serve(agent or DEFAULT_AGENT, listen, period, _Files(certificate, key, client_authority)))


class _Files(NamedTuple):
    """Where certificates are; None: not given."""

    certificate: Path | None
    key: Path | None
    client_authority: Path | None

    def read(self) -> Certificates | None:
        """What is in them; CommandError if they do not go together or cannot be read."""
        from queue_agent.keda.service import Certificates

        if self == (None, None, None):
            return None
        if self.certificate is None or self.key is None:
            raise CommandError("TLS needs both --certificate and --key")
        try:
            authority = None if self.client_authority is None else self.client_authority.read_bytes()
            return Certificates(self.certificate.read_bytes(), self.key.read_bytes(), authority)
        except OSError as error:
            raise CommandError(f"cannot read the certificate: {error}") from error


async def _serve(address: str, listen: str, period: float, files: _Files) -> None:
    try:
        from queue_agent.keda.service import ExternalScaler
    except ImportError as error:
        raise CommandError("the scaler needs more packages: pip install yt-queue-agent[keda]") from error
    certificates = files.read()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with AgentApi(address, _ASK_SECONDS) as api:
        try:
            scaler = ExternalScaler(lambda question: ask_agent(api, question), listen, period, certificates)
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
