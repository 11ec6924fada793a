"""Commands for whoever operates agents: their arguments, their help, and their exit codes."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from queue_agent.core.values.refs import CrossClusterRef

DEFAULT_AGENT: Final = "http://127.0.0.1:10030"

NOTHING_DONE: Final = 2
"""The exit code if the command line, a file, or an address can not be used."""


def complete_object(incomplete: str) -> list[str]:
    """Queues and consumers of the agent on this machine that begin so; nothing if there is none."""
    from queue_agent.cli.errors import CommandError
    from queue_agent.cli.status import fetch_names

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
        metavar="QUEUE|CONSUMER",
        help="cluster://path, <cluster=...>//path, or for one consumer of several in a table"
        " '<cluster=...;queue_consumer_name=...>//path'. Without it, everything is shown.",
        show_default=False,
        autocompletion=complete_object,
    ),
]
ProblemsOption = Annotated[bool, typer.Option("--problems", help="Only what something is wrong with.")]


def add_commands(application: typer.Typer) -> None:
    """Put the commands beside the others."""
    for parent, name, command, examples in (
        (application, "status", status, _STATUS_EXAMPLES),
        (application, "watch", watch, _WATCH_EXAMPLES),
        (application, "doctor", doctor, _DOCTOR_EXAMPLES),
        (consumer_application, "reset", reset_consumer, _RESET_EXAMPLES),
    ):
        parent.command(name, help=_flowing(command.__doc__ or ""), epilog=_flowing(examples))(command)
    application.add_typer(consumer_application, name="consumer")


def _flowing(text: str) -> str:
    """Paragraphs without their line breaks: terminals are as wide as they are."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))


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

    from queue_agent.cli.errors import CommandError
    from queue_agent.cli.status import fetch_object, fetch_overview
    from queue_agent.cli.status_view import make_console
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
    from queue_agent.cli.errors import CommandError
    from queue_agent.cli.status_view import make_console
    from queue_agent.cli.watch import watch as do_watch
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


_DOCTOR_EXAMPLES: Final = """
Examples:

queue-agent doctor --config /etc/queue-agent/agent.yaml

queue-agent doctor --config agent.yaml --json | jq '.[] | select(.grade == "failure") | .repair'

Exit codes: 0: nothing failed, though something may have to be looked at; 1: something failed; 2: the configuration can
not be used.
"""


def doctor(
    config: Annotated[Path, typer.Option(metavar="FILE", help="Configuration of the agent, as for run.")],
    host: Annotated[
        str | None,
        typer.Option(
            envvar="QUEUE_AGENT_HOST", help="In place of the configuration's host, as for run.", show_default=False
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Look at all an agent needs, and say how to mend what is wrong; nothing is changed anywhere.

    It looks at tokens, connections, users, clocks, names of clusters, the table of registrations, the state tables and
    their version, the history, the document with dynamic options, permissions, the addresses masters know, whether
    agents answer there, whether masters get answers, and at the agent on this machine, if one runs. Run it where the
    agent is to run, as the user it is to run as.
    """
    import json

    from queue_agent.adapters.process.logs import configure_logging
    from queue_agent.cli.doctor import examine
    from queue_agent.cli.doctor_view import view_findings
    from queue_agent.cli.findings import Finding, is_healthy
    from queue_agent.cli.patient import admitted
    from queue_agent.cli.status_view import make_console
    from queue_agent.config.file import load_config
    from queue_agent.errors import ConfigError

    configure_logging("critical", "console")  # whatever goes wrong is among the findings

    async def look() -> list[Finding]:
        agent = load_config(config)
        async with admitted(agent if host is None else agent.on_host(host), config, _now) as patient:
            return await examine(patient)

    try:
        findings = asyncio.run(look())
    except ConfigError as error:
        fail(str(error))
    if as_json:
        typer.echo(json.dumps([finding.to_map() for finding in findings], indent=2))
    else:
        make_console().print(view_findings(findings))
    raise typer.Exit(0 if is_healthy(findings) else 1)


consumer_application = typer.Typer(help="Work on consumers.", no_args_is_help=True)

_RESET_EXAMPLES: Final = """
Examples:

queue-agent consumer reset pythia://tmp/queue hume://tmp/consumer --to earliest --config agent.yaml --dry-run

queue-agent consumer reset pythia://tmp/queue hume://tmp/consumer --to 2h --proxy pythia=http://127.0.0.1:8001 --proxy
hume=http://127.0.0.1:8002  ·  to the first rows of the last two hours

queue-agent consumer reset pythia://tmp/queue hume://tmp/consumer --to 4711 --partition 3 --config agent.yaml --yes

Exit codes: 0: all partitions are where they are to be, or would be with --dry-run; 1: not all of them, or you have
said no; 2: refused, nothing was changed.
"""


def reset_consumer(
    queue: Annotated[str, typer.Argument(metavar="QUEUE", help="cluster://path or <cluster=...>//path.")],
    consumer: Annotated[
        str,
        typer.Argument(
            metavar="CONSUMER",
            help="The same; one of several in a table is '<cluster=...;queue_consumer_name=...>//path'.",
        ),
    ],
    to: Annotated[
        str,
        typer.Option(
            metavar="earliest|latest|OFFSET|TIME",
            help="earliest: the first row there is. latest: behind the last. OFFSET: a row index. TIME: the first row"
            " committed then or later: an instant with its zone, such as 2026-03-01T12:00:00Z, or so long ago: 90s,"
            " 30m, 2h, 7d.",
        ),
    ],
    partition: Annotated[
        list[int] | None, typer.Option(min=0, metavar="INDEX", help="Only this one; may be repeated.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Clusters and tokens are those of this agent configuration.")
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=ADDRESS", help="HTTP proxy of a cluster, without --config; may be repeated."),
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with an OAuth token, with --proxy.")
    ] = None,
    allow_trimmed: Annotated[
        bool,
        typer.Option(
            "--allow-trimmed", help="Move a vital consumer though rows that were asked for are trimmed already."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs; with --yes or --dry-run.")] = False,
) -> None:
    """Move a consumer to another position in a queue, after showing what that means and asking.

    Stop the consumer's readers first: one that runs goes on from where it is, and may move the consumer back.

    Each partition is moved only if it still stands where the preview says; those that somebody has moved meanwhile are
    named and left alone. A vital consumer is not moved to rows that are trimmed in part already, unless you say
    --allow-trimmed; any other begins with the first row there is, and the preview says so. Positions behind the end are
    refused.
    """
    import json

    from queue_agent.adapters.process.logs import configure_logging
    from queue_agent.cli.consumer_reset import ConsumerReset, clusters_of, parse_destination
    from queue_agent.cli.errors import CommandError
    from queue_agent.cli.references import parse_object, parse_table
    from queue_agent.cli.reset_view import plan_document, view_outcome, view_plan
    from queue_agent.cli.status_view import make_console
    from queue_agent.errors import ClusterError, ConfigError

    if yes and dry_run:
        fail("--yes and --dry-run contradict each other")
    if as_json and not (yes or dry_run):
        fail("--json asks no questions: say --yes or --dry-run")
    configure_logging("warning", "console")

    async def reset() -> int:
        """The exit code."""
        clusters = clusters_of(config, proxy or (), token_file)
        refs = parse_table(queue, "QUEUE"), parse_object(consumer, "CONSUMER")
        async with ConsumerReset(*refs, clusters, _now) as work:
            plan = await work.plan(parse_destination(to, _now()), partition or (), lost_rows_are_fine=allow_trimmed)
            if not as_json:
                make_console().print(view_plan(plan))
            if dry_run or not plan.changes:
                if as_json:
                    typer.echo(json.dumps(plan_document(plan, None), indent=2))
                return 0
            if not yes and not _agreed(f"Move {len(plan.changes)} partitions of {plan.consumer}?"):
                typer.echo("nothing was changed")
                return 1
            failures = await work.carry_out(plan)
            if as_json:
                typer.echo(json.dumps(plan_document(plan, failures), indent=2))
            else:
                make_console().print(view_outcome(plan, failures))
            return 1 if failures else 0

    try:
        code = asyncio.run(reset())
    except (ConfigError, CommandError, ClusterError) as error:
        fail(str(error))
    raise typer.Exit(code)


def _agreed(question: str) -> bool:
    import sys

    if not sys.stdin.isatty():
        fail("there is nobody to ask: say --yes to have it done, or --dry-run")
    return typer.confirm(question)


def fail(message: str) -> NoReturn:
    """End with `NOTHING_DONE`."""
    typer.echo(message, err=True)
    raise typer.Exit(NOTHING_DONE)


async def _look(addresses: list[str], which: str | None, problems: bool) -> RenderableType:
    from queue_agent.cli.status import fetch_object, fetch_overview
    from queue_agent.cli.status_view import view_consumer, view_overview, view_queue

    if which is None:
        overview = await fetch_overview(addresses)
        if problems:
            overview = overview.only_problems()
        return view_overview(overview, _now(), only_problems=problems)
    kind, document = await fetch_object(addresses, _object(which, problems))
    view = view_queue if kind == "queue" else view_consumer
    return view(document, _now())


def _object(which: str, problems: bool) -> CrossClusterRef:
    from queue_agent.cli.references import parse_object

    if problems:
        fail("--problems is for everything; one queue or consumer is shown as it is")
    return parse_object(which, "QUEUE|CONSUMER")


def _addresses(agents: list[str] | None, config_file: Path | None) -> list[str]:
    from queue_agent.cli.agent_api import address_in

    if agents and config_file is not None:
        fail("--agent and --config-file both say which agent to ask")
    return [address_in(config_file)] if config_file is not None else agents or [DEFAULT_AGENT]


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - this is the clock the others are given
