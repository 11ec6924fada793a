"""Commands that ask an agent what it would do now: their arguments, their help, and their exit codes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from queue_agent.cli.operator_cli import DEFAULT_AGENT, JsonOption, fail
from queue_agent.errors import ConfigError

_QueueArgument = Annotated[str, typer.Argument(help="The queue: cluster://path or <cluster=...>//path.")]
_AgentOption = Annotated[str | None, typer.Option(help=f"HTTP address of an agent; {DEFAULT_AGENT} by default.")]
_ConfigFileOption = Annotated[
    Path | None, typer.Option(help="Ask the agent with this configuration file on this machine.")
]


def add_plan_commands(application: typer.Typer) -> None:
    """Put the commands beside the others."""
    for name, about, command in (
        ("trim", "Look at trimming.", plan_trim),
        ("export", "Look at static exports.", plan_export),
    ):
        group = typer.Typer(help=about, no_args_is_help=True)
        group.command("plan")(command)
        application.add_typer(group, name=name)


def plan_trim(
    queue: _QueueArgument,
    config: Annotated[
        str | None,
        typer.Option(help="Policy in the form of @auto_trim_config, JSON or YSON; by default the queue's own."),
    ] = None,
    agent: _AgentOption = None,
    config_file: _ConfigFileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what trimming by a policy would do to a queue, without doing it."""
    from queue_agent.cli.references import parse_table
    from queue_agent.cli.trim_command import fetch_plan, parse_policy, render_plan

    def fetch(address: str) -> Coroutine[Any, Any, Mapping[str, Any]]:
        return fetch_plan(address, parse_table(queue, "QUEUE"), None if config is None else parse_policy(config))

    _show_plan(agent, config_file, fetch, None if as_json else render_plan)


def plan_export(
    queue: _QueueArgument,
    agent: _AgentOption = None,
    config_file: _ConfigFileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show which tables the static exports of a queue would make now, without making them.

    The agent that leads the queue looks at the queue and at the directories as it would for an export, and changes
    nothing; whether it exports at all is told, too.
    """
    from queue_agent.cli.export_command import fetch_export_plan, render_export_plan
    from queue_agent.cli.references import parse_table

    def fetch(address: str) -> Coroutine[Any, Any, Mapping[str, Any]]:
        return fetch_export_plan(address, parse_table(queue, "QUEUE"))

    _show_plan(agent, config_file, fetch, None if as_json else render_export_plan)


def _show_plan(
    agent: str | None,
    config_file: Path | None,
    fetch: Callable[[str], Coroutine[Any, Any, Mapping[str, Any]]],
    render: Callable[[Mapping[str, Any]], str] | None,
) -> None:
    """Ask the agent that the command line names, and print its plan; as JSON without `render`."""
    from queue_agent.cli.agent_api import address_in
    from queue_agent.cli.errors import CommandError

    if agent is not None and config_file is not None:
        fail("--agent and --config-file both say which agent to ask")
    try:
        address = address_in(config_file) if config_file is not None else agent or DEFAULT_AGENT
        plan = asyncio.run(fetch(address))
    except (ConfigError, CommandError) as error:
        fail(str(error))
    typer.echo(json.dumps(plan, indent=2) if render is None else render(plan))
