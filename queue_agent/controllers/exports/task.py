"""One task of a static export: find the chunks that are due, make their tables, and note how far that is."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self

from queue_agent.config.exports import QueueExporterConfig
from queue_agent.controllers.exports.survey import survey_queue
from queue_agent.core.exports.config import ExportConfig, InvalidSchedule
from queue_agent.core.exports.outcome import ExportOutcome
from queue_agent.core.exports.planning import (
    TablePart,
    advance,
    find_future_error,
    finish,
    is_done,
    own_progress,
    plan_tables,
)
from queue_agent.core.exports.progress import (
    StoredProgress,
    dropped_indexes,
    keep_tablets,
    recall_tablets,
    without_tablets,
)
from queue_agent.core.exports.schedule import ByCron, EveryPeriod
from queue_agent.core.exports.source import ExportedQueue, find_destination_error, find_link_error, find_queue_error
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.timestamps import instant_of
from queue_agent.errors import ActionRefused, ClusterError
from queue_agent.ports.cluster import Permit
from queue_agent.ports.exports import ExportCluster, ExportTransaction, ExportView

_ALREADY_EXISTS = 501


@dataclass(frozen=True, slots=True)
class ExportTask:
    """What is to be done."""

    queue: CrossClusterRef
    name: str
    config: ExportConfig
    now: datetime
    max_table_count: int
    check_row_counts: bool
    origin: Origin

    @classmethod
    def of(
        cls, queue: CrossClusterRef, name: str, config: ExportConfig, options: QueueExporterConfig, origin: Origin
    ) -> Self:
        """A task at the instant of its origin."""
        return cls(
            queue,
            name,
            config,
            origin.instant,
            options.max_exported_table_count_per_task,
            options.enable_row_count_check,
            origin,
        )


@dataclass(frozen=True, slots=True)
class DueTables:
    """What there is to export."""

    queue: ExportedQueue
    directory_id: str
    """Object id of the directory."""

    progress: StoredProgress
    """As it is stored, as far as it is of this queue."""

    tables: Sequence[TablePart] = ()
    waiting_row_count: int = 0
    """Rows of chunks that are in none of the tables."""

    tablet_ids: Sequence[str] = ()
    """By index."""

    recounted: Sequence[int] = ()
    """Partitions whose progress no tablet continues: exported rows may be exported again."""

    mismatches: Mapping[int, str] = field(default_factory=dict)
    """Of chunks and progress by tablet index, in words."""

    is_early: bool = False
    """Nothing can be due yet."""


async def run_export_task(task: ExportTask, cluster: ExportCluster, permit: Permit) -> ExportOutcome:
    """Do all of a task, in one transaction; the outcome says what failed, and the tables made before it stay.

    Args:
        task: to do.
        cluster: of the queue.
        permit: asked right before the transaction is committed.

    Raises:
        ActionRefused: the agent may not lead the queue any more, or it failed since the export was just removed by its
            owner; nothing was made.
    """
    outcome = ExportOutcome()
    title = f"Export of queue {task.queue.path} to {task.config.directory}"
    try:
        async with cluster.exporting(title) as transaction:
            await _work(task, transaction, outcome, permit)
            if outcome.error is not None and not outcome.made:
                await _check_wanted(task, transaction)
    except ActionRefused:
        raise
    except ClusterError as error:
        outcome.after, outcome.made = None, []
        outcome.error = task.origin.cluster_error(error)
    return outcome


async def _check_wanted(task: ExportTask, view: ExportView) -> None:
    if not await view.is_wanted(task.queue.path, task.name, task.config.directory):
        raise ActionRefused("the queue is not to be exported there any more")


async def find_due_tables(task: ExportTask, view: ExportView) -> DueTables | ErrorInfo:
    """Look at queue and directory without a lock; an error: why there can be no export."""
    return await _find_due_tables(task, view, await _find_place(task, view))


async def find_progress(task: ExportTask, view: ExportView, known: StoredProgress) -> DueTables | ErrorInfo:
    """The same without a look for what is due.

    Args:
        task: whose progress is asked for.
        view: by which to look.
        known: what was found before; saves a look at all chunks where the same is written down still.
    """
    due = await _read(task, view, await _find_place(task, view))
    if isinstance(due, ErrorInfo):
        return due
    return await _identify(view, replace(due, progress=recall_tablets(due.progress, known)))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a task finds queue and directory."""

    queue: str
    directory: str
    tablet_ids: Sequence[str]
    """Of the queue by index, asked before anything that they are compared with."""


async def _find_place(task: ExportTask, view: ExportView) -> _Place:
    return _Place(task.queue.path, task.config.directory, await view.list_tablet_ids(task.queue.path))


async def _find_due_tables(task: ExportTask, view: ExportView, place: _Place) -> DueTables | ErrorInfo:
    schedule, error = task.config.schedule, task.origin.error
    if isinstance(schedule, InvalidSchedule):
        return error(f'Cron expression "{schedule.text}" is invalid: {schedule.reason}')
    due = await _read(task, view, place)
    if isinstance(due, ErrorInfo):
        return due
    try:
        upper_bound = schedule.range_at(int(task.now.timestamp())).begin
        refused = find_future_error(due.progress, upper_bound, task.now)
        if refused is not None:
            return error(refused)
        if is_done(due.progress, upper_bound, task.now):
            return replace(await _identify(view, due), is_early=True)
        survey = await survey_queue(view, due.queue, due.progress, due.tablet_ids)
        tables = plan_tables(
            schedule, survey.progress.last_export_unix_ts, upper_bound, survey.chunks, task.max_table_count
        )
    except ValueError as caught:
        return error(str(caught))
    row_count = sum(chunk.row_count for of_tablet in survey.chunks.values() for chunk in of_tablet)
    return replace(
        due,
        progress=survey.progress,
        tables=tables,
        waiting_row_count=row_count - sum(part.row_count for part in tables),
        recounted=sorted({*dropped_indexes(due.progress, survey.progress), *survey.recounted}),
        mismatches=survey.mismatches,
    )


async def _read(task: ExportTask, view: ExportView, place: _Place) -> DueTables | ErrorInfo:
    """Queue, directory and the progress as it is written down, whatever tablets it is of."""
    config, error = task.config, task.origin.error
    queue = await view.describe_queue(place.queue)
    refused = find_queue_error(task.queue.path, queue, config)
    if refused is not None:
        return error(refused)
    destination = await view.read_destination(place.directory)
    refused = find_destination_error(task.queue.path, queue.object_id, config.directory, destination)
    if refused is None and place.directory != config.directory:
        refused = find_link_error(config.directory, place.directory.removeprefix("#"), destination)
    if refused is not None:
        return error(refused)
    try:
        progress = own_progress(StoredProgress.parse(destination.progress), queue.object_id)
    except ValueError as caught:
        return error(str(caught))
    return DueTables(queue, destination.object_id, progress, tablet_ids=place.tablet_ids)


async def _identify(view: ExportView, due: DueTables) -> DueTables:
    """The same with the progress of the tablets that the queue has; chunks are read only if that is necessary."""
    own, left = due.progress.by_tablet(), due.progress.left_of(due.tablet_ids)
    if all(tablet_id in own or index not in left for index, tablet_id in enumerate(due.tablet_ids)):
        present = keep_tablets(due.progress, [own.get(one) for one in due.tablet_ids])
    else:
        present = (await survey_queue(view, due.queue, due.progress, due.tablet_ids)).progress
    return replace(due, progress=present, recounted=dropped_indexes(due.progress, present))


async def _work(task: ExportTask, transaction: ExportTransaction, outcome: ExportOutcome, permit: Permit) -> None:
    started = asyncio.get_running_loop().time()
    tablet_ids = await transaction.list_tablet_ids(task.queue.path)
    queue_id = await transaction.lock_queue(task.queue.path)
    directory_id = await transaction.lock_directory(task.config.directory)
    due = await _find_due_tables(task, transaction, _Place(f"#{queue_id}", f"#{directory_id}", tablet_ids))
    if isinstance(due, ErrorInfo):
        outcome.error = due
        return
    outcome.queue_id, outcome.directory_id, outcome.before = queue_id, due.directory_id, due.progress
    if due.is_early:
        return
    outcome.recounted = due.recounted
    outcome.mismatch_count = len(due.mismatches)
    if due.mismatches and task.check_row_counts:
        outcome.before = without_tablets(due.progress, due.mismatches)  # trimming must not count on it
        outcome.error = task.origin.error(next(iter(due.mismatches.values())))
        return
    progress = await _make_tables(task, due, transaction, directory_id, outcome)
    if outcome.made:
        _check_time_to_live(task.config, asyncio.get_running_loop().time() - started)
    progress = finish(progress, task.now, queue_id, complete=not outcome.skipped)
    await transaction.set_progress(directory_id, progress)
    permit.check()
    await transaction.commit()
    outcome.after = progress


async def _make_tables(
    task: ExportTask, due: DueTables, transaction: ExportTransaction, directory_id: str, outcome: ExportOutcome
) -> StoredProgress:
    """The progress by the tables that were made: the first that fails is the last that is tried."""
    progress, now = due.progress, task.now
    if due.tables and task.config.ttl is not None:
        # The cluster removes tables by its own clock: if the agent's is behind, they must not expire at once.
        now = max(now, instant_of(await transaction.generate_timestamp()))
    for part in due.tables:
        try:
            name = task.config.table_name(part.tick)
            await transaction.make_table(directory_id, name, due.queue, part, _attributes(task, part, now))
        except (ClusterError, ValueError) as error:
            cause = _describe(task, part, error) if isinstance(error, ClusterError) else task.origin.error(str(error))
            outcome.error = task.origin.error(
                "Queue export task part failed", attributes={"export_unix_ts": part.tick}, inner_errors=[cause]
            )
            break
        outcome.made.append(part)
        progress = advance(progress, part, due.tablet_ids)
    outcome.skipped = len(due.tables) - len(outcome.made)
    return progress


def _attributes(task: ExportTask, part: TablePart, now: datetime) -> Mapping[str, Any]:
    expiration_time = task.config.expiration_time(part.tick, now)
    return {} if expiration_time is None else {"expiration_time": encode_instant(expiration_time)}


def _check_time_to_live(config: ExportConfig, seconds: float) -> None:
    """ClusterError if the tables of a task expire as soon as they are published: their rows would be gone."""
    if config.ttl is not None and config.ttl.total_seconds() <= seconds:
        raise ClusterError(
            f'Making the tables took {seconds:.0f} seconds, and "export_ttl" is {config.ttl.total_seconds():g} seconds:'
            " they would expire at once. Nothing is exported until it is longer"
        )


def _describe(task: ExportTask, part: TablePart, error: ClusterError) -> ErrorInfo:
    cause = task.origin.cluster_error(error)
    if error.code != _ALREADY_EXISTS:
        return cause
    schedule = task.config.schedule
    return task.origin.error(
        "Generated output table name uniqueness invariant violated: output table name pattern should be unique for each"
        " export unix ts, you may need to adjust (usually increase) export period or export cron schedule to match your"
        " output table name pattern",
        attributes={
            "output_table_name_pattern": task.config.pattern,
            "export_period": schedule.seconds * 1000 if isinstance(schedule, EveryPeriod) else None,
            "export_cron_expression": schedule.expression.text if isinstance(schedule, ByCron) else None,
            "export_unix_ts": part.tick,
        },
        inner_errors=[cause],
    )
