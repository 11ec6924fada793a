"""`queue-agent consumer reset`: moves a consumer to another position, after showing what that means."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from queue_agent.adapters.process.logs import configure_logging
from queue_agent.cli.consumer_reset import ConsumerReset, clusters_of, parse_destination
from queue_agent.cli.errors import CommandError
from queue_agent.cli.options import SOME_FAILED, DryRun, OptionalConfigFile, TokenFile, exit_codes, now
from queue_agent.cli.references import parse_object, parse_table
from queue_agent.cli.reset_view import plan_document, view_outcome, view_plan
from queue_agent.cli.status_view import make_console
from queue_agent.errors import ClusterError

EXAMPLES: Final = """
Examples:

queue-agent consumer reset pythia://tmp/queue hume://tmp/consumer --to earliest --config agent.yaml --dry-run

queue-agent consumer reset pythia://tmp/queue hume://tmp/consumer --to 2h --proxy pythia=http://127.0.0.1:8001 --proxy
hume=http://127.0.0.1:8002  ·  to the first rows of the last two hours

queue-agent consumer reset pythia://tmp/queue hume://tmp/consumer --to 4711 --partition 3 --config agent.yaml --yes

Exit codes: 0: all partitions are where they are to be, or would be with --dry-run; 1: not all of them, or you have
said no; 2: refused, nothing was changed.
"""


_Queue = Annotated[str, typer.Argument(metavar="QUEUE", help="cluster://path or <cluster=...>//path.")]
_Consumer = Annotated[
    str,
    typer.Argument(
        metavar="CONSUMER",
        help="The same; one of several in a table is '<cluster=...;queue_consumer_name=...>//path'.",
    ),
]
_Destination = Annotated[
    str,
    typer.Option(
        metavar="earliest|latest|OFFSET|TIME",
        help="earliest: the oldest row. latest: past the newest row. OFFSET: a row index. TIME: the first row"
        " committed then or later: an instant with its zone, such as 2026-03-01T12:00:00Z, or so long ago: 90s,"
        " 30m, 2h, 7d.",
    ),
]
_Partitions = Annotated[
    list[int] | None, typer.Option(min=0, metavar="INDEX", help="Partition to move; may be repeated. All by default.")
]
_Proxies = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=ADDRESS", help="HTTP proxy of a cluster, instead of --config; may be repeated."),
]
_AllowTrimmed = Annotated[
    bool,
    typer.Option("--allow-trimmed", help="Move a vital consumer even to rows that are trimmed already."),
]


def command(
    queue: _Queue,
    consumer: _Consumer,
    to: _Destination,
    partition: _Partitions = None,
    config: OptionalConfigFile = None,
    proxy: _Proxies = None,
    token_file: TokenFile = None,
    allow_trimmed: _AllowTrimmed = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: DryRun = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON document; needs --yes or --dry-run.")] = False,
) -> None:
    """Move a consumer to another position in a queue, after showing what that means and asking.

    Stop the consumer's readers first: one that runs goes on from where it is, and may move the consumer back.

    Each partition is moved only if it still stands where the preview says; those that somebody has moved meanwhile are
    named and left alone. A vital consumer is not moved to rows that are trimmed in part already, unless you say
    --allow-trimmed; any other begins with the first row there is, and the preview says so. Positions behind the end are
    refused.
    """
    configure_logging("warning", "console")
    with exit_codes():
        if yes and dry_run:
            raise CommandError("--yes and --dry-run contradict each other")
        if as_json and not (yes or dry_run):
            raise CommandError("--json asks no questions: say --yes or --dry-run")
        reset = ConsumerReset(
            parse_table(queue, "QUEUE"),
            parse_object(consumer, "CONSUMER"),
            clusters_of(config, proxy or (), token_file),
            now,
        )
        wanted = _Wanted(to, partition or (), allow_trimmed, yes, dry_run, as_json)
        try:
            code = asyncio.run(_reset(reset, wanted))
        except ClusterError as error:
            raise CommandError(str(error)) from error
    raise typer.Exit(code)


@dataclass(frozen=True, slots=True)
class _Wanted:
    to: str
    partitions: Sequence[int]
    allow_trimmed: bool
    yes: bool
    dry_run: bool
    as_json: bool


async def _reset(reset: ConsumerReset, wanted: _Wanted) -> int:
    """The exit code."""
    async with reset as work:
        destination = parse_destination(wanted.to, now())
        plan = await work.plan(destination, wanted.partitions, lost_rows_are_fine=wanted.allow_trimmed)
        if not wanted.as_json:
            make_console().print(view_plan(plan))
        if wanted.dry_run or not plan.changes:
            if wanted.as_json:
                typer.echo(json.dumps(plan_document(plan, None), indent=2))
            return 0
        if not wanted.yes and not _agreed(f"Move {len(plan.changes)} partitions of {plan.consumer}?"):
            typer.echo("nothing was changed")
            return SOME_FAILED
        failures = await work.carry_out(plan)
        if wanted.as_json:
            typer.echo(json.dumps(plan_document(plan, failures), indent=2))
        else:
            make_console().print(view_outcome(plan, failures))
        return SOME_FAILED if failures else 0


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise CommandError("standard input is no terminal: pass --yes to do it, or --dry-run")
    return typer.confirm(question)
