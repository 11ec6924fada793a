"""Commands about the agents of a stage: their arguments, their help, and their exit codes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from queue_agent.cli.operator_cli import fail
from queue_agent.errors import ConfigError

if TYPE_CHECKING:
    from queue_agent.cli.state_command import StateLocation

DEFAULT_PROXY: Final = "http://127.0.0.1:8001"

_Proxy = Annotated[
    str | None, typer.Option(help=f"HTTP proxy of the cluster that holds the state; {DEFAULT_PROXY} by default.")
]
_ConfigFile = Annotated[Path | None, typer.Option(help="Take cluster and root from this configuration file.")]
_Root = Annotated[str | None, typer.Option(help="Directory of the tables; //sys/queue_agents by default.")]
_TokenFile = Annotated[Path | None, typer.Option(help="File with an OAuth token, with --proxy.")]
_Address = Annotated[str, typer.Argument(metavar="ADDRESS", help="HOST:PORT, as `queue-agent agents` shows it.")]


def add_agent_commands(application: typer.Typer) -> None:
    """Put the commands beside the others."""
    application.command("agents")(show_agents)
    application.command()(ban)
    application.command()(unban)


def show_agents(
    proxy: _Proxy = None,
    config: _ConfigFile = None,
    root: _Root = None,
    token_file: _TokenFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """List the agents: what each leads, when it has looked last, who is banned, who leads the others."""
    import json
    from datetime import UTC, datetime

    from queue_agent.cli.agents_command import agents_document, fetch_agents, render_agents
    from queue_agent.errors import ClusterError

    location = _locate(proxy, config, root, token_file)
    now = datetime.now(UTC)  # noqa: TID251 - the clock of whoever looks
    try:
        reports = asyncio.run(fetch_agents(location.cluster, location.root, now))
    except ClusterError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error
    typer.echo(json.dumps(agents_document(reports), indent=2) if as_json else render_agents(reports))


def ban(
    address: _Address,
    proxy: _Proxy = None,
    config: _ConfigFile = None,
    root: _Root = None,
    token_file: _TokenFile = None,
) -> None:
    """Let an agent lead nothing from now on; it goes on answering for what others lead."""
    _change_ban(address, _locate(proxy, config, root, token_file), banned=True)


def unban(
    address: _Address,
    proxy: _Proxy = None,
    config: _ConfigFile = None,
    root: _Root = None,
    token_file: _TokenFile = None,
) -> None:
    """Let an agent lead again."""
    _change_ban(address, _locate(proxy, config, root, token_file), banned=False)


def _locate(proxy: str | None, config: Path | None, root: str | None, token_file: Path | None) -> StateLocation:
    from queue_agent.adapters.process.logs import configure_logging
    from queue_agent.cli.state_command import CLUSTER_NAME, StateLocation, location_in
    from queue_agent.config.clusters import ClusterConfig, StateConfig

    configure_logging("error", "console")
    if config is not None and (proxy is not None or token_file is not None):
        fail("either --proxy, with or without --token-file, or --config says where the state is")
    try:
        if config is not None:
            return location_in(config, root)
        cluster = ClusterConfig(proxy=proxy or DEFAULT_PROXY, token_file=token_file)
    except ConfigError as error:
        fail(str(error))
    return StateLocation(CLUSTER_NAME, cluster, root or StateConfig.model_fields["root"].default)


def _change_ban(address: str, location: StateLocation, *, banned: bool) -> None:
    from queue_agent.cli.agents_command import change_ban
    from queue_agent.errors import ClusterError

    try:
        asyncio.run(change_ban(location.cluster, location.root, address, banned))
    except ClusterError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error
    typer.echo(f"{address} is banned" if banned else f"{address} is not banned")
