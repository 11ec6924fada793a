"""`queue-agent export plan`: a running agent is asked what the static exports of a queue would make, and makes none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from queue_agent.cli.options import Agent, AgentConfigFile, Json
from queue_agent.cli.plans import Queue, ask_for_plan, error_messages, show_plan, table_lines
from queue_agent.core.values.refs import CrossClusterRef

_MODES: Final = {
    "off": "this agent does not export",
    "observe": "this agent only observes, and exports nothing",
    "export": "this agent exports",
}
_HEADER: Final = ("table", "rows before", "rows", "bytes", "chunks", "expires")


def command(
    queue: Queue,
    agent: Agent = None,
    config: AgentConfigFile = None,
    as_json: Json = False,
) -> None:
    """Show the tables that static exports of a queue would create now. Creates nothing.

    The leader of the queue reads queue and directories as for an export, and changes nothing. The plan also says
    whether the agent exports at all.
    """
    show_plan(queue, agent, config, fetch_export_plan, None if as_json else render_export_plan)


async def fetch_export_plan(agent: str, queue: CrossClusterRef) -> Mapping[str, Any]:
    """Ask an agent.

    Args:
        agent: see `AgentApi`.
        queue: the queue.
    """
    return await ask_for_plan(agent, queue, "export-plan", None, "exports")


def render_export_plan(plan: Mapping[str, Any]) -> str:
    """A plan as tables for people."""
    lines = [
        f"{plan['cluster']}:{plan['path']}  {_MODES[plan['static_exports']]}",
        *(f"error: {message}" for message in error_messages(plan["error"])),
    ]
    if not plan["exports"] and plan["error"] is None:
        lines.append("the queue has no @static_export_config")
    for name, export in plan["exports"].items():
        lines += ["", *_export(name, export)]
    return "\n".join(lines)


def _export(name: str, export: Mapping[str, Any]) -> Iterator[str]:
    last = export["last_export_unix_ts"]
    yield f"{name} to {export['directory']}, last table: {_instant(last) if last else 'none'}"
    yield from (f"error: {message}" for message in error_messages(export["error"]))
    if export["tables"]:
        yield from table_lines([_HEADER, *(_cells(table) for table in export["tables"])])
    elif export["error"] is None:
        yield "nothing is due"
    if export["waiting_row_count"]:
        yield f"flushed rows for later: {export['waiting_row_count']}"


def _cells(table: Mapping[str, Any]) -> Sequence[str]:
    return (
        table["path"].rpartition("/")[2],
        _instant(table["export_unix_ts"]),
        str(table["row_count"]),
        str(table["data_weight"]),
        str(table["chunk_count"]),
        table["expiration_time"] or "never",
    )


def _instant(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
