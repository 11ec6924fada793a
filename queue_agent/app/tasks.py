"""The tasks of an agent's passes, each with log lines that say which passes they are about."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Final

import structlog

from queue_agent.app.parts import Ground, Links, Telling, Wakes
from queue_agent.app.wiring import Managers, Workers
from queue_agent.config.clusters import HistoryConfig
from queue_agent.controllers.consumers.ledger_keeper import KIND as LEDGER
from queue_agent.controllers.consumers.ledger_keeper import LEDGER_PERIOD
from queue_agent.controllers.group.leadership import Leadership
from queue_agent.controllers.group.membership import KIND as MEMBERSHIP
from queue_agent.controllers.passes.pass_loop import Schedule, run_passes
from queue_agent.controllers.passes.pulse import OBJECTS
from queue_agent.controllers.queues.account_watch import KIND as ACCOUNTS
from queue_agent.controllers.queues.account_watch import PERIOD as ACCOUNTS_PERIOD
from queue_agent.controllers.queues.account_watch import TIMEOUT as ACCOUNTS_TIMEOUT
from queue_agent.controllers.rounds.rounds import Rounds
from queue_agent.controllers.state.connections import KIND as CONNECTIONS
from queue_agent.controllers.state.connections import TIMEOUT as CONNECTIONS_TIMEOUT
from queue_agent.controllers.state.dynamic_config import KIND as DYNAMIC_CONFIG
from queue_agent.controllers.state.dynamic_config import DynamicConfig
from queue_agent.controllers.status.board import AGENT, SHARDING, SYNCHRONIZER
from queue_agent.controllers.status.events import EVENTS_PERIOD, EventKeeper
from queue_agent.controllers.status.history import KIND as HISTORY
from queue_agent.controllers.status.history import TIMEOUT as HISTORY_TIMEOUT
from queue_agent.controllers.status.history import HistoryRecorder
from queue_agent.controllers.status.record_writer import RecordWriter
from queue_agent.controllers.status.time_series import KIND as TIME_SERIES
from queue_agent.controllers.status.time_series import PERIOD as TIME_SERIES_PERIOD
from queue_agent.controllers.status.time_series import TIMEOUT as TIME_SERIES_TIMEOUT
from queue_agent.controllers.status.time_series import TimeSeriesRecorder
from queue_agent.controllers.status.trim_book import BOOK_PERIOD
from queue_agent.controllers.status.trim_book import KIND as TRIM_BOOK
from queue_agent.controllers.trimming.journal import JOURNAL_PERIOD
from queue_agent.core.state.trim_journal import TrimRecord

METRICS: Final = "metrics"
OPEN_TELEMETRY: Final = "open_telemetry"
METRICS_TIMEOUT: Final = timedelta(minutes=1)


def write_journal(ground: Ground, journal: RecordWriter[TrimRecord]) -> AbstractAsyncContextManager[None]:
    """While entered, what was noted of trims is written in the background."""
    schedule = Schedule(JOURNAL_PERIOD, ground.config.queue_agent.pass_timeout)
    return journal.writing(lambda: run_passes(journal.do_pass, lambda: schedule, journal.pass_finished, ground.jitter))


def write_events(ground: Ground, events: EventKeeper) -> AbstractAsyncContextManager[None]:
    """While entered, what was noted of events is written in the background."""
    schedule = Schedule(EVENTS_PERIOD, ground.config.queue_agent.pass_timeout)
    return events.writing(lambda: run_passes(events.do_pass, lambda: schedule, events.pass_finished, ground.jitter))


def start_rounds(ground: Ground, links: Links) -> AbstractAsyncContextManager[Rounds]:
    """While entered, objects have passes."""
    alive = partial(ground.pulse.give, OBJECTS)
    return Rounds.running(links.clusters, ground.clock, lambda: ground.timetable.now.controller, ground.jitter, alive)


@dataclass(frozen=True, slots=True)
class PassTasks:
    """Starts passes in a task group."""

    group: asyncio.TaskGroup
    ground: Ground

    def start(
        self,
        kind: str,
        do_pass: Callable[[int], Awaitable[None]],
        find_schedule: Callable[[], Schedule],
        finished: Callable[[int, float, Exception | None], None],
        wake: asyncio.Event | None = None,
        disabled: Callable[[], None] = lambda: None,
    ) -> None:
        """Have passes of a kind done from now on; see `run_passes`."""
        context = contextvars.copy_context()
        context.run(structlog.contextvars.bind_contextvars, kind=kind)
        self.group.create_task(
            run_passes(
                do_pass,
                find_schedule,
                finished,
                self.ground.jitter,
                wake,
                disabled,
                partial(self.ground.pulse.give, kind),
            ),
            context=context,
        )

    async def start_workers(self, wakes: Wakes, telling: Telling, workers: Workers, leadership: Leadership) -> None:
        """What the agent does whatever it leads; the dynamic configuration is looked at once before most of it."""
        config, timetable, membership = self.ground.config, self.ground.timetable, workers.membership
        self.start(MEMBERSHIP, membership.do_pass, lambda: membership.schedule, membership.pass_finished)
        self._start_telling(telling)
        if config.dynamic_config_manager.enable:
            await self._start_dynamic_config(workers.dynamic)
        self.start(
            CONNECTIONS,
            workers.connections.do_pass,
            lambda: Schedule(workers.connections.period, CONNECTIONS_TIMEOUT),
            workers.connections.pass_finished,
        )

        accounts = Schedule(ACCOUNTS_PERIOD, ACCOUNTS_TIMEOUT)
        self.start(ACCOUNTS, workers.accounts.do_pass, lambda: accounts, workers.accounts.pass_finished)

        def synchronizing() -> Schedule:
            schedule = timetable.now.synchronizer
            return replace(schedule, enable=schedule.enable and leadership.keeps_tables)

        self.start(
            SYNCHRONIZER,
            workers.synchronizer.do_pass,
            synchronizing,
            workers.synchronizer.pass_finished,
            wakes.elected,
            # What nobody looks at any more is no cause for alarm.
            disabled=lambda: self.ground.board.put_alerts(SYNCHRONIZER, {}),
        )
        ledger = Schedule(LEDGER_PERIOD, config.queue_agent.pass_timeout)
        self.start(LEDGER, workers.ledger.do_pass, lambda: ledger, workers.ledger.pass_finished)
        trims, book = workers.context.trims, Schedule(BOOK_PERIOD, config.queue_agent.pass_timeout)
        self.start(TRIM_BOOK, trims.do_pass, lambda: book, trims.pass_finished)
        self.group.create_task(workers.exports.run(self.ground.jitter))

    def start_managers(self, wakes: Wakes, workers: Workers, managers: Managers) -> None:
        """What says which objects are led here, and has them led."""
        timetable, agent, sharding = self.ground.timetable, managers.agent, managers.sharding
        self.start(
            SHARDING,
            sharding.do_pass,
            lambda: replace(timetable.now.sharding, enable=workers.membership.takes_part),
            sharding.pass_finished,
            wakes.regroup,
        )
        self.start(AGENT, agent.do_pass, lambda: timetable.now.agent, agent.pass_finished, wakes.written)

    def start_history(self, recorder: HistoryRecorder, config: HistoryConfig) -> None:
        """Samples of what is known."""
        schedule = Schedule(config.period, HISTORY_TIMEOUT)
        self.start(HISTORY, recorder.do_pass, lambda: schedule, recorder.pass_finished)

    def start_time_series(self, recorder: TimeSeriesRecorder) -> None:
        """Figures for charts."""
        schedule = Schedule(TIME_SERIES_PERIOD, TIME_SERIES_TIMEOUT)
        self.start(TIME_SERIES, recorder.do_pass, lambda: schedule, recorder.pass_finished)

    def _start_telling(self, telling: Telling) -> None:
        server, config, finished = telling.server, self.ground.config.metrics, telling.metrics.pass_finished
        self.start(
            METRICS,
            server.do_pass,
            lambda: Schedule(server.period, METRICS_TIMEOUT, server.is_wanted),
            partial(finished, METRICS),
        )
        if telling.push is not None and config.otlp is not None:
            schedule = Schedule(config.otlp.period, METRICS_TIMEOUT)
            self.start(OPEN_TELEMETRY, telling.push.do_pass, lambda: schedule, partial(finished, OPEN_TELEMETRY))

    async def _start_dynamic_config(self, dynamic: DynamicConfig) -> None:
        """Keep it in force; returns after the first look, so that all else begins with it."""
        looked = asyncio.Event()

        def finished(pass_index: int, seconds: float, error: Exception | None) -> None:
            dynamic.pass_finished(pass_index, seconds, error)
            looked.set()

        self.start(DYNAMIC_CONFIG, dynamic.do_pass, lambda: self.ground.timetable.now.dynamic_config, finished)
        await looked.wait()
