"""`queue-agent status`: agents, queues and consumers as they are now."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Annotated, Final

import typer
from rich.console import RenderableType

from queue_agent.cli.addresses import agent_addresses
from queue_agent.cli.errors import CommandError
from queue_agent.cli.options import (
    SOME_FAILED,
    AgentConfigFile,
    Agents,
    Json,
    exit_codes,
    now,
)
from queue_agent.cli.plain import plain
from queue_agent.cli.references import parse_object
from queue_agent.cli.status_view import make_console, view_consumer, view_overview, view_queue
from queue_agent.cli.statuses import Document, Overview, fetch_object, fetch_overview
from queue_agent.core.values.refs import CrossClusterRef

EXAMPLES: Final = """
Examples:

queue-agent status  ·  everything the agent on this machine serves

queue-agent status hume://tmp/consumer  ·  one consumer, partition by partition

queue-agent status --problems --agent http://qa-1:10030 --agent http://qa-2:10030  ·  what is wrong, of two agents

queue-agent status --json | jq '.consumers[].overview[] | select(.verdict == "stopped")'

Exit codes: 0: shown; 1: with --problems, there is a problem; 2: the agent does not answer, or does not know the
object.
"""


Object = Annotated[
    str | None,
    typer.Argument(
        metavar="QUEUE|CONSUMER",
        help="cluster://path, <cluster=...>//path, or for one consumer of several in a table"
        " '<cluster=...;queue_consumer_name=...>//path'. Without it, everything is shown.",
        show_default=False,
    ),
]
Problems = Annotated[bool, typer.Option("--problems", help="Show only queues and consumers that have a problem.")]


def command(
    which: Object = None,
    agent: Agents = None,
    config: AgentConfigFile = None,
    problems: Problems = False,
    as_json: Json = False,
) -> None:
    """Show agents, queues and consumers as they are now, or one queue or consumer with its partitions.

    Columns of queues: rows and size are what is there, trimmed rows do not count; "held" are rows that could be
    trimmed if nothing held them back, or - where trimming is off. "?": not known.

    Verdicts on consumers, worst first. "unreadable": the queue or the consumer cannot be read. "ahead": its offset
    is past the end of the queue. "losing": rows that it cannot have read were trimmed in the last 10 minutes.
    "stopped": it has unread rows, and has been silent for twice its usual time. "stalled": it commits the same row
    again and again. "racing": rows are trimmed before it commits them, and it may not have read them. "recreated":
    the queue was created again, and the offset is of the old one. "resharded": nothing was committed in a partition
    with unread rows since the queue has other partitions. "lagging": it falls behind. "lost": it lost rows in the
    last 24 hours. "waiting": it has unread rows, and its pace is unknown. "not started": it has never read.
    "catching up": it reads faster than producers write. "idle": nothing was written for an hour. "ok": none of
    these. See docs/verdicts.md.
    """
    with exit_codes():
        addresses = agent_addresses(agent, config)
        if which is None:
            overview = asyncio.run(_fetch(addresses, problems))
            found, view = overview.to_map(), view_overview(overview.plain(), now(), only_problems=problems)
            failed = problems and not overview.is_empty
        else:
            kind, document = asyncio.run(fetch_object(addresses, _object(which, problems)))
            found, view, failed = {"kind": kind, **document}, _view_object(kind, document), False
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        make_console().print(view)
    raise typer.Exit(SOME_FAILED if failed else 0)


async def _fetch(addresses: Sequence[str], problems: bool) -> Overview:
    overview = await fetch_overview(addresses)
    return overview.only_problems() if problems else overview


def _view_object(kind: str, document: Document) -> RenderableType:
    return (view_queue if kind == "queue" else view_consumer)(plain(document), now())


def _object(which: str, problems: bool) -> CrossClusterRef:
    if problems:
        raise CommandError("--problems is for everything; one queue or consumer is shown as it is")
    return parse_object(which, "QUEUE|CONSUMER")
