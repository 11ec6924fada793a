"""Composition root: configuration to adapters, controllers and one task group."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import os
import random
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn

import structlog

from queue_agent.adapters.agent_group import CypressGroup
from queue_agent.adapters.build import VERSION
from queue_agent.adapters.config_document import ConfigDocument
from queue_agent.adapters.history_queue import HistoryQueue
from queue_agent.adapters.http_api import HttpApi
from queue_agent.adapters.metrics import AgentFacts, Metrics
from queue_agent.adapters.metrics_server import MetricsServer
from queue_agent.adapters.orchid import OrchidServer
from queue_agent.adapters.orchid_client import OrchidClient
from queue_agent.adapters.state_tables import StateTable, StateTables
from queue_agent.adapters.trim_journal import TrimJournalTable
from queue_agent.adapters.yt_cluster import YtCluster
from queue_agent.config.agent import AgentConfig
from queue_agent.config.serving import OtlpConfig
from queue_agent.controllers.agent import Agent, Fleets
from queue_agent.controllers.board import AGENT, SHARDING, SYNCHRONIZER, Board
from queue_agent.controllers.connections import KIND as CONNECTIONS
from queue_agent.controllers.connections import TIMEOUT as CONNECTIONS_TIMEOUT
from queue_agent.controllers.connections import Connections
from queue_agent.controllers.consumer_controller import ConsumerController
from queue_agent.controllers.context import ControllerContext
from queue_agent.controllers.departure import Departure, depart
from queue_agent.controllers.discovery import Synchronizer
from queue_agent.controllers.dynamic_config import KIND as DYNAMIC_CONFIG
from queue_agent.controllers.dynamic_config import DynamicConfig
from queue_agent.controllers.fleet import Fleet
from queue_agent.controllers.forwarding import Forwarder
from queue_agent.controllers.history import KIND as HISTORY
from queue_agent.controllers.history import TIMEOUT as HISTORY_TIMEOUT
from queue_agent.controllers.history import HistoryRecorder
from queue_agent.controllers.history_writer import WRITE_PERIOD, HistoryWriter
from queue_agent.controllers.leadership import Leadership
from queue_agent.controllers.membership import KIND as MEMBERSHIP
from queue_agent.controllers.membership import Membership
from queue_agent.controllers.multi_consumer_controller import MultiConsumerController
from queue_agent.controllers.orchid_tree import OrchidTree, TreeFacts
from queue_agent.controllers.origins import Origins, Process
from queue_agent.controllers.pass_loop import Schedule, run_passes
from queue_agent.controllers.queue_controller import QueueController
from queue_agent.controllers.rounds import Rounds
from queue_agent.controllers.sharding import ShardingManager
from queue_agent.controllers.trim_journal import JOURNAL_PERIOD, JournalKeeper
from queue_agent.controllers.trim_preview import TrimPreviewer
from queue_agent.core.encoding import encode_instant
from queue_agent.errors import ConfigError
from queue_agent.ports import Clock

if TYPE_CHECKING:
    from queue_agent.adapters.open_telemetry import OpenTelemetryExport

log = structlog.get_logger(__name__)

_GARBAGE_THRESHOLD: Final = 1_000_000
_FREEZE_SECONDS: Final = 0.2
_GARBAGE_SUSPECTED: Final = 20_000
"""Objects more than at the last freeze: what comes and goes with a pass leaves no more behind than it found."""

_FREEZES: Final = 3000
"""Between looks at everything."""

_CHANNEL_TIMEOUT_SECONDS: Final = 50.0
"""Masters wait a minute for an answer; that of another agent is to be there before."""

METRICS: Final = "metrics"
OPEN_TELEMETRY: Final = "open_telemetry"
METRICS_TIMEOUT: Final = timedelta(minutes=1)

_SHARDING_SLOWDOWN: Final = 2
"""Who leads is to be known soon after a cluster has recovered."""


class SystemClock:
    """`ports.Clock` by the machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 - this is the clock the others are given


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
        tables = (
            StateTable(clusters[table.cluster], table.path)
            for table in (config.state.registrations, config.state.mapping, config.state.hosts)
        )
        store = StateTables(clusters[config.state.cluster], config.state.root, *tables)
        process = Process(config.host, os.getpid(), threading.get_native_id())
        control = Origins(process, "Control:0", randomness)
        written, regroup, elected = asyncio.Event(), asyncio.Event(), asyncio.Event()
        journal = JournalKeeper(
            TrimJournalTable(clusters[config.state.cluster], config.state.root), board, clock, control, metrics
        )
        connections = Connections(clusters, config.state.registrations, board, clock, control, metrics)
        context = ControllerContext(
            board,
            clusters,
            clock,
            metrics,
            config.queue_agent.controller,
            config.trimming_ceiling,
            journal,
            connections,
        )
        schedules = _schedules(config)
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
            schedules = _schedules(changed)
            context.config = changed.queue_agent.controller
            synchronizer.configure(changed.cypress_synchronizer)

        document = ConfigDocument(clusters[config.state.cluster], config.dynamic_config_path)
        dynamic = DynamicConfig(config, document, apply, board, clock, control, metrics)
        apply(dynamic.current)
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
        rpc = await stack.enter_async_context(OrchidServer(tree, config.rpc.host, config.rpc.port))
        # The port may be chosen by the system; nobody is answered before all that follows without a wait is there.
        leadership = Leadership(config.address(rpc.port), config.membership.lease)
        context.leadership = leadership
        members = CypressGroup(clusters[config.state.cluster], config.state.root, config.stage, leadership.address)
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
        planner = TrimPreviewer(context, control)
        http = await stack.enter_async_context(
            HttpApi(board, metrics_server, tree, clock, config.http.host, config.http.port, planner)
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
            port = rpc.address.rpartition(":")[2]
            instance = f"{config.host}:{port}/{os.getpid()}/{encode_instant(clock.now())}"
            history_tables = config.history_tables
            history = HistoryQueue(
                clusters[history_tables.queue.cluster], history_tables, f"{config.stage}/{config.host}:{port}"
            )
            writer = HistoryWriter(history, config.history.max_buffered_bytes, instance, board, clock, control, metrics)
            recorder = HistoryRecorder(board, history, writer, clock, instance, metrics)
            write_schedule = Schedule(WRITE_PERIOD, HISTORY_TIMEOUT)
            await stack.enter_async_context(
                writer.writing(
                    partial(
                        run_passes, writer.do_pass, lambda: write_schedule, writer.pass_finished, jitter, writer.wake
                    )
                )
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
            group.create_task(
                run_passes(membership.do_pass, lambda: membership.schedule, membership.pass_finished, jitter),
                context=_naming(MEMBERSHIP),
            )
            group.create_task(
                run_passes(
                    metrics_server.do_pass,
                    lambda: Schedule(metrics_server.period, METRICS_TIMEOUT, metrics_server.is_wanted),
                    partial(metrics.pass_finished, METRICS),
                    jitter,
                ),
                context=_naming(METRICS),
            )
            if export is not None and config.metrics.otlp is not None:
                export_schedule = Schedule(config.metrics.otlp.period, METRICS_TIMEOUT)
                group.create_task(
                    run_passes(
                        export.do_pass,
                        lambda: export_schedule,
                        partial(metrics.pass_finished, OPEN_TELEMETRY),
                        jitter,
                    ),
                    context=_naming(OPEN_TELEMETRY),
                )
            if config.dynamic_config_manager.enable:
                await _start_dynamic_config(group, dynamic, lambda: schedules.dynamic_config, jitter)
            group.create_task(
                run_passes(
                    connections.do_pass,
                    lambda: Schedule(connections.period, CONNECTIONS_TIMEOUT),
                    connections.pass_finished,
                    jitter,
                ),
                context=_naming(CONNECTIONS),
            )
            group.create_task(
                run_passes(
                    synchronizer.do_pass,
                    lambda: replace(
                        schedules.synchronizer, enable=schedules.synchronizer.enable and membership.keeps_tables
                    ),
                    synchronizer.pass_finished,
                    jitter,
                    elected,
                    # What nobody looks at any more is no cause for alarm.
                    disabled=lambda: board.put_alerts(SYNCHRONIZER, {}),
                ),
                context=_naming(SYNCHRONIZER),
            )
            group.create_task(
                run_passes(
                    sharding.do_pass,
                    lambda: replace(schedules.sharding, enable=membership.takes_part),
                    sharding.pass_finished,
                    jitter,
                    regroup,
                ),
                context=_naming(SHARDING),
            )
            group.create_task(
                run_passes(agent.do_pass, lambda: schedules.agent, agent.pass_finished, jitter, written),
                context=_naming(AGENT),
            )
            if recorder is not None and config.history is not None:
                sample_schedule = Schedule(config.history.period, HISTORY_TIMEOUT)
                group.create_task(
                    run_passes(recorder.do_pass, lambda: sample_schedule, recorder.pass_finished, jitter),
                    context=_naming(HISTORY),
                )


def _open_telemetry(config: AgentConfig, otlp: OtlpConfig, metrics: Metrics, clock: Clock) -> OpenTelemetryExport:
    try:
        from queue_agent.adapters.open_telemetry import OpenTelemetryExport
    except ModuleNotFoundError as error:
        raise ConfigError("metrics.otlp needs more packages: pip install yt-queue-agent[otel]") from error
    attributes = {"service.instance.id": config.host, "ytsaurus.queue_agent.stage": config.stage}
    return OpenTelemetryExport(metrics, otlp, attributes, clock)


def _naming(kind: str) -> contextvars.Context:
    """Log lines of a task in this context say which passes they are about."""
    context = contextvars.copy_context()
    context.run(structlog.contextvars.bind_contextvars, kind=kind)
    return context


async def _start_dynamic_config(
    group: asyncio.TaskGroup,
    dynamic: DynamicConfig,
    find_schedule: Callable[[], Schedule],
    jitter: Callable[[], float],
) -> None:
    """Keep the dynamic configuration in force; returns after the first look at it, so that all else begins with it."""
    looked = asyncio.Event()

    def finished(pass_index: int, seconds: float, error: Exception | None) -> None:
        dynamic.pass_finished(pass_index, seconds, error)
        looked.set()

    group.create_task(run_passes(dynamic.do_pass, find_schedule, finished, jitter), context=_naming(DYNAMIC_CONFIG))
    await looked.wait()


@dataclass(frozen=True, slots=True)
class _Schedules:
    """When passes of each kind happen."""

    agent: Schedule
    sharding: Schedule
    controller: Schedule
    synchronizer: Schedule
    dynamic_config: Schedule


def _schedules(config: AgentConfig) -> _Schedules:
    agent, sharding, controller, synchronizer = (
        Schedule(section.pass_period, section.pass_timeout)
        for section in (
            config.queue_agent,
            config.queue_agent_sharding_manager,
            config.queue_agent.controller,
            config.cypress_synchronizer,
        )
    )
    return _Schedules(
        agent=agent,
        sharding=replace(sharding, max_slowdown=_SHARDING_SLOWDOWN),
        controller=controller,
        synchronizer=replace(synchronizer, enable=config.cypress_synchronizer.enable),
        dynamic_config=Schedule(config.dynamic_config_manager.update_period, config.queue_agent.pass_timeout),
    )


def _config_nodes(config: AgentConfig, dynamic: DynamicConfig) -> Mapping[str, Callable[[], Any]]:
    """Nodes of the agent's tree."""
    return {"config": lambda: config.model_dump(mode="json"), "dynamic_config_manager": dynamic.node}


async def run_until_signalled(config: AgentConfig, ready: Callable[[Addresses], None]) -> None:
    """Run one agent until SIGTERM or SIGINT, then hand over what it leads and return; a second signal cuts that short.

    Raises:
        ExceptionGroup: of what `run_agent` raises.
    """
    loop = asyncio.get_running_loop()
    departure = Departure()

    def stop() -> None:
        (departure.done if departure.wanted.is_set() else departure.wanted).set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    async with asyncio.TaskGroup() as group:
        garbage = group.create_task(_collect_garbage())
        agent = group.create_task(run_agent(config, ready, departure=departure))
        await departure.wanted.wait()
        log.info("stopping")
        with suppress(TimeoutError):
            async with asyncio.timeout(config.membership.hand_over_timeout.total_seconds()):
                await departure.done.wait()
        agent.cancel()
        garbage.cancel()


async def _collect_garbage() -> NoReturn:
    """Keep the garbage collector from looking through all that is in memory.

    It would do so whenever passes have replaced most of it: with very many objects that takes a second, in which nobody
    is served. What is old is frozen, which takes no time; it is still freed by reference counts, and once in a while
    looked through as a whole for cycles that were not garbage yet when they were frozen.
    """
    gc.set_threshold(_GARBAGE_THRESHOLD)
    while True:
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        for _ in range(_FREEZES):
            await asyncio.sleep(_FREEZE_SECONDS)
            if gc.get_count()[0] > _GARBAGE_SUSPECTED:
                gc.collect(0)
            gc.freeze()
