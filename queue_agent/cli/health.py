"""`queue-agent health`: asks an agent whether it serves, for images that have no other client."""

from __future__ import annotations

import http.client
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

import typer

from queue_agent.cli.addresses import default_agent
from queue_agent.cli.options import SOME_FAILED, Agent
from queue_agent.errors import QueueAgentError

Question = Literal["live", "ready"]

_TIMEOUT_SECONDS: Final = 5.0


def command(
    agent: Agent = None,
    ready: Annotated[bool, typer.Option("--ready", help="Ask also whether it has polled its objects lately.")] = False,
) -> None:
    """Ask an agent whether it serves. Exit code 0: it does; 1: it does not."""
    try:
        typer.echo(check_health(agent or default_agent(), "ready" if ready else "live"))
    except UnhealthyError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(SOME_FAILED) from error


class UnhealthyError(QueueAgentError):
    """The agent does not answer, or says no."""


def check_health(address: str, question: Question) -> str:
    """Ask an agent at `http://host:port` or `https://host:port`; for the latter, `SSL_CERT_FILE` may name authorities.

    Returns:
        What it says.

    Raises:
        UnhealthyError: it does not answer within five seconds, or not with 200.
    """
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UnhealthyError(f"an agent's address is http://host:port or https://host:port; got {address!r}")
    kind = http.client.HTTPConnection if parts.scheme == "http" else http.client.HTTPSConnection
    connection = kind(parts.hostname, parts.port, timeout=_TIMEOUT_SECONDS)
    try:
        connection.request("GET", f"/health/{question}")
        response = connection.getresponse()
        text = response.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        raise UnhealthyError(f"{address} does not answer: {error}") from error
    finally:
        connection.close()
    if response.status != http.client.OK:
        raise UnhealthyError(f"{address} is not {question}: {text}")
    return text
