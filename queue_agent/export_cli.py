"""Commands about static exports: their arguments, their help, and their exit codes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from queue_agent.errors import ConfigError
from queue_agent.operator_cli import DEFAULT_AGENT, fail


def add_export_commands(application: typer.Typer) -> None:
    """Put the commands beside the others."""
    group = typer.Typer(help="Look at static exports.", no_args_is_help=True)
    group.command("plan")(plan_export)
    application.add_typer(group, name="export")


def plan_export(
    queue: Annotated[str, typer.Argument(help="The queue: cluster://path or <cluster=...>//path.")],
    agent: Annotated[str | None, typer.Option(help=f"HTTP address of an agent; {DEFAULT_AGENT} by default.")] = None,
    config_file: Annotated[
        Path | None, typer.Option(help="Ask the agent with this configuration file on this machine.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Show which tables the static exports of a queue would make now, without making them.

    The agent that leads the queue looks at the queue and at the directories as it would for an export, and changes
    nothing; whether it exports at all is told, too.
    """
    import json

    from queue_agent.commands.agent_api import address_in
    from queue_agent.commands.errors import CommandError
    from queue_agent.commands.references import parse_table
    from queue_agent.export_command import fetch_export_plan, render_export_plan

    if agent is not None and config_file is not None:
        fail("--agent and --config-file both say which agent to ask")
    try:
        address = address_in(config_file) if config_file is not None else agent or DEFAULT_AGENT
        plan = asyncio.run(fetch_export_plan(address, parse_table(queue, "QUEUE")))
    except (ConfigError, CommandError) as error:
        fail(str(error))
    typer.echo(json.dumps(plan, indent=2) if as_json else render_export_plan(plan))
