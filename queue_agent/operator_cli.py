"""Commands for whoever operates agents: their arguments, their help, and their exit codes."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from queue_agent.core.refs import CrossClusterRef

DEFAULT_AGENT: Final = "http://127.0.0.1:10030"

NOTHING_DONE: Final = 2
"""The exit code if the command line, a file, or an address can not be used."""


def complete_object(incomplete: str) -> list[str]:
    """Queues and consumers of the agent on this machine that begin so; nothing if there is none."""
    from queue_agent.commands.errors import CommandError
    from queue_agent.commands.status import fetch_names

    try:
        names = asyncio.run(fetch_names(DEFAULT_AGENT))
    except CommandError:
        return []
    return [name for name in names if name.startswith(incomplete)]


AgentOption = Annotated[
    list[str] | None,
    typer.Option(
        "--agent",
        metavar="URL",
        help=f"HTTP address of an agent; {DEFAULT_AGENT} by default. May be repeated, for agents that share"
        " the work of a stage.",
    ),
]
ConfigFileOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Ask the agent with this configuration file on this machine."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="For programs.")]
ObjectArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[QUEUE|CONSUMER]",
        help="cluster://path, <cluster=...>//path, or for one consumer of several in a table"
        " '<cluster=...;queue_consumer_name=...>//path'. Without it, everything is shown.",
        show_default=False,
        autocompletion=complete_object,
    ),
]
ProblemsOption = Annotated[bool, typer.Option("--problems", help="Only what something is wrong with.")]


def add_commands(application: typer.Typer) -> None:
    """Put the commands beside the others."""
    application.command(epilog=_STATUS_EXAMPLES)(status)
    application.command(epilog=_WATCH_EXAMPLES)(watch)


_STATUS_EXAMPLES: Final = """
Examples:

queue-agent status  ·  everything the agent on this machine serves

queue-agent status hume://tmp/consumer  ·  one consumer, partition by partition

queue-agent status --problems --agent http://qa-1:10030 --agent http://qa-2:10030  ·  what is wrong, of two agents

queue-agent status --json | jq '.consumers[].overview[] | select(.verdict == "stopped")'

Exit codes: 0: shown, whatever it is; 2: the agent can not be asked, or knows no such object.
"""


def status(
    which: ObjectArgument = None,
    agent: AgentOption = None,
    config_file: ConfigFileOption = None,
    problems: ProblemsOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show agents, queues and consumers as they are now, or one queue or consumer with its partitions.

    Columns of queues: rows and size are what is there, trimmed rows do not count; "held" are rows that could be
    trimmed if nothing held them back, or - where nothing is to be trimmed. "?" is what is not known.

    States of consumers: "up to date": nothing waits; "reading": rows wait, none of them for long; "not started": it has
    never read; "stopped": it has read nothing for an hour, and rows have waited as long; "rows lost": some were trimmed
    before it read them; "ahead": it stands behind the last row; "unknown": the queue can not be read.
    """
    import json

    from queue_agent.commands.errors import CommandError
    from queue_agent.commands.status import fetch_object, fetch_overview
    from queue_agent.commands.status_view import make_console
    from queue_agent.errors import ConfigError

    try:
        addresses = _addresses(agent, config_file)
        if as_json:
            if which is None:
                overview = asyncio.run(fetch_overview(addresses))
                document = (overview.only_problems() if problems else overview).to_map()
            else:
                kind, found = asyncio.run(fetch_object(addresses, _object(which, problems)))
                document = {"kind": kind, **found}
            typer.echo(json.dumps(document, indent=2))
        else:
            make_console().print(asyncio.run(_look(addresses, which, problems)))
    except (ConfigError, CommandError) as error:
        fail(str(error))


_WATCH_EXAMPLES: Final = """
Examples:

queue-agent watch --problems  ·  an empty screen is a good one

queue-agent watch pythia://tmp/queue --interval 0.5

Exit codes: 0: ended by Ctrl-C; 2: the agent can not be asked at the start, or standard output is no terminal.
"""


def watch(
    which: ObjectArgument = None,
    agent: AgentOption = None,
    config_file: ConfigFileOption = None,
    problems: ProblemsOption = False,
    interval: Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="From one look to the next.")] = 1.0,
) -> None:
    """Show the status on the whole screen, again and again, until Ctrl-C.

    Once it runs, an agent that can not be asked does not end it: what was seen last stays.
    """
    from queue_agent.commands.errors import CommandError
    from queue_agent.commands.status_view import make_console
    from queue_agent.commands.watch import watch as do_watch
    from queue_agent.errors import ConfigError

    console = make_console()
    if not console.is_terminal:
        fail("watch needs a terminal; for anything else there is: queue-agent status --json")
    try:
        addresses = _addresses(agent, config_file)
        asyncio.run(_look(addresses, which, problems))
        asyncio.run(do_watch(console, lambda: _look(addresses, which, problems), interval, _now))
    except KeyboardInterrupt:
        return
    except (ConfigError, CommandError) as error:
        fail(str(error))


def fail(message: str) -> NoReturn:
    """End with `NOTHING_DONE`."""
    typer.echo(message, err=True)
    raise typer.Exit(NOTHING_DONE)


async def _look(addresses: list[str], which: str | None, problems: bool) -> RenderableType:
    from queue_agent.commands.status import fetch_object, fetch_overview
    from queue_agent.commands.status_view import view_consumer, view_overview, view_queue

    if which is None:
        overview = await fetch_overview(addresses)
        if problems:
            overview = overview.only_problems()
        return view_overview(overview, _now(), only_problems=problems)
    kind, document = await fetch_object(addresses, _object(which, problems))
    view = view_queue if kind == "queue" else view_consumer
    return view(document, _now())


def _object(which: str, problems: bool) -> CrossClusterRef:
    from queue_agent.commands.references import parse_object

    if problems:
        fail("--problems is for everything; one queue or consumer is shown as it is")
    return parse_object(which, "QUEUE|CONSUMER")


def _addresses(agents: list[str] | None, config_file: Path | None) -> list[str]:
    from queue_agent.commands.agent_api import address_in

    if agents and config_file is not None:
        fail("--agent and --config-file both say which agent to ask")
    return [address_in(config_file)] if config_file is not None else agents or [DEFAULT_AGENT]


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - this is the clock the others are given
