"""The command `queue-agent`: arguments in, exit code out."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, NoReturn

import structlog
import typer

from queue_agent.app import Addresses, configure_logging, run_until_signalled
from queue_agent.config import load_config
from queue_agent.errors import ConfigError

log = structlog.get_logger(__name__)

application = typer.Typer(
    name="queue-agent",
    help="Queue Agent for YTsaurus: watches queues and consumers, and trims what has been read.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@application.callback()
def _commands() -> None:
    """With a callback, the only command there is stays a subcommand."""


@application.command()
def run(
    config: Annotated[Path, typer.Option(help="Configuration file: .yaml, .yml or .yson.")],
) -> None:
    """Run the service against real clusters until SIGTERM or SIGINT."""
    try:
        agent_config = load_config(config)
    except ConfigError as error:
        _fail(str(error))
    configure_logging(agent_config.logging)
    try:
        asyncio.run(run_until_signalled(agent_config, _log_ready))
    except* OSError as errors:
        _fail(f"can not listen: {'; '.join(map(str, errors.exceptions))}")


def main() -> None:
    """Entry point of the command."""
    application()


def _log_ready(addresses: Addresses) -> None:
    log.info("ready", rpc=addresses.rpc, http=addresses.http)


def _fail(message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(2)
