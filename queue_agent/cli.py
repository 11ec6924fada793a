"""The command `queue-agent`: arguments in, exit code out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, NoReturn

import structlog
import typer

from queue_agent.app import Addresses, configure_logging, run_until_signalled
from queue_agent.config import LoggingConfig, load_config
from queue_agent.errors import ConfigError
from queue_agent.local import LocalError, LocalOptions, run_local

log = structlog.get_logger(__name__)

DEFAULT_CLUSTERS: Final = ("pythia=8001", "hume=8002")

application = typer.Typer(
    name="queue-agent",
    help="Queue Agent for YTsaurus: watches queues and consumers, and trims what has been read.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


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


@application.command()
def local(
    cluster: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=HTTP_PORT", help="A cluster; may be repeated. Port 0 chooses a free one."),
    ] = None,
    agents: Annotated[int, typer.Option(min=0, max=1, help="How many agents serve the clusters.")] = 1,
    data_dir: Annotated[
        Path | None, typer.Option(file_okay=False, help="Keep all data here; without it, it is gone at the end.")
    ] = None,
    rpc_port: Annotated[int, typer.Option(min=1, max=65535, help="RPC port of the agent.")] = 9030,
    http_port: Annotated[int, typer.Option(min=1, max=65535, help="HTTP port of the agent.")] = 10030,
) -> None:
    """Run local clusters and an agent in the foreground, until Ctrl-C."""
    configure_logging(LoggingConfig(level="warning", format="console"))
    options = LocalOptions(_cluster_ports(cluster or DEFAULT_CLUSTERS), agents, data_dir, rpc_port, http_port)
    try:
        asyncio.run(run_local(options, typer.echo))
    except LocalError as error:
        _fail(str(error))


def main() -> None:
    """Entry point of the command."""
    application()


def _log_ready(addresses: Addresses) -> None:
    log.info("ready", rpc=addresses.rpc, http=addresses.http)


def _cluster_ports(options: Sequence[str]) -> dict[str, int]:
    """Read `NAME=PORT` options."""
    ports: dict[str, int] = {}
    for option in options:
        name, equals, port = option.partition("=")
        if not (name and equals and port.isdigit() and int(port) <= 65535):
            _fail(f"--cluster takes NAME=HTTP_PORT, got {option!r}")
        if name in ports:
            _fail(f"--cluster names {name!r} twice")
        ports[name] = int(port)
    return ports


def _fail(message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(2)
