"""`queue-agent agents`, `ban` and `unban`: the agents of a state, as the cluster and they themselves tell."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from queue_agent.adapters.cluster.light_commands import LightCommand
from queue_agent.adapters.cluster.queries import quote_path
from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.adapters.group.agent_group import INSTANCES, LEADER_LOCK, MEMBERS, is_true, set_ban
from queue_agent.adapters.process.logs import configure_logging
from queue_agent.cli.act_record import recorded
from queue_agent.cli.init_state import StateLocation, locate
from queue_agent.cli.names import did_you_mean
from queue_agent.cli.options import Json, OptionalConfigFile, Proxy, Root, TokenFile, exit_codes, now
from queue_agent.core.access.acts import ActKind, ActRequest
from queue_agent.errors import ClusterError, ObjectNotFound
from yt_wire import yson
from yt_wire.ypath import escape_literal

DEFAULT_PROXY: Final = "http://127.0.0.1:8001"
"""Without `YT_PROXY`: the first cluster of `queue-agent local`."""

_PATIENCE_SECONDS: Final = 5.0
"""For one agent, which may hang."""

_OBJECTS: Final = ("leading_queues", "leading_consumers", "leading_multi_consumers")


_Address = Annotated[str, typer.Argument(metavar="ADDRESS", help="HOST:PORT, as `queue-agent agents` shows it.")]


def command(
    proxy: Proxy = None,
    config: OptionalConfigFile = None,
    root: Root = None,
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """List agents: what each leads, its last pass, whether it is banned, who coordinates."""
    with exit_codes():
        location = _locate(proxy, config, root, token_file)
        reports = asyncio.run(fetch_agents(location, now()))
        typer.echo(json.dumps(agents_document(reports), indent=2) if as_json else render_agents(reports))


def ban(
    address: _Address,
    proxy: Proxy = None,
    config: OptionalConfigFile = None,
    root: Root = None,
    token_file: TokenFile = None,
) -> None:
    """Stop an agent from leading objects; it still forwards requests to other leaders."""
    with exit_codes():
        location = _locate(proxy, config, root, token_file)
        asyncio.run(change_ban(location, address, True))
        typer.echo(f"{address} is banned")


def unban(
    address: _Address,
    proxy: Proxy = None,
    config: OptionalConfigFile = None,
    root: Root = None,
    token_file: TokenFile = None,
) -> None:
    """Let an agent lead again."""
    with exit_codes():
        location = _locate(proxy, config, root, token_file)
        asyncio.run(change_ban(location, address, False))
        typer.echo(f"{address} is not banned")


def _locate(proxy: str | None, config: Path | None, root: str | None, token_file: Path | None) -> StateLocation:
    configure_logging("error", "console")
    return locate(proxy, config, root, token_file, os.environ.get("YT_PROXY") or DEFAULT_PROXY)


@dataclass(frozen=True, slots=True)
class AgentReport:
    """What there is to know of one agent."""

    address: str
    stage: str | None
    """Of whose agents it is a member; None: it is no member of any."""

    banned: bool
    object_count: int
    """Objects it leads by the mapping."""

    distributes: bool
    """It says which agent leads what."""

    keeps_tables: bool
    """It keeps the tables of queues and consumers."""

    pass_lag: float | None
    """Seconds since its last pass over the state tables began; None: it does not answer."""

    object_lag: float | None
    """Seconds since the last pass of the object that it has not looked at for longest; None: not known, or none."""

    error: str | None
    """Why it does not answer."""


async def fetch_agents(location: StateLocation, now: datetime) -> list[AgentReport]:
    """Ask a cluster for its agents, by address, and each of them for its passes.

    Args:
        location: of the state tables.
        now: what lags are counted to.

    Raises:
        ClusterError: the cluster did not answer.
    """
    root = location.root
    async with location.reach.open(location.name) as cluster:
        instances = (await cluster.run_light([LightCommand.of("list", f"{root}/{INSTANCES}", attributes=["banned"])]))[
            0
        ]
        banned = {str(name): is_true(yson.attributes_of(name).get("banned")) for name in instances["value"]}
        members = dict([member async for member in _members(cluster, root)])
        keeper = await _find_keeper(cluster, root)
        counts = await _count_objects(cluster, root)
        addresses = sorted({*banned, *members, *counts})
        async with asyncio.TaskGroup() as group:
            asked = {address: group.create_task(_ask(cluster, root, address, now)) for address in members}
        passes = [asked[address].result() if address in asked else _SILENT for address in addresses]
    first_of_stage = {
        min((other for other in members if members[other] == stage and not banned.get(other, False)), default=None)
        for stage in set(members.values())
    }
    return [
        AgentReport(
            address=address,
            stage=members.get(address),
            banned=banned.get(address, False),
            object_count=counts.get(address, 0),
            distributes=address in first_of_stage,
            keeps_tables=address == keeper,
            pass_lag=answer.pass_lag,
            object_lag=answer.object_lag,
            error=answer.error,
        )
        for address, answer in zip(addresses, passes, strict=True)
    ]


async def change_ban(location: StateLocation, address: str, banned: bool) -> None:
    """Let an agent lead nothing, or let it lead again, and write that down.

    Raises:
        ClusterError: there is no such agent, or the cluster did not answer.
    """
    root = location.root
    request = ActRequest(ActKind.BAN if banned else ActKind.UNBAN, agent=address)
    async with location.reach.open(location.name) as cluster:
        try:
            async with recorded(location, request, {"becomes": banned}):
                await set_ban(cluster, root, address, banned=banned)
        except ObjectNotFound as error:
            known = await cluster.run_light([LightCommand.of("list", f"{root}/{INSTANCES}")])
            hint = did_you_mean(address, map(str, known[0]["value"]))
            raise ClusterError(f"No agent {address} was ever registered in {root}/{INSTANCES}{hint}") from error


def render_agents(reports: Sequence[AgentReport]) -> str:
    """A table for people."""
    rows = [("AGENT", "STAGE", "STATE", "LEADS", "LAST PASS", "OLDEST OBJECT", "ALSO")]
    rows += [
        (
            report.address,
            report.stage or "-",
            _state(report),
            str(report.object_count),
            _seconds(report.pass_lag),
            _seconds(report.object_lag),
            ", ".join(_duties(report)) or "-",
        )
        for report in reports
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    errors = [f"{report.address}: {report.error}" for report in reports if report.error]
    return "\n".join([*lines, *errors])


def agents_document(reports: Sequence[AgentReport]) -> list[dict[str, Any]]:
    """The same for programs."""
    return [asdict(report) for report in reports]


@dataclass(frozen=True, slots=True)
class _Passes:
    pass_lag: float | None = None
    object_lag: float | None = None
    error: str | None = None


_SILENT: Final = _Passes()


async def _members(cluster: YtCluster, root: str) -> Any:
    try:
        [answer] = await cluster.run_light([LightCommand.of("list", f"{root}/{MEMBERS}")])
    except ObjectNotFound:
        return
    for stage in answer["value"]:
        for lock in await cluster.get(f"{root}/{MEMBERS}/{escape_literal(str(stage))}/@locks"):
            if "child_key" in lock and lock.get("state") == "acquired":
                yield str(lock["child_key"]), str(stage)


async def _find_keeper(cluster: YtCluster, root: str) -> str | None:
    try:
        locks = await cluster.get(f"{root}/{LEADER_LOCK}/@locks")
        for lock in locks:
            if lock.get("mode") == "exclusive" and lock.get("state") == "acquired":
                return str(await cluster.get(f"#{lock['transaction_id']}/@host"))
    except ObjectNotFound:
        return None
    return None


async def _count_objects(cluster: YtCluster, root: str) -> Mapping[str, int]:
    path = f"{root}/queue_agent_object_mapping"
    [rows] = await cluster.select_all(path, [f"[host] from {quote_path(path)}"])
    return Counter(str(row["host"]) for row in rows if isinstance(row["host"], str))


async def _ask(cluster: YtCluster, root: str, address: str, now: datetime) -> _Passes:
    node = f"{root}/{INSTANCES}/{escape_literal(address)}/orchid/queue_agent"
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            answer = await cluster.execute("get", {"path": f"{node}/pass_instant"})
            objects = (await cluster.execute("get", {"path": f"{node}/controller_info/inactive_objects"}))["value"]
    except ClusterError as error:
        return _Passes(error=error.message)
    except TimeoutError:
        return _Passes(error=f"no answer in {_PATIENCE_SECONDS:g} s")
    instant = answer["value"]
    instants = [item["pass_instant"] for kind in _OBJECTS for item in objects.get(kind, ())[:1]]
    return _Passes(
        None if yson.is_null(instant) else _lag(instant, now),
        max((_lag(instant, now) for instant in instants), default=None),
    )


def _lag(instant: str, now: datetime) -> float:
    return max(0.0, (now - datetime.fromisoformat(instant)).total_seconds())


def _state(report: AgentReport) -> str:
    state = "gone" if report.stage is None else "member"
    return f"{state}, banned" if report.banned else state


def _duties(report: AgentReport) -> Iterator[str]:
    if report.distributes:
        yield "distributes"
    if report.keeps_tables:
        yield "keeps tables"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} s"
