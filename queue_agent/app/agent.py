"""Puts the parts of an agent together, and runs them."""

from __future__ import annotations

import asyncio
import os
import random
import threading
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.adapters.exports.yt_exports import YtExports
from queue_agent.adapters.group.agent_group import CypressGroup
from queue_agent.adapters.group.orchid_client import OrchidClient
from queue_agent.adapters.metrics.metrics import AgentFacts, Metrics
from queue_agent.adapters.process.build import VERSION
from queue_agent.adapters.process.system_clock import SystemClock
from queue_agent.adapters.serving.http_api import HttpApi, Planners
from queue_agent.adapters.serving.metrics_server import MetricsServer
from queue_agent.adapters.serving.orchid import OrchidServer
from queue_agent.adapters.state.config_document import ConfigDocument
from queue_agent.adapters.state.state_tables import StateTable, StateTables
from queue_agent.adapters.trimming.trim_journal import TrimJournalTable
from queue_agent.app.history import history_recorder
from queue_agent.app.open_ports import new_gate
from queue_agent.app.schedules import Schedules
from queue_agent.app.tasks import PassTasks
from queue_agent.config.agent import AgentConfig
from queue_agent.config.serving import OtlpConfig
from queue_agent.controllers.consumers.consumer_controller import ConsumerController
from queue_agent.controllers.consumers.multi_consumer_controller import MultiConsumerController
from queue_agent.controllers.exports.exports import ExportManager
from queue_agent.controllers.group.departure import Departure, depart
from queue_agent.controllers.group.leadership import Leadership
from queue_agent.controllers.group.membership import KIND as MEMBERSHIP
from queue_agent.controllers.group.membership import Membership
from queue_agent.controllers.group.sharding import ShardingManager
from queue_agent.controllers.passes.origins import Origins, Process
from queue_agent.controllers.passes.pass_loop import Schedule, run_passes
from queue_agent.controllers.queues.queue_controller import QueueController
from queue_agent.controllers.rounds.agent import Agent, Fleets
from queue_agent.controllers.rounds.fleet import Fleet
from queue_agent.controllers.rounds.rounds import Rounds
from queue_agent.controllers.state.connections import KIND as CONNECTIONS
from queue_agent.controllers.state.connections import TIMEOUT as CONNECTIONS_TIMEOUT
from queue_agent.controllers.state.connections import Connections
from queue_agent.controllers.state.discovery import Synchronizer
from queue_agent.controllers.state.dynamic_config import DynamicConfig
from queue_agent.controllers.status.board import AGENT, SHARDING, SYNCHRONIZER, Board
from queue_agent.controllers.status.context import ControllerContext
from queue_agent.controllers.status.forwarding import Forwarder
from queue_agent.controllers.status.history import KIND as HISTORY
from queue_agent.controllers.status.history import TIMEOUT as HISTORY_TIMEOUT
from queue_agent.controllers.status.orchid_tree import OrchidTree, TreeFacts
from queue_agent.controllers.trimming.fresh_registrations import FreshRegistrations
from queue_agent.controllers.trimming.journal import JOURNAL_PERIOD, JournalKeeper
from queue_agent.controllers.trimming.preview import TrimPreviewer
from queue_agent.errors import ConfigError
from queue_agent.ports.passes import Clock

if TYPE_CHECKING:
    from queue_agent.adapters.metrics.open_telemetry import OpenTelemetryExport

_CHANNEL_TIMEOUT_SECONDS: Final = 50.0
"""Masters wait a minute for an answer; that of another agent is to be there before."""

METRICS: Final = "metrics"
OPEN_TELEMETRY: Final = "open_telemetry"
METRICS_TIMEOUT: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where an agent that is ready can be asked."""

    rpc: str
    """`host:port` as bound."""

    http: str
    """`host:port` as bound."""


async def run_agent(
    config: AgentConfig,
    ready: Callable[[Addresses], None],
    clock: Clock | None = None,
    departure: Departure | None = None,
) -> None:
    """Run one agent until cancelled.

    Args:
        config: the whole of it.
        ready: called once, when both servers listen; passes begin after it.
        clock: time of day; the machine's by default.
        departure: by which the agent can be asked to hand over before it is cancelled.

    Raises:
        ConfigError: packages are missing for what it asks for.
        OSError: a port can not be bound.
    """
    randomness = random.Random()
    async with AsyncExitStack() as stack:
        clock = clock or SystemClock()
        board = Board(config.host, clock)
        metrics = Metrics(
            board,
            config.metrics,
            AgentFacts(
                config.host,
                is_member=lambda: leadership.is_member,
                keeps_tables=lambda: membership.keeps_tables if schedules.synchronizer.enable else None,
                is_banned=lambda: leadership.address in board.group.banned,
            ),
        )
        metrics_server = MetricsServer(metrics, config.metrics)
        board.observe(metrics.counters)
        export = None
        if config.metrics.otlp is not None:
            export = stack.enter_context(closing(_open_telemetry(config, config.metrics.otlp, metrics, clock)))
        clusters = {
            name: await stack.enter_async_context(YtCluster(name, cluster, metrics))
            for name, cluster in config.clusters.items()
        }
        state = clusters[config.state.cluster]
        tables = (
            StateTable(clusters[table.cluster], table.path)
            for table in (config.state.registrations, config.state.mapping, config.state.hosts)
        )
        store = StateTables(state, config.state.root, *tables)
        process = Process(config.host, os.getpid(), threading.get_native_id())
        control = Origins(process, "Control:0", randomness)
        written, regroup, elected = asyncio.Event(), asyncio.Event(), asyncio.Event()
        journal = JournalKeeper(TrimJournalTable(state, config.state.root), board, clock, control, metrics)
        connections = Connections(clusters, config.state.registrations, board, clock, control, metrics)
        schedules = Schedules.of(config)
        synchronizer = Synchronizer(
            clusters,
            config.cypress_synchronizer,
            store,
            board,
            written,
            clock,
            control,
            metrics,
            lambda: membership.keeps_tables,
        )

        def apply(changed: AgentConfig) -> None:
            nonlocal schedules
            # A document that leaves no time to read documents could never be mended.
            schedules = replace(Schedules.of(changed), dynamic_config=schedules.dynamic_config)
            context.config = changed.queue_agent.controller
            synchronizer.configure(changed.cypress_synchronizer)

        document = ConfigDocument(state, config.dynamic_config_path)
        dynamic = DynamicConfig(config, document, apply, board, clock, control, metrics)
        facts = TreeFacts(
            version=VERSION,
            synchronizer_active=lambda: schedules.synchronizer.enable and membership.keeps_tables,
            sharding_active=lambda: sharding.active,
            display_limit=lambda: dynamic.current.queue_agent.inactive_object_display_limit,
            nodes=_config_nodes(config, dynamic) if config.expose_config_in_orchid else {},
        )
        peers = await stack.enter_async_context(OrchidClient())
        forwarder = Forwarder(peers, board, config.membership.lease.total_seconds(), _CHANNEL_TIMEOUT_SECONDS)
        tree = OrchidTree(board, facts, clock, forwarder)
        gate = await stack.enter_async_context(new_gate(config.server_limits))
        rpc = await stack.enter_async_context(OrchidServer(tree, config.rpc.host, config.rpc.port, gate))
        # The port may be chosen by the system; nobody is answered before all that follows without a wait is there.
        leadership = Leadership(config.address(rpc.port), config.membership.lease)
        context = ControllerContext(
            board=board,
            clusters=clusters,
            export_clusters={name: YtExports(cluster) for name, cluster in clusters.items()},
            clock=clock,
            observer=metrics,
            config=config.queue_agent.controller,
            trimming=config.trimming_ceiling,
            static_exports=config.static_exports_ceiling,
            journal=journal,
            connections=connections,
            leadership=leadership,
            registrations=FreshRegistrations(store),
        )
        apply(dynamic.current)
        exports = ExportManager(
            context,
            Origins(process, "Exports:0", randomness),
            metrics.exports,
            lambda: dynamic.current.queue_agent.queue_export_manager.export_rate_limit,
            partial(randomness.uniform, -1.0, 1.0),
        )
        members = CypressGroup(state, config.state.root, config.stage, leadership.address)
        membership = Membership(members, leadership, board, regroup, elected, clock, control, metrics)
        sharding = ShardingManager(
            config.stage,
            members,
            store,
            lambda: agent.state,
            leadership,
            membership,
            lambda: schedules.synchronizer.enable,
            board,
            written,
            clock,
            control,
            metrics,
        )
        planners = Planners(TrimPreviewer(context, control), exports)
        http = await stack.enter_async_context(
            HttpApi(board, metrics_server, tree, clock, config.http.host, config.http.port, gate, planners)
        )
        jitter = partial(randomness.uniform, 0.75, 1.25)
        journal_schedule = Schedule(JOURNAL_PERIOD, config.queue_agent.pass_timeout)
        await stack.enter_async_context(
            journal.writing(
                lambda: run_passes(journal.do_pass, lambda: journal_schedule, journal.pass_finished, jitter)
            )
        )
        recorder = None
        if config.history is not None:
            recorder = await stack.enter_async_context(
                history_recorder(config, config.history, rpc.port, clusters, board, clock, control, metrics, jitter)
            )

        def origins() -> Origins:
            return Origins(process, "Controller:0", randomness)

        ready(Addresses(rpc.address, f"{config.http.host}:{http.port}"))
        async with (
            Rounds.running(clusters, clock, lambda: schedules.controller, jitter) as rounds,
            asyncio.TaskGroup() as group,
        ):
            agent = Agent(
                config.stage,
                store,
                board,
                Fleets(
                    Fleet(rounds, lambda ref, role: QueueController(ref, role, context, origins())),
                    Fleet(rounds, lambda ref, role: ConsumerController(ref, role, context, origins())),
                    Fleet(rounds, lambda ref, role: MultiConsumerController(ref, store, context, origins())),
                ),
                leadership,
                clock,
                control,
                metrics,
                lambda: dynamic.current.queue_agent.handle_replicated_objects,
                regroup,
            )
            if departure is not None:
                group.create_task(depart(departure, members, leadership, membership, board))
            tasks = PassTasks(group, jitter)
            tasks.start(MEMBERSHIP, membership.do_pass, lambda: membership.schedule, membership.pass_finished)
            tasks.start(
                METRICS,
                metrics_server.do_pass,
                lambda: Schedule(metrics_server.period, METRICS_TIMEOUT, metrics_server.is_wanted),
                partial(metrics.pass_finished, METRICS),
            )
            if export is not None and config.metrics.otlp is not None:
                export_schedule = Schedule(config.metrics.otlp.period, METRICS_TIMEOUT)
                tasks.start(
                    OPEN_TELEMETRY,
                    export.do_pass,
                    lambda: export_schedule,
                    partial(metrics.pass_finished, OPEN_TELEMETRY),
                )
            if config.dynamic_config_manager.enable:
                await tasks.start_dynamic_config(dynamic, lambda: schedules.dynamic_config)
            tasks.start(
                CONNECTIONS,
                connections.do_pass,
                lambda: Schedule(connections.period, CONNECTIONS_TIMEOUT),
                connections.pass_finished,
            )
            tasks.start(
                SYNCHRONIZER,
                synchronizer.do_pass,
                lambda: replace(
                    schedules.synchronizer, enable=schedules.synchronizer.enable and membership.keeps_tables
                ),
                synchronizer.pass_finished,
                elected,
                # What nobody looks at any more is no cause for alarm.
                disabled=lambda: board.put_alerts(SYNCHRONIZER, {}),
            )
            tasks.start(
                SHARDING,
                sharding.do_pass,
                lambda: replace(schedules.sharding, enable=membership.takes_part),
                sharding.pass_finished,
                regroup,
            )
            group.create_task(exports.run(jitter))
            tasks.start(AGENT, agent.do_pass, lambda: schedules.agent, agent.pass_finished, written)
            if recorder is not None and config.history is not None:
                sample_schedule = Schedule(config.history.period, HISTORY_TIMEOUT)
                tasks.start(HISTORY, recorder.do_pass, lambda: sample_schedule, recorder.pass_finished)


def _open_telemetry(config: AgentConfig, otlp: OtlpConfig, metrics: Metrics, clock: Clock) -> OpenTelemetryExport:
    try:
        from queue_agent.adapters.metrics.open_telemetry import OpenTelemetryExport
    except ModuleNotFoundError as error:
        raise ConfigError("metrics.otlp needs more packages: pip install yt-queue-agent[otel]") from error
    attributes = {"service.instance.id": config.host, "ytsaurus.queue_agent.stage": config.stage}
    return OpenTelemetryExport(metrics, otlp, attributes, clock)


def _config_nodes(config: AgentConfig, dynamic: DynamicConfig) -> Mapping[str, Callable[[], Any]]:
    """Nodes of the agent's tree."""
    return {"config": lambda: config.model_dump(mode="json"), "dynamic_config_manager": dynamic.node}
