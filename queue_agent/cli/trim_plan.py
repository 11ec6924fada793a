"""`queue-agent trim plan`: a running agent is asked what trimming by a policy would do, and does not do it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer

from queue_agent.adapters.process.json_values import to_json
from queue_agent.cli.errors import CommandError
from queue_agent.cli.options import Agent, AgentConfigFile, Json, exit_codes
from queue_agent.cli.plans import Queue, ask_for_plan, error_messages, show_plan, table_lines
from queue_agent.core.values.refs import CrossClusterRef
from yt_wire import json_text, yson
from yt_wire.error import YtError

_MODES: Final = {
    "off": "this agent does not trim",
    "observe": "this agent only observes, and trims nothing",
    "trim": "this agent trims",
}
_HEADER: Final = ("partition", "rows there", "trim to", "rows", "bytes", "held back by", "rows held")


def command(
    queue: Queue,
    policy: Annotated[
        str | None,
        typer.Option(help="Policy to try, as in @auto_trim_config, JSON or YSON; by default the queue's own."),
    ] = None,
    agent: Agent = None,
    config: AgentConfigFile = None,
    as_json: Json = False,
) -> None:
    """Show what trimming by a policy would do to a queue, without doing it."""
    with exit_codes():
        wanted = None if policy is None else parse_policy(policy)
    show_plan(queue, agent, config, lambda at, ref: fetch_plan(at, ref, wanted), None if as_json else render_plan)


def parse_policy(text: str) -> Any:
    """Read JSON or YSON; what it says is checked by the agent."""
    try:
        return json_text.loads(text)
    except ValueError:
        pass  # it may be YSON
    try:
        return to_json(yson.loads(text.encode()))
    except YtError as error:
        raise CommandError(f"--policy is neither JSON nor YSON: {error.message}") from error


async def fetch_plan(agent: str, queue: CrossClusterRef, policy: Any) -> Mapping[str, Any]:
    """Ask an agent.

    Args:
        agent: see `AgentApi`.
        queue: the queue.
        policy: in the form of `@auto_trim_config`; None for the queue's own.
    """
    return await ask_for_plan(agent, queue, "trim-plan", policy, "partitions")


def render_plan(plan: Mapping[str, Any]) -> str:
    """A plan as a table for people."""
    lines = [
        f"{plan['cluster']}:{plan['path']}  policy {json.dumps(plan['config'])}; {_MODES[plan['trimming']]}",
        *(f"error: {message}" for message in error_messages(plan["error"])),
        "",
        *table_lines([_HEADER, *(_cells(index, one) for index, one in enumerate(plan["partitions"]))]),
        "",
        f"would go: {plan['row_count']} rows, {_or_unknown(plan['data_weight'])} bytes",
    ]
    return "\n".join(lines)


def _cells(index: int, partition: Mapping[str, Any]) -> tuple[str, ...]:
    constraint = partition["constraint"]
    target = partition["target"]
    rows = "?"
    if partition["lower_row_index"] is not None:
        rows = f"{partition['lower_row_index']}..{partition['upper_row_index']}"
    words = (constraint["kind"], constraint["subject"], constraint["message"])
    return (
        str(index),
        rows,
        "-" if target is None else str(target),
        str(partition["row_count"]),
        _or_unknown(partition["data_weight"]),
        " ".join(word for word in words if word),
        _or_unknown(constraint["held_row_count"]),
    )


def _or_unknown(value: int | None) -> str:
    return "?" if value is None else str(value)
