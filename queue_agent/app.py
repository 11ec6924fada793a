"""Composition root: configuration to adapters, controllers and one task group."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import structlog

from queue_agent.adapters.http_api import HttpApi
from queue_agent.adapters.metrics import Metrics
from queue_agent.adapters.orchid import OrchidServer
from queue_agent.adapters.state_tables import StateTables
from queue_agent.adapters.yt_cluster import YtCluster
from queue_agent.config import AgentConfig
from queue_agent.controllers.agent import Agent
from queue_agent.controllers.board import Board
from queue_agent.controllers.consumer_controller import ConsumerController
from queue_agent.controllers.context import ControllerContext
from queue_agent.controllers.discovery import Synchronizer
from queue_agent.controllers.fleet import Fleet
from queue_agent.controllers.orchid_tree import OrchidTree
from queue_agent.controllers.origins import Origins, Process
from queue_agent.controllers.pass_loop import Schedule, run_passes
from queue_agent.controllers.queue_controller import QueueController
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.snapshots import Role

log = structlog.get_logger(__name__)


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


async def run_agent(config: AgentConfig, ready: Callable[[Addresses], None]) -> None:
    """Run one agent until cancelled.

    Args:
        config: the whole of it.
        ready: called once, when both servers listen; passes begin after it.

    Raises:
        OSError: a port can not be bound.
    """
    randomness = random.Random()
    async with AsyncExitStack() as stack:
        clock = SystemClock()
        board = Board(config.host, clock)
        metrics = Metrics(board)
        clusters = {
            name: await stack.enter_async_context(YtCluster(name, cluster, metrics))
            for name, cluster in config.clusters.items()
        }
        store = StateTables(clusters[config.state.cluster], config.state.root)
        tree = OrchidTree(board, synchronizer_active=config.cypress_synchronizer.enable)
        rpc = await stack.enter_async_context(OrchidServer(tree, config.rpc.host, config.rpc.port))
        http = await stack.enter_async_context(HttpApi(board, metrics, tree, clock, config.http.host, config.http.port))
        process = Process(config.host, os.getpid(), threading.get_native_id())
        context = ControllerContext(board, clusters, clock, metrics, config.queue_agent.controller)
        jitter = partial(randomness.uniform, 0.75, 1.25)
        controller_schedule = Schedule(
            config.queue_agent.controller.pass_period, config.queue_agent.controller.pass_timeout
        )

        async def run_queue(ref: CrossClusterRef, role: Role) -> None:
            structlog.contextvars.bind_contextvars(cluster=ref.cluster, path=ref.path)
            controller = QueueController(ref, role, context, Origins(process, "Controller:0", randomness))
            await run_passes(controller.do_pass, controller_schedule, controller.pass_finished, jitter)

        async def run_consumer(ref: CrossClusterRef, role: Role) -> None:
            structlog.contextvars.bind_contextvars(cluster=ref.cluster, path=ref.path)
            controller = ConsumerController(ref, role, context, Origins(process, "Controller:0", randomness))
            await run_passes(controller.do_pass, controller_schedule, controller.pass_finished, jitter)

        control = Origins(process, "Control:0", randomness)
        ready(Addresses(rpc.address, f"{config.http.host}:{http.port}"))
        async with asyncio.TaskGroup() as group:
            written = asyncio.Event()
            if config.cypress_synchronizer.enable:
                watched = {name: clusters[name] for name in config.watched_clusters}
                synchronizer = Synchronizer(watched, store, board, written, clock, control, metrics)
                schedule = Schedule(config.cypress_synchronizer.pass_period, config.cypress_synchronizer.pass_timeout)
                group.create_task(run_passes(synchronizer.do_pass, schedule, synchronizer.pass_finished, jitter))
            agent = Agent(
                config.stage,
                store,
                board,
                Fleet(group, run_queue),
                Fleet(group, run_consumer),
                clock,
                control,
                metrics,
            )
            schedule = Schedule(config.queue_agent.pass_period, config.queue_agent.pass_timeout)
            group.create_task(run_passes(agent.do_pass, schedule, agent.pass_finished, jitter, written))


async def run_until_signalled(config: AgentConfig, ready: Callable[[Addresses], None]) -> None:
    """Run one agent until SIGTERM or SIGINT, then stop it and return.

    Raises:
        ExceptionGroup: of what `run_agent` raises.
    """
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with asyncio.TaskGroup() as group:
        agent = group.create_task(run_agent(config, ready))
        await stop.wait()
        log.info("stopping")
        agent.cancel()
