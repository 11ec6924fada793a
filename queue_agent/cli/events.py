"""`queue-agent consumer events`: what happened to queues and consumers, as a running agent tells."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Final
from urllib.parse import urlencode

import typer

from queue_agent.cli.addresses import agent_addresses
from queue_agent.cli.agent_api import AgentApi
from queue_agent.cli.errors import CommandError
from queue_agent.cli.options import Agent, AgentConfigFile, Json, exit_codes, now
from queue_agent.cli.plans import table_lines
from queue_agent.cli.references import parse_object, parse_table
from queue_agent.core.values.encoding import encode_instant

EXAMPLES: Final = """
Examples:

queue-agent consumer events

queue-agent consumer events pythia://tmp/queue hume://tmp/consumer --since 7d --kind loss,loss_ended

Exit codes: 0: shown; 2: the agent cannot be asked, or refuses.
"""

_AGE: Final = re.compile(r"([0-9]{1,6})(s|m|h|d)")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_HEADER: Final = ("time", "kind", "queue", "consumer", "by", "what")


def command(
    queue: Annotated[
        str | None, typer.Argument(metavar="QUEUE", help="cluster://path; events of all queues by default.")
    ] = None,
    consumer: Annotated[
        str | None, typer.Argument(metavar="CONSUMER", help="The same; events of all consumers by default.")
    ] = None,
    since: Annotated[
        str, typer.Option(metavar="TIME", help="Oldest event: an instant with its zone, or an age such as 30m, 2h, 7d.")
    ] = "1d",
    kind: Annotated[
        str | None, typer.Option(metavar="KINDS", help="Kinds, separated by commas, such as loss,verdict.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many, the newest.")] = 100,
    agent: Agent = None,
    config: AgentConfigFile = None,
    as_json: Json = False,
) -> None:
    """Show what happened to queues and consumers, newest last."""
    with exit_codes():
        [address] = agent_addresses([agent] if agent else None, config)
        query = {
            "since": encode_instant(parse_since(since, now())),
            "limit": str(limit),
            "queue": None if queue is None else str(parse_table(queue, "QUEUE")),
            "consumer": None if consumer is None else str(parse_object(consumer, "CONSUMER")),
            "kind": kind,
        }
        page = asyncio.run(fetch_events(address, {name: value for name, value in query.items() if value is not None}))
        typer.echo(json.dumps(page, indent=2) if as_json else "\n".join(render_events(page)))


def parse_since(text: str, present: datetime) -> datetime:
    """Read an age such as `2h`, or an instant with its zone."""
    if age := _AGE.fullmatch(text):
        return present - timedelta(seconds=int(age[1]) * _SECONDS[age[2]])
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise CommandError(
            f"--since takes an age such as 30m, 2h or 7d, or an instant such as 2026-03-01T12:00:00Z; got {text!r}"
        ) from error
    if instant.tzinfo is None:
        raise CommandError(f"--since {text} does not say in which zone, as 2026-03-01T12:00:00Z does")
    return instant


async def fetch_events(agent: str, query: Mapping[str, str]) -> Mapping[str, Any]:
    """Ask an agent.

    Args:
        agent: see `AgentApi`.
        query: parameters of the request.
    """
    async with AgentApi(agent) as api:
        answer = await api.get(f"/api/v1/events?{urlencode(query)}")
    if not isinstance(answer, dict) or "events" not in answer:
        raise CommandError(f"{agent} does not answer like an agent")
    return answer


def render_events(page: Mapping[str, Any]) -> Iterator[str]:
    """Events as a table for people, newest last."""
    if not page["persisted"]:
        yield "note: the table of events cannot be read; these are what this agent has noticed since it started"
    if page["next"] is not None:
        yield "note: there are older ones: a larger --limit shows them"
    events = [_cells(event) for event in reversed(page["events"])]
    if not events:
        yield "nothing happened"
        return
    yield from table_lines([_HEADER, *events])


def _cells(event: Mapping[str, Any]) -> Sequence[str]:
    return (
        event["instant"][:19] + "Z",
        event["kind"],
        event["queue"] or "-",
        event["consumer"] or "-",
        event["actor"],
        " ".join(event["reason"].split()),
    )
