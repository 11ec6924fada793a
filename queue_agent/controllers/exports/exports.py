"""Static exports of all queues that are led here: when a task is due, and what came of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Final, NoReturn

import structlog

from queue_agent.controllers.exports.task import DueTables, ExportTask, find_due_tables, find_progress, run_export_task
from queue_agent.controllers.passes.origins import Origins, describe_pass_error
from queue_agent.controllers.passes.pass_loop import Schedule, attempt, run_passes
from queue_agent.controllers.status.context import ControllerContext
from queue_agent.core.exports.config import ExportConfig, InvalidSchedule, parse_exports
from queue_agent.core.exports.export_events import find_export_event, flatten_error
from queue_agent.core.exports.outcome import ExportOutcome
from queue_agent.core.exports.preview import ExportingMode, ExportPreview, OneExportPreview
from queue_agent.core.exports.queue_exports import ExportState
from queue_agent.core.exports.schedule import ExportSchedule, TickRange
from queue_agent.core.queues.exports import find_config_error
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.state.rows import QueueRow
from queue_agent.core.values.encoding import encode_duration, encode_instant
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ActionRefused, ClusterError, UnexpectedError
from queue_agent.isolation import isolate
from queue_agent.ports.exports import ExportObserver, ExportView

log = structlog.get_logger(__name__)

KIND: Final = "queue_export_manager"

_Find = Callable[[ExportTask, ExportView], Awaitable[DueTables | ErrorInfo]]

_CONCURRENT_TASKS: Final = 8
"""Of one cluster, so that one that does not answer keeps none of the others waiting; each may have rows in memory."""

_CONCURRENT_TASKS_OF_QUEUE: Final = 2
"""So that a queue with many exports leaves room for other queues."""

_FOR_EVER: Final = timedelta(days=365)
"""Tables may be large; every request has a deadline of its own."""


@dataclass(slots=True, eq=False)
class _Exporter:
    """One export of one queue."""

    state: ExportState
    retry_at: float = 0.0
    """On the clock of the event loop: not before."""

    begun_at: float = 0.0
    """On the same clock: the last task; who has waited longest comes first."""

    task: asyncio.Task[None] | None = None
    looked_tick: int = 0
    """Of the last look while nothing is exported."""

    ticks: tuple[ExportSchedule, TickRange] | None = None
    """Around the last moment that was asked about: to find ticks by a cron expression takes a while."""

    complaint: str | None = None
    """Said of the last look that failed."""

    def stop(self) -> None:
        """Give up what is under way."""
        if self.task is not None:
            self.task.cancel()


class ExportManager:
    """Begins the tasks of exports, and puts on the board how far they are; implements `ports.ExportPlanner`.

    Args:
        context: what it works with.
        origins: of errors.
        observer: hears of every task.
        rate_limit: tasks a second, as of now.
        chance: gives a number from -1 to 1.
    """

    def __init__(
        self,
        context: ControllerContext,
        origins: Origins,
        observer: ExportObserver,
        rate_limit: Callable[[], float],
        chance: Callable[[], float],
    ) -> None:
        self._context = context
        self._clusters = context.export_clusters
        self._origins = origins
        self._observer = observer
        self._throttle = _Throttle(rate_limit)
        self._chance = chance
        self._rows: dict[CrossClusterRef, QueueRow] = {}
        self._exporters: dict[CrossClusterRef, dict[str, _Exporter]] = {}
        self._under_way: Counter[str] = Counter()
        """Tasks by cluster."""

    async def preview(self, queue: CrossClusterRef) -> ExportPreview | None:
        """See `ports.ExportPlanner`."""
        snapshot = self._context.board.find_queue(queue)
        if snapshot is None or snapshot.role is not Role.LEADING:
            return None
        origin = self._origins.make(self._context.clock.now())
        mode = self._context.exporting_mode
        error = find_config_error(snapshot.row, origin)
        if error is not None or snapshot.row.queue_agent_banned:
            return ExportPreview(queue, mode, error or snapshot.exports.error, {})
        configs = parse_exports(snapshot.row.static_export_config)
        previews = {name: await self._preview(queue, name, config, origin) for name, config in configs.items()}
        return ExportPreview(queue, mode, None, previews)

    async def run(self, jitter: Callable[[], float]) -> NoReturn:
        """Look again and again whether anything is due, and have it done; when cancelled, all tasks are given up."""
        async with asyncio.TaskGroup() as tasks:
            await run_passes(
                partial(self._do_pass, tasks),
                lambda: Schedule(self._context.config.queue_exporter.pass_period, self._context.config.pass_timeout),
                partial(self._context.observer.pass_finished, KIND),
                jitter,
            )

    async def _do_pass(self, tasks: asyncio.TaskGroup, pass_index: int) -> None:
        self._match()
        now = asyncio.get_running_loop().time()
        for ref, name, exporter in self._in_turn(now):
            tick = isolate("exports", ref, partial(self._find_due_tick, exporter))
            if isinstance(tick, UnexpectedError):
                exporter.state = replace(
                    exporter.state, error=self._origins.make(self._context.clock.now()).cluster_error(tick)
                )
                self._delay(exporter)
                self._publish(ref)
                continue
            if tick is None or not self._has_room(ref) or not self._may_act(ref):
                continue
            if not self._throttle.take(now):
                return
            self._begin(tasks, ref, name, exporter, tick)

    def _in_turn(self, now: float) -> Sequence[tuple[CrossClusterRef, str, _Exporter]]:
        """Exporters that have nothing under way: one of each queue, then the next of each; who waited longest first."""
        turns = []
        for ref, exporters in self._exporters.items():
            idle = [
                (exporter.begun_at, name, exporter)
                for name, exporter in exporters.items()
                if exporter.task is None and exporter.retry_at <= now
            ]
            for turn, (_, name, exporter) in enumerate(sorted(idle)):  # names are unique: exporters are not compared
                last_begun = max(exporter.begun_at for exporter in exporters.values())
                turns.append((turn, last_begun, ref, name, exporter))
        return [(ref, name, exporter) for _, _, ref, name, exporter in sorted(turns)]

    def _has_room(self, ref: CrossClusterRef) -> bool:
        of_queue = sum(exporter.task is not None for exporter in self._exporters[ref].values())
        return of_queue < _CONCURRENT_TASKS_OF_QUEUE and self._under_way[ref.cluster] < _CONCURRENT_TASKS

    def _match(self) -> None:
        """Have an exporter for each export of each queue led here."""
        board = self._context.board
        wanted = {
            ref: row
            for ref, snapshot in board.all_queues.items()
            if snapshot.role is Role.LEADING
            and (row := board.find_queue_row(ref)) is not None
            and row.static_export_config
            and not row.queue_agent_banned
        }
        gone = self._rows.keys() - wanted.keys()
        changed = {ref: row for ref, row in wanted.items() if self._rows.get(ref) is not row}
        for ref in gone:
            for exporter in self._exporters.pop(ref).values():
                exporter.stop()
            board.forget_exports(ref)
        for ref, row in changed.items():
            if isinstance(isolate("exports", ref, partial(self._configure, ref, row)), UnexpectedError):
                wanted.pop(ref)  # it is tried again in the next pass
                for exporter in self._exporters.pop(ref, {}).values():
                    exporter.stop()
                if ref in self._rows:
                    board.forget_exports(ref)
        self._rows = wanted
        if gone or changed:
            self._observer.exports_kept({ref: self._exporters[ref].keys() for ref in wanted})

    def _configure(self, ref: CrossClusterRef, row: QueueRow) -> None:
        is_wrong = find_config_error(row, self._origins.make(self._context.clock.now())) is not None
        configs = {} if is_wrong else parse_exports(row.static_export_config)
        exporters = self._exporters.setdefault(ref, {})
        is_another = ref in self._rows and self._rows[ref].object_id != row.object_id
        for name, exporter in list(exporters.items()):
            if is_another or name not in configs or configs[name].directory != exporter.state.config.directory:
                exporters.pop(name).stop()
        for name, config in configs.items():
            if name in exporters:
                exporters[name].state = replace(exporters[name].state, config=config)
            else:
                exporters[name] = _Exporter(ExportState(config))
        self._publish(ref)

    def _publish(self, ref: CrossClusterRef) -> None:
        states = {name: exporter.state for name, exporter in self._exporters[ref].items()}
        self._context.board.put_exports(ref, states)

    def _find_due_tick(self, exporter: _Exporter) -> int | None:
        """The tick that has come since the last one an export was done with; None: there is none."""
        schedule = exporter.state.config.schedule
        if isinstance(schedule, InvalidSchedule):
            return 0  # a task tells what is wrong
        second = int(self._context.clock.now().timestamp())
        known = exporter.ticks
        if known is None or known[0] is not schedule or not known[1].begin <= second < known[1].end:
            try:
                known = exporter.ticks = schedule, schedule.range_at(second)
            except ValueError:
                return 0
        tick = known[1].begin
        exports = self._context.exporting_mode is ExportingMode.EXPORT
        # A tick before the last one is due, too: then a clock that was ahead was put right.
        return tick if tick != (exporter.state.last_successful_tick if exports else exporter.looked_tick) else None

    def _may_act(self, ref: CrossClusterRef) -> bool:
        return self._context.leadership.find_hold([ref]) is None

    def _begin(self, tasks: asyncio.TaskGroup, ref: CrossClusterRef, name: str, exporter: _Exporter, tick: int) -> None:
        exporter.begun_at = asyncio.get_running_loop().time()
        self._under_way[ref.cluster] += 1
        exporter.task = tasks.create_task(self._run_task(ref, name, exporter, tick))

    async def _run_task(self, ref: CrossClusterRef, name: str, exporter: _Exporter, tick: int) -> None:
        with structlog.contextvars.bound_contextvars(cluster=ref.cluster, path=ref.path, export_name=name):
            try:
                work = self._export if self._context.exporting_mode is ExportingMode.EXPORT else self._look
                error = await attempt(partial(work, ref, name, exporter, tick), exporter.state.task_index, _FOR_EVER)
                if error is not None:  # a bug: it is in the log
                    origin = self._origins.make(self._context.clock.now())
                    exporter.state = replace(exporter.state, error=describe_pass_error(error, origin))
                    self._delay(exporter)
            finally:
                exporter.task = None
                self._under_way[ref.cluster] -= 1
        if self._exporters.get(ref, {}).get(name) is exporter:
            self._publish(ref)

    async def _export(self, ref: CrossClusterRef, name: str, exporter: _Exporter, tick: int) -> None:
        now = self._context.clock.now()
        exporter.state = replace(
            exporter.state, task_index=exporter.state.task_index + 1, task_instant=encode_instant(now)
        )
        task = self._task(ref, name, exporter.state.config, self._origins.make(now))
        cluster = self._clusters.get(ref.cluster)
        if cluster is None:
            outcome = ExportOutcome(
                error=task.origin.error(f'Cluster "{ref.cluster}" is not known to this queue agent')
            )
        else:
            try:
                outcome = await run_export_task(task, cluster, self._context.leadership.permit([ref]))
            except ActionRefused as error:
                log.info("export left alone", reason=error.message)
                self._delay(exporter)
                return
        directory, failed_before = exporter.state.config.directory, exporter.state.error is not None
        self._note(exporter, outcome, tick)
        self._tell(ref, name, outcome)
        event = find_export_event(name, directory, outcome, failed_before=failed_before)
        if event is not None:
            kind, reason, details = event
            self._context.events.note(kind, reason, queue=ref, details=details)

    def _note(self, exporter: _Exporter, outcome: ExportOutcome, tick: int) -> None:
        progress = outcome.after or outcome.before or exporter.state.progress
        queue_id = outcome.queue_id or exporter.state.queue_id
        exporter.state = replace(
            exporter.state,
            progress=progress,
            queue_id=queue_id,
            directory_id=outcome.directory_id or exporter.state.directory_id,
            error=outcome.error,
            recounted=outcome.recounted,
        )
        if outcome.error is not None:
            self._delay(exporter)
            return
        exporter.state = replace(exporter.state, last_successful_tick=tick)
        self._calm(exporter)

    def _calm(self, exporter: _Exporter) -> None:
        exporter.retry_at = 0.0
        exporter.state = replace(exporter.state, retry_index=0, retry_backoff=0)

    def _delay(self, exporter: _Exporter) -> None:
        failures = exporter.state.retry_index + 1
        backoff = self._context.config.queue_exporter.retry_backoff.after(failures, self._chance())
        exporter.retry_at = asyncio.get_running_loop().time() + backoff.total_seconds()
        exporter.state = replace(exporter.state, retry_index=failures, retry_backoff=encode_duration(backoff))

    def _tell(self, ref: CrossClusterRef, name: str, outcome: ExportOutcome) -> None:
        for part in outcome.made:
            log.info("table exported", export_unix_ts=part.tick, rows=part.row_count, chunks=len(part.chunks))
        if outcome.error is not None:
            log.warning("export failed", error=flatten_error(outcome.error))
        if outcome.mismatch_count:
            log.warning("exported rows do not match chunks", tablets=outcome.mismatch_count)
        if outcome.recounted:
            log.warning("progress not continued, rows may be exported twice", partitions=outcome.recounted)
        self._observer.export_finished(ref, name, outcome)

    async def _look(self, ref: CrossClusterRef, name: str, exporter: _Exporter, tick: int) -> None:
        """Find out how far the export is, and leave it at that."""
        origin = self._origins.make(self._context.clock.now())
        observes = self._context.exporting_mode is ExportingMode.OBSERVE
        task = self._task(ref, name, exporter.state.config, origin)
        find = find_due_tables if observes else partial(find_progress, known=exporter.state.progress)
        due = await self._ask(find, task)
        if isinstance(due, ErrorInfo):
            if exporter.complaint != due.message:
                log.warning("export could not be made", error=flatten_error(due))
            exporter.complaint = due.message
            self._delay(exporter)
            return
        exporter.complaint, exporter.looked_tick = None, tick
        exporter.state = replace(
            exporter.state,
            progress=due.progress,
            queue_id=due.queue.object_id,
            directory_id=due.directory_id,
            error=None,
            recounted=(),  # nothing is exported twice where nothing is exported
        )
        self._calm(exporter)
        if due.tables:
            log.info("export observed", ticks=[part.tick for part in due.tables], waiting_rows=due.waiting_row_count)

    async def _preview(self, ref: CrossClusterRef, name: str, config: ExportConfig, origin: Origin) -> OneExportPreview:
        due = await self._ask(find_due_tables, self._task(ref, name, config, origin))
        if isinstance(due, ErrorInfo):
            return OneExportPreview(config, origin.instant, error=due)
        error = origin.error(next(iter(due.mismatches.values()))) if due.mismatches else None
        return OneExportPreview(
            config, origin.instant, due.tables, due.waiting_row_count, due.progress.last_export_unix_ts, error
        )

    async def _ask(self, find: _Find, task: ExportTask) -> DueTables | ErrorInfo:
        cluster = self._clusters.get(task.queue.cluster)
        if cluster is None:
            return task.origin.error(f'Cluster "{task.queue.cluster}" is not known to this queue agent')
        try:
            return await find(task, cluster.looking())
        except ClusterError as error:
            return task.origin.cluster_error(error)

    def _task(self, ref: CrossClusterRef, name: str, config: ExportConfig, origin: Origin) -> ExportTask:
        return ExportTask.of(ref, name, config, self._context.config.queue_exporter, origin)


class _Throttle:
    """Lets so many begin in a second, and as many at once.

    Args:
        rate: in a second, as of now.
    """

    def __init__(self, rate: Callable[[], float]) -> None:
        self._rate = rate
        self._left = 0.0
        self._filled_at = float("-inf")

    def take(self, now: float) -> bool:
        """Whether one may begin, who then counts."""
        rate = self._rate()
        self._left = min(max(rate, 1.0), self._left + (now - self._filled_at) * rate)
        self._filled_at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
