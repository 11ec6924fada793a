"""Plans of agents: asked for, and shown as text."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from queue_agent.cli.addresses import agent_addresses
from queue_agent.cli.agent_api import AgentApi, NoSuchObject, object_path
from queue_agent.cli.errors import CommandError
from queue_agent.cli.names import guess
from queue_agent.cli.options import exit_codes
from queue_agent.cli.references import parse_table
from queue_agent.core.values.refs import CrossClusterRef

Queue = Annotated[
    str,
    typer.Argument(metavar="QUEUE", help="The queue: cluster://path or <cluster=...>//path."),
]


def show_plan(
    queue: str,
    agent: str | None,
    config: Path | None,
    fetch: Callable[[str, CrossClusterRef], Any],
    render: Callable[[Mapping[str, Any]], str] | None,
) -> None:
    """Ask the agent that the command line names, and print its plan; as JSON without `render`."""
    with exit_codes():
        [address] = agent_addresses([agent] if agent else None, config)
        plan = asyncio.run(fetch(address, parse_table(queue, "QUEUE")))
        typer.echo(json.dumps(plan, indent=2) if render is None else render(plan))


async def ask_for_plan(agent: str, queue: CrossClusterRef, kind: str, body: Any, expected: str) -> Mapping[str, Any]:
    """Ask an agent.

    Args:
        agent: see `AgentApi`.
        queue: the queue.
        kind: of plan, as in the path of the request.
        body: of the request.
        expected: a key that every such plan has.
    """
    async with AgentApi(agent) as api:
        try:
            answer = await api.post(f"{object_path('queues', queue)}/{kind}", body)
        except NoSuchObject as error:
            raise NoSuchObject(f"{error}{await guess(queue, [agent], ['queues'])}") from error
    if not isinstance(answer, dict) or expected not in answer:
        raise CommandError(f"{agent} does not answer like an agent")
    return answer


def table_lines(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows of the same length, the heading among them, in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def error_messages(error: Mapping[str, Any] | None, depth: int = 0) -> Iterator[str]:
    """Of an error as published and all in it, the inner ones indented; None has none."""
    if error is None:
        return
    yield "  " * depth + str(error["message"])
    for inner in error.get("inner_errors") or ():
        yield from error_messages(inner, depth + 1)
