"""`queue-agent consumer reset`: moves a consumer to another position, after showing what that means."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from queue_agent.adapters.process.logs import configure_logging
from queue_agent.cli.act_record import recorded
from queue_agent.cli.consumer_reset import find_clusters
from queue_agent.cli.errors import CommandError
from queue_agent.cli.init_state import StateLocation, location_in
from queue_agent.cli.names import did_you_mean
from queue_agent.cli.options import (
    BY_NAME,
    SOME_FAILED,
    Consumer,
    DryRun,
    OptionalConfigFile,
    Proxies,
    Queue,
    TokenFile,
    exit_codes,
    now,
)
from queue_agent.cli.reach import Reach
from queue_agent.cli.references import parse_object, parse_table
from queue_agent.cli.reset_view import view_outcome, view_plan
from queue_agent.cli.status_view import make_console
from queue_agent.controllers.acts.reset import ConsumerReset
from queue_agent.core.access.acts import ActKind, ActRequest
from queue_agent.core.consumers.destinations import parse_destination
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ActRefused, ClusterError, ClusterUnavailable

EXAMPLES: Final = """
Examples:

queue-agent consumer reset pythia://tmp/queue hume://tmp/consumer --to earliest --dry-run

queue-agent consumer reset pythia://tmp/queue hume://tmp/consumer --to 2h --proxy pythia=http://127.0.0.1:8001 --proxy
hume=http://127.0.0.1:8002  ·  to the first rows of the last two hours

queue-agent consumer reset pythia://tmp/queue hume://tmp/consumer --to 4711 --partition 3 --config agent.yaml --yes

Exit codes: 0: all partitions are where they are to be, or would be with --dry-run; 1: not all of them, or you have
said no; 2: refused, nothing was changed.
"""


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
_AllowTrimmed = Annotated[
    bool,
    typer.Option("--allow-trimmed", help="Move a vital consumer even to rows that are trimmed already."),
]


def command(
    queue: Queue,
    consumer: Consumer,
    to: _Destination,
    partition: _Partitions = None,
    config: OptionalConfigFile = None,
    proxy: Proxies = None,
    token_file: TokenFile = None,
    allow_trimmed: _AllowTrimmed = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: DryRun = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON document; needs --yes or --dry-run.")] = False,
) -> None:
    """Move a consumer to another position in a queue, after showing what that means and asking.

    Stop the consumer's readers first: a running reader continues from its own position, and may move the consumer back.

    The command moves a partition only if its offset is still that of the preview. It names partitions that somebody
    else moved meanwhile, and leaves them. It refuses to move a vital consumer to trimmed rows, unless you pass
    --allow-trimmed. Another consumer begins at the oldest remaining row, and the preview says so. Positions past the
    end are refused.

    Clusters are found by their names, as the yt command finds them (`yt --proxy NAME`), and your token as well. Or give
    the file of an agent, or an address for each cluster. With --config, the reset is in the audit journal, and agents
    show it among events.
    """
    configure_logging("warning", "console")
    with exit_codes():
        if yes and dry_run:
            raise CommandError("--yes and --dry-run contradict each other")
        if as_json and not (yes or dry_run):
            raise CommandError("--json asks no questions: say --yes or --dry-run")
        pair = parse_table(queue, "QUEUE"), parse_object(consumer, "CONSUMER")
        clusters = find_clusters({one.cluster for one in pair}, config, proxy or (), token_file)
        state = None if config is None else location_in(config, None)
        wanted = _Wanted(to, partition or (), allow_trimmed, yes, dry_run, as_json, state)
        try:
            code = asyncio.run(_reset(*pair, clusters, wanted))
        except (ActRefused, ClusterError) as error:
            is_lost = isinstance(error, ClusterUnavailable) and config is None and not proxy
            raise CommandError(f"{error}{BY_NAME if is_lost else ''}") from error
    raise typer.Exit(code)


@dataclass(frozen=True, slots=True)
class _Wanted:
    to: str
    partitions: Sequence[int]
    allow_trimmed: bool
    yes: bool
    dry_run: bool
    as_json: bool
    state: StateLocation | None
    """Where the audit journal is; None: unknown."""


async def _reset(
    queue: CrossClusterRef, consumer: CrossClusterRef, reaches: Mapping[str, Reach], wanted: _Wanted
) -> int:
    """The exit code."""
    try:
        destination = parse_destination(wanted.to, now())
    except ValueError as error:
        raise CommandError(f"--to: {error}") from error
    async with AsyncExitStack() as stack:
        clusters = {name: await stack.enter_async_context(one.open(name)) for name, one in reaches.items()}
        work = ConsumerReset(queue, consumer, clusters, now, did_you_mean)
        plan = await work.plan(destination, wanted.partitions, lost_rows_are_fine=wanted.allow_trimmed)
        if not wanted.as_json:
            make_console().print(view_plan(plan))
        if wanted.dry_run or not plan.changes:
            if wanted.as_json:
                typer.echo(json.dumps(plan.to_map(), indent=2))
            return 0
        if not wanted.yes and not _agreed(f"Move {len(plan.changes)} partitions of {plan.consumer}?"):
            typer.echo("nothing was changed")
            return SOME_FAILED
        request = ActRequest(
            ActKind.RESET, plan.queue, plan.consumer, to=wanted.to, partitions=tuple(wanted.partitions)
        )
        async with recorded(wanted.state, request, plan.to_map()) as act:
            failures = act.failures = await work.carry_out(plan)
        if wanted.as_json:
            typer.echo(json.dumps(plan.to_map(failures), indent=2))
        else:
            make_console().print(view_outcome(plan, failures))
        return SOME_FAILED if failures else 0


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise CommandError("standard input is no terminal: pass --yes to do it, or --dry-run")
    return typer.confirm(question)
