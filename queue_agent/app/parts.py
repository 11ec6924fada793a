"""What an agent is made of before it does anything: values that hold the parts of one step each, from the ground up."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import threading
from collections.abc import Mapping
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field
from typing import Protocol

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.adapters.group.agent_group import CypressGroup
from queue_agent.adapters.metrics.metrics import AgentFacts, Metrics
from queue_agent.adapters.serving.metrics_server import MetricsServer
from queue_agent.adapters.state.state_tables import StateTable, StateTables
from queue_agent.app.open_ports import new_gate
from queue_agent.app.schedules import Timetable
from queue_agent.config.agent import AgentConfig
from queue_agent.config.serving import OtlpConfig
from queue_agent.controllers.group.leadership import Leadership
from queue_agent.controllers.passes.origins import Origins, Process
from queue_agent.controllers.passes.pass_loop import MOST_JITTER
from queue_agent.controllers.passes.pulse import Pulse
from queue_agent.controllers.status.board import Board
from queue_agent.errors import ConfigError
from queue_agent.ports.passes import Clock
from yt_wire.gate import Gate, bind


@dataclass(frozen=True, slots=True)
class Ground:
    """What everything else is built on."""

    config: AgentConfig
    """Its own; see `DynamicConfig.current` for the one in force."""

    clock: Clock
    board: Board
    timetable: Timetable
    pulse: Pulse
    randomness: random.Random = field(default_factory=random.Random)

    def origins(self, thread: str) -> Origins:
        """Of errors.

        Args:
            thread: name with number, such as `Controller:0`.
        """
        process = Process(self.config.host, os.getpid(), threading.get_native_id())
        return Origins(process, thread, self.randomness)

    def jitter(self) -> float:
        """See `run_passes`."""
        return self.randomness.uniform(0.75, MOST_JITTER)


@dataclass(frozen=True, slots=True)
class Wakes:
    """Events by which one pass lets another begin sooner."""

    written: asyncio.Event = field(default_factory=asyncio.Event)
    """Something was written to the state tables."""

    regroup: asyncio.Event = field(default_factory=asyncio.Event)
    """Who is there, or what is to be led, is not as it was."""

    elected: asyncio.Event = field(default_factory=asyncio.Event)
    """This agent begins to keep the state tables."""


@dataclass(frozen=True, slots=True)
class Entrance:
    """The gate of all ports, and the port by whose number others know this agent."""

    gate: Gate
    rpc: list[socket.socket]
    """Bound; nobody is answered before all that answers is there."""

    @property
    def rpc_port(self) -> int:
        return int(self.rpc[0].getsockname()[1])


class Push(Protocol):
    """What pushes metrics; the module that does it needs an extra."""

    async def do_pass(self, pass_index: int) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Telling:
    """Who hears how things go."""

    metrics: Metrics
    server: MetricsServer
    push: Push | None


@dataclass(frozen=True, slots=True)
class Links:
    """The clusters, and what is kept on that of the state tables."""

    clusters: Mapping[str, YtCluster]
    state: YtCluster
    store: StateTables
    members: CypressGroup


async def open_entrance(stack: AsyncExitStack, config: AgentConfig) -> Entrance:
    """Take the port for RPC; OSError if that is not possible."""
    gate = await stack.enter_async_context(new_gate(config.server_limits))
    listeners = await bind(config.rpc.host, config.rpc.port)
    for listener in listeners:
        stack.callback(listener.close)
    return Entrance(gate, listeners)


def open_telling(stack: AsyncExitStack, ground: Ground, leadership: Leadership) -> Telling:
    """Metrics of everything on the board, and of the agent itself."""
    config, board, timetable = ground.config, ground.board, ground.timetable
    facts = AgentFacts(
        config.host,
        is_member=lambda: leadership.is_member,
        keeps_tables=lambda: leadership.keeps_tables if timetable.now.synchronizer.enable else None,
        is_banned=lambda: leadership.address in board.group.banned,
    )
    metrics = Metrics(board, config.metrics, facts)
    board.observe(metrics.counters)
    push = None
    if config.metrics.otlp is not None:
        push = stack.enter_context(closing(_new_push(config, config.metrics.otlp, metrics, ground.clock)))
    return Telling(metrics, MetricsServer(metrics, config.metrics), push)


def _new_push(config: AgentConfig, otlp: OtlpConfig, metrics: Metrics, clock: Clock) -> Push:
    try:
        from queue_agent.adapters.metrics.open_telemetry import OpenTelemetryExport
    except ModuleNotFoundError as error:
        raise ConfigError("metrics.otlp needs more packages: pip install yt-queue-agent[otel]") from error
    attributes = {"service.instance.id": config.host, "ytsaurus.queue_agent.stage": config.stage}
    return OpenTelemetryExport(metrics, otlp, attributes, clock)


async def open_links(stack: AsyncExitStack, config: AgentConfig, metrics: Metrics, leadership: Leadership) -> Links:
    """Clients of all clusters; nothing is asked yet."""
    clusters = {
        name: await stack.enter_async_context(YtCluster(name, cluster, metrics))
        for name, cluster in config.clusters.items()
    }
    state = clusters[config.state.cluster]
    tables = (
        StateTable(clusters[table.cluster], table.path)
        for table in (config.state.registrations, config.state.mapping, config.state.hosts)
    )
    return Links(
        clusters,
        state,
        StateTables(state, config.state.root, *tables),
        CypressGroup(state, config.state.root, config.stage, leadership.address),
    )
