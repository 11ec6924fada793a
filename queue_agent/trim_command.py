"""`queue-agent trim plan`: a running agent is asked what trimming by a policy would do, and does not do it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import aiohttp
from yarl import URL

from queue_agent.adapters.json_values import to_json
from queue_agent.config import load_config
from queue_agent.core.refs import CrossClusterRef
from queue_agent.errors import QueueAgentError
from queue_agent.wire import yson
from queue_agent.wire.error import YtError
from queue_agent.wire.ypath import parse_rich

_TIMEOUT_SECONDS: Final = 120
_ANYWHERE: Final = ("0.0.0.0", "::")
_MODES: Final = {
    "off": "this agent does not trim",
    "observe": "this agent only observes, and trims nothing",
    "trim": "this agent trims",
}
_HEADER: Final = ("partition", "rows there", "trim to", "rows", "bytes", "held back by", "rows held")


class TrimCommandError(QueueAgentError):
    """There is no plan to be had; the message says why."""


def parse_queue(text: str) -> CrossClusterRef:
    """Read `cluster://path` or `<cluster=...>//path`."""
    try:
        path = parse_rich(text)
    except YtError as error:
        raise TrimCommandError(f"QUEUE: {error.message}") from error
    if path.cluster is None:
        raise TrimCommandError(f"QUEUE: {text} does not name a cluster, as in cluster://path")
    return CrossClusterRef(str(path.cluster), path.path)


def parse_policy(text: str) -> Any:
    """Read JSON or YSON; what it says is checked by the agent."""
    try:
        return json.loads(text)
    except ValueError:
        pass  # it may be YSON
    try:
        return to_json(yson.loads(text.encode()))
    except YtError as error:
        raise TrimCommandError(f"--config is neither JSON nor YSON: {error.message}") from error


def address_in(config_file: Path) -> str:
    """Where an agent serves HTTP by its configuration; on this machine, if it serves anywhere. See `load_config`."""
    http = load_config(config_file).http
    return f"http://{'127.0.0.1' if http.host in _ANYWHERE else http.host}:{http.port}"


async def fetch_plan(agent: str, queue: CrossClusterRef, policy: Any) -> Mapping[str, Any]:
    """Ask an agent.

    Args:
        agent: its HTTP address, such as `http://127.0.0.1:10030`; the scheme may be left out.
        queue: the queue.
        policy: in the form of `@auto_trim_config`; None for the queue's own.
    """
    path = quote(queue.path.removeprefix("//"), safe="")
    url = f"{_origin(agent)}/api/v1/queues/{quote(queue.cluster, safe='')}/{path}/trim-plan"
    body = None if policy is None else json.dumps(policy).encode()
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_TIMEOUT_SECONDS)) as session,
            session.post(URL(url, encoded=True), data=body) as response,
        ):
            answer = await response.json(content_type=None)
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise TrimCommandError(f"agent {agent} can not be reached: {str(error) or type(error).__name__}") from error
    except ValueError as error:
        raise TrimCommandError(f"{agent} does not answer like an agent: {error}") from error
    if response.status != 200:
        message = answer.get("message") if isinstance(answer, dict) else answer
        raise TrimCommandError(f"agent {agent} has no plan: {message}")
    if not isinstance(answer, dict) or "partitions" not in answer:
        raise TrimCommandError(f"{agent} does not answer like an agent")
    return answer


def _origin(agent: str) -> str:
    """The address as a URL; HTTP unless it says otherwise."""
    address = agent if "://" in agent else f"http://{agent}"
    try:
        url = URL(address)
        if url.scheme not in ("http", "https") or not url.host:
            raise ValueError("it has to be http://HOST:PORT, https://HOST:PORT or HOST:PORT")
    except ValueError as error:
        raise TrimCommandError(f"--agent {agent} is no address of an agent: {error}") from error
    return address.rstrip("/")


def render_plan(plan: Mapping[str, Any]) -> str:
    """A plan as a table for people."""
    lines = [
        f"{plan['cluster']}:{plan['path']}  policy {json.dumps(plan['config'])}; {_MODES[plan['trimming']]}",
        *(f"error: {message}" for message in _messages(plan["error"])),
        "",
        *_table([_HEADER, *(_cells(index, one) for index, one in enumerate(plan["partitions"]))]),
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


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _messages(error: Mapping[str, Any] | None, depth: int = 0) -> Iterator[str]:
    """Of an error and all in it, the inner ones indented."""
    if error is None:
        return
    yield "  " * depth + str(error["message"])
    for inner in error.get("inner_errors") or ():
        yield from _messages(inner, depth + 1)


def _or_unknown(value: int | None) -> str:
    return "?" if value is None else str(value)
