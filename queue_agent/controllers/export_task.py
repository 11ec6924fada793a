"""One task of a static export: find the chunks that are due, make their tables, and note how far that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self

from queue_agent.config.exports import QueueExporterConfig
from queue_agent.core.encoding import encode_instant
from queue_agent.core.error_info import ErrorInfo, Origin
from queue_agent.core.export_config import ExportConfig, InvalidSchedule
from queue_agent.core.export_outcome import ExportOutcome
from queue_agent.core.export_planning import (
    QueueChunk,
    TablePart,
    advance,
    find_mismatch,
    finish,
    new_chunk_ids,
    own_progress,
    plan_tables,
)
from queue_agent.core.export_progress import StoredProgress, TabletProgress
from queue_agent.core.export_schedule import ByCron, EveryPeriod, ExportSchedule
from queue_agent.core.export_source import ExportedQueue, TabletChunks, find_destination_error, find_queue_error
from queue_agent.core.refs import CrossClusterRef
from queue_agent.errors import ActionRefused, ClusterError
from queue_agent.ports.cluster import Permit
from queue_agent.ports.exports import ExportCluster, ExportTransaction, ExportView

_ALREADY_EXISTS = 501
_LOOKS = 3


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

    mismatches: Sequence[str] = ()
    """Of chunks and progress, in words."""

    is_early: bool = False
    """Nothing can be due yet."""


async def run_export_task(task: ExportTask, cluster: ExportCluster, permit: Permit) -> ExportOutcome:
    """Do all of a task, in one transaction; what fails is told in the outcome, and the tables made before it stay.

    Args:
        task: to do.
        cluster: of the queue.
        permit: asked right before the transaction is committed.

    Raises:
        ActionRefused: the agent may not lead the queue any more; nothing was made.
    """
    outcome = ExportOutcome()
    title = f"Export of queue {task.queue.path} to {task.config.directory}"
    try:
        async with cluster.exporting(title) as transaction:
            await _work(task, transaction, outcome, permit)
    except ActionRefused:
        raise
    except ClusterError as error:
        outcome.after, outcome.made = None, []
        outcome.error = task.origin.cluster_error(error)
    return outcome


async def find_due_tables(task: ExportTask, view: ExportView, queue_path: str) -> DueTables | ErrorInfo:
    """Look at queue and directory; an error: why there can be no export."""
    schedule, error = task.config.schedule, task.origin.error
    if isinstance(schedule, InvalidSchedule):
        return error(f'Cron expression "{schedule.text}" is invalid: {schedule.reason}')
    due = await find_progress(task, view, queue_path)
    if isinstance(due, ErrorInfo):
        return due
    try:
        upper_bound = schedule.range_at(int(task.now.timestamp())).begin
        if due.progress.last_export_unix_ts >= upper_bound:
            return replace(due, is_early=True)
        return await _plan(task, schedule, upper_bound, view, due)
    except ValueError as caught:
        return error(str(caught))


async def find_progress(task: ExportTask, view: ExportView, queue_path: str) -> DueTables | ErrorInfo:
    """The same without a look for what is due."""
    config, error = task.config, task.origin.error
    queue = await view.describe_queue(queue_path)
    refused = find_queue_error(task.queue.path, queue, config)
    if refused is not None:
        return error(refused)
    destination = await view.read_destination(config.directory)
    refused = find_destination_error(task.queue.path, queue.object_id, config.directory, destination)
    if refused is not None:
        return error(refused)
    try:
        progress = own_progress(StoredProgress.parse(destination.progress), queue.object_id)
        return DueTables(queue, destination.object_id, progress)
    except ValueError as caught:
        return error(str(caught))


async def _plan(
    task: ExportTask, schedule: ExportSchedule, upper_bound: int, view: ExportView, due: DueTables
) -> DueTables:
    tablets, ends = await _look_at_chunks(task, view, due.queue.chunk_list_id)
    chunks: dict[int, Sequence[QueueChunk]] = {}
    mismatches: list[str] = []
    for index, (tablet, end) in enumerate(zip(tablets, ends, strict=True)):
        known = due.progress.tablets.get(index, TabletProgress())
        chunks[index], mismatch = await _new_chunks(index, tablet, end, known, view)
        if mismatch is not None:
            mismatches.append(mismatch)
    tables = plan_tables(schedule, due.progress.last_export_unix_ts, upper_bound, chunks, task.max_table_count)
    row_count = sum(chunk.row_count for of_tablet in chunks.values() for chunk in of_tablet)
    return replace(
        due,
        tables=tables,
        waiting_row_count=row_count - sum(part.row_count for part in tables),
        mismatches=mismatches,
    )


async def _look_at_chunks(
    task: ExportTask, view: ExportView, chunk_list_id: str
) -> tuple[Sequence[TabletChunks], Sequence[int]]:
    """The chunks of each tablet, and the index after its last flushed row, as they were together.

    By a snapshot they stay as they are; else chunks may come and go between two questions.
    """
    tablets = await view.list_chunks(chunk_list_id)
    for _ in range(_LOOKS):
        ends = await view.get_flushed_row_counts([tablet.chunk_list_id for tablet in tablets])
        before, tablets = tablets, await view.list_chunks(chunk_list_id)
        if tablets == before:
            return tablets, ends
    raise ClusterError(f"Chunks of {task.queue} come and go too fast to be looked at")


async def _new_chunks(
    index: int, tablet: TabletChunks, end: int, known: TabletProgress, view: ExportView
) -> tuple[Sequence[QueueChunk], str | None]:
    """The chunks of a tablet that are not exported, and whether they go on where the progress ends."""
    ids, is_last_there = new_chunk_ids(tablet.chunk_ids, known.last_chunk)
    facts = await view.describe_chunks(ids)
    row_index = end - sum(one.row_count for one in facts.values())
    mismatch = find_mismatch(known, row_index) if is_last_there else None
    chunks: list[QueueChunk] = []
    for chunk_id in ids:
        one = facts[chunk_id]
        chunks.append(QueueChunk(chunk_id, index, row_index, one.row_count, one.max_timestamp, one.data_weight))
        row_index += one.row_count
    return chunks, mismatch


async def _work(task: ExportTask, transaction: ExportTransaction, outcome: ExportOutcome, permit: Permit) -> None:
    queue_id = await transaction.lock_queue(task.queue.path)
    await transaction.lock_directory(task.config.directory)
    due = await find_due_tables(task, transaction, f"#{queue_id}")
    if isinstance(due, ErrorInfo):
        outcome.error = due
        return
    outcome.queue_id, outcome.directory_id, outcome.before = queue_id, due.directory_id, due.progress
    if due.is_early:
        return
    outcome.mismatch_count = len(due.mismatches)
    if due.mismatches and task.check_row_counts:
        outcome.error = task.origin.error(due.mismatches[0])
        return
    progress = await _make_tables(task, due, transaction, outcome)
    progress = finish(progress, task.now, queue_id, complete=not outcome.skipped)
    await transaction.set_progress(task.config.directory, progress)
    permit.check()
    await transaction.commit()
    outcome.after = progress


async def _make_tables(
    task: ExportTask, due: DueTables, transaction: ExportTransaction, outcome: ExportOutcome
) -> StoredProgress:
    """The progress by the tables that were made: the first that fails is the last that is tried."""
    progress = due.progress
    for part in due.tables:
        path = f"{task.config.directory}/{task.config.table_name(part.tick)}"
        try:
            await transaction.make_table(path, due.queue, part, _attributes(task, part))
        except ClusterError as error:
            outcome.error = task.origin.error(
                "Queue export task part failed",
                attributes={"export_unix_ts": part.tick},
                inner_errors=[_describe(task, part, error)],
            )
            break
        outcome.made.append(part)
        progress = advance(progress, part)
    outcome.skipped = len(due.tables) - len(outcome.made)
    return progress


def _attributes(task: ExportTask, part: TablePart) -> Mapping[str, Any]:
    expiration_time = task.config.expiration_time(part.tick)
    return {} if expiration_time is None else {"expiration_time": encode_instant(expiration_time)}


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
