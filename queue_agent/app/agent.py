"""Runs an agent: makes its parts in the order in which they need each other, and starts its passes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass

from queue_agent.adapters.process.system_clock import SystemClock
from queue_agent.app.access import open_counter
from queue_agent.app.history import history_recorder, series_teller
from queue_agent.app.parts import Ground, Wakes, open_entrance, open_links, open_telling
from queue_agent.app.schedules import Timetable
from queue_agent.app.tasks import PassTasks, start_rounds, write_events, write_journal
from queue_agent.app.wiring import open_ports, wire_managers, wire_workers
from queue_agent.config.agent import AgentConfig
from queue_agent.controllers.group.departure import Departure, depart
from queue_agent.controllers.group.leadership import Leadership
from queue_agent.controllers.passes.pulse import Pulse
from queue_agent.controllers.status.board import Board
from queue_agent.controllers.status.time_series import TimeSeriesRecorder
from queue_agent.ports.passes import Clock


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
        ready: called once, when all servers listen; passes begin after it.
        clock: time of day; the machine's by default.
        departure: by which the agent can be asked to hand over before it is cancelled.

    Raises:
        ConfigError: packages are missing for what it asks for.
        OSError: a port cannot be bound.
    """
    clock = clock or SystemClock()
    pulse = Pulse(config.http.hung_after)
    ground, wakes = Ground(config, clock, Board(config.host, clock), Timetable(config), pulse), Wakes()
    async with AsyncExitStack() as stack:
        entrance = await open_entrance(stack, config)
        leadership = Leadership(config.address(entrance.rpc_port), config.membership.lease)
        telling = open_telling(stack, ground, leadership)
        links = await open_links(stack, config, telling.metrics, leadership)
        workers = wire_workers(ground, wakes, telling, links, leadership)
        series = TimeSeriesRecorder(ground.board, clock, telling.metrics)
        counter = await open_counter(stack, ground, entrance, links, telling.metrics)
        teller = await series_teller(stack, ground, links.clusters, series)
        ports = await open_ports(stack, ground, entrance, telling, workers, leadership, series, teller, counter)
        addresses = Addresses(*ports)
        await stack.enter_async_context(write_journal(ground, workers.journal))
        await stack.enter_async_context(write_events(ground, workers.events))
        recorder = None
        if config.history is not None:
            history = history_recorder(
                ground, config.history, entrance.rpc_port, links.clusters, workers.control, telling.metrics
            )
            recorder = await stack.enter_async_context(history)
        ready(addresses)
        async with (
            start_rounds(ground, links) as rounds,
            asyncio.TaskGroup() as group,
        ):
            managers = wire_managers(ground, wakes, telling, links, workers, leadership, rounds)
            if departure is not None:
                group.create_task(
                    depart(departure, links.members, leadership, workers.membership, ground.board, workers.ledger.flush)
                )
            tasks = PassTasks(group, ground)
            await tasks.start_workers(wakes, telling, workers, leadership)
            tasks.start_managers(wakes, workers, managers)
            tasks.start_time_series(series)
            if recorder is not None and config.history is not None:
                tasks.start_history(recorder, config.history)
