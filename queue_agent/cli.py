"""The command `queue-agent`: arguments in, exit code out."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer

from queue_agent.errors import ConfigError
from queue_agent.local import LocalError, LocalOptions, run_local

DEFAULT_CLUSTERS: Final = ("pythia=8001", "hume=8002")

_CLUSTER: Final = re.compile(r"([A-Za-z0-9_-]+)=([0-9]{1,5})")

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
    # Importing the agent takes a second, in which `queue-agent local` already starts one as a process of its own.
    import structlog

    from queue_agent.adapters.logs import configure_logging
    from queue_agent.app import Addresses, run_until_signalled
    from queue_agent.config import load_config

    try:
        agent_config = load_config(config)
    except ConfigError as error:
        _fail(str(error))
    configure_logging(agent_config.logging.level, agent_config.logging.format)
    log = structlog.get_logger(__name__)

    def log_ready(addresses: Addresses) -> None:
        log.info("ready", rpc=addresses.rpc, http=addresses.http)

    try:
        asyncio.run(run_until_signalled(agent_config, log_ready))
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
    options = LocalOptions(_cluster_ports(cluster or DEFAULT_CLUSTERS), agents, data_dir, rpc_port, http_port)
    try:
        asyncio.run(run_local(options, typer.echo, partial(typer.echo, err=True)))
    except LocalError as error:
        _fail(str(error))


def main() -> None:
    """Entry point of the command."""
    application()


def _cluster_ports(options: Sequence[str]) -> dict[str, int]:
    """Read `NAME=PORT` options."""
    ports: dict[str, int] = {}
    for option in options:
        match = _CLUSTER.fullmatch(option)
        if match is None or int(match[2]) > 65535:
            _fail(f"--cluster takes NAME=HTTP_PORT, a name of letters, digits, - and _, and a port; got {option!r}")
        name = match[1]
        if name in ports:
            _fail(f"--cluster names {name!r} twice")
        ports[name] = int(match[2])
    return ports


def _fail(message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(2)
