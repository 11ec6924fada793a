"""One task of a static export: find the chunks that are due, make their tables, and note how far that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self

from queue_agent.config.exports import QueueExporterConfig
from queue_agent.core.exports.config import ExportConfig, InvalidSchedule
from queue_agent.core.exports.outcome import ExportOutcome
from queue_agent.core.exports.planning import (
    QueueChunk,
    TablePart,
    advance,
    find_future_error,
    find_mismatch,
    finish,
    is_done,
    new_chunk_ids,
    own_progress,
    plan_tables,
)
from queue_agent.core.exports.progress import (
    NOTHING_EXPORTED,
    NULL_ID,
    StoredProgress,
    TabletProgress,
    dropped_indexes,
    identify_tablet,
    keep_tablets,
    recall_tablets,
    without_tablets,
)
from queue_agent.core.exports.schedule import ByCron, EveryPeriod
from queue_agent.core.exports.source import (
    ChunkFacts,
    ExportedQueue,
    TabletChunks,
    find_destination_error,
    find_link_error,
    find_queue_error,
)
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.timestamps import instant_of
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

    tablet_ids: Sequence[str] = ()
    """By index."""

    recounted: Sequence[int] = ()
    """Partitions whose progress no tablet continues: exported rows may be exported again."""

    mismatches: Mapping[int, str] = field(default_factory=dict)
    """Of chunks and progress by tablet index, in words."""

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
    return await _find_progress(task, view, await _find_place(task, view), known)


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
    due = await _find_progress(task, view, place, NOTHING_EXPORTED)
    if isinstance(due, ErrorInfo):
        return due
    try:
        upper_bound = schedule.range_at(int(task.now.timestamp())).begin
        refused = find_future_error(due.progress, upper_bound, task.now)
        if refused is not None:
            return error(refused)
        if is_done(due.progress, upper_bound, task.now):
            return replace(due, is_early=True)
        survey = await _survey(task, view, due)
    except ValueError as caught:
        return error(str(caught))
    tables = plan_tables(
        schedule, survey.progress.last_export_unix_ts, upper_bound, survey.chunks, task.max_table_count
    )
    row_count = sum(chunk.row_count for of_tablet in survey.chunks.values() for chunk in of_tablet)
    return replace(
        due,
        progress=survey.progress,
        tables=tables,
        waiting_row_count=row_count - sum(part.row_count for part in tables),
        recounted=sorted({*due.recounted, *survey.recounted}),
        mismatches=survey.mismatches,
    )


async def _find_progress(
    task: ExportTask, view: ExportView, place: _Place, known: StoredProgress
) -> DueTables | ErrorInfo:
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
    progress = recall_tablets(progress, known)
    due = DueTables(queue, destination.object_id, progress, tablet_ids=place.tablet_ids)
    by_tablet = progress.by_tablet()
    own = [by_tablet.get(tablet_id) for tablet_id in place.tablet_ids]
    left = _left_tablets(due)
    if all(one is not None or index not in left for index, one in enumerate(own)):
        present = keep_tablets(progress, own)
    else:
        present = (await _survey(task, view, due)).progress
    return replace(due, progress=present, recounted=dropped_indexes(progress, present))


def _left_tablets(due: DueTables) -> Mapping[int, TabletProgress]:
    """Progress, by index, that names none of the present tablets."""
    present = set(due.tablet_ids)
    return {index: one for index, one in due.progress.tablets.items() if one.tablet_id not in present}


@dataclass(frozen=True, slots=True)
class _Survey:
    """What the chunks of a queue tell of an export."""

    progress: StoredProgress
    """Of the tablets that the queue has."""

    chunks: Mapping[int, Sequence[QueueChunk]]
    """Those that are not exported, by tablet index."""

    recounted: Sequence[int]
    """Partitions that lack their last exported chunk, and have rows that are exported by their progress."""

    mismatches: Mapping[int, str]
    """By tablet index."""


async def _survey(task: ExportTask, view: ExportView, due: DueTables) -> _Survey:
    tablets, ends = await _look_at_chunks(task, view, due.queue.chunk_list_id)
    # Tablets are those of before and after: so they were when the chunks were listed, or locked.
    if await view.list_tablet_ids(f"#{due.queue.object_id}") != due.tablet_ids or len(tablets) != len(due.tablet_ids):
        raise ClusterError(f"Tablets of {task.queue} have just changed")
    by_tablet, left = due.progress.by_tablet(), _left_tablets(due)
    before = [by_tablet.get(one) or left.get(index, TabletProgress()) for index, one in enumerate(due.tablet_ids)]
    found = await _new_chunks(tablets, ends, [one.last_chunk for one in before], view)
    chunks: dict[int, Sequence[QueueChunk]] = {}
    known: list[TabletProgress | None] = []
    recounted: list[int] = []
    mismatches: dict[int, str] = {}
    for index, one in enumerate(before):
        chunks[index], last_end = found[index]
        own = identify_tablet(one, due.tablet_ids[index], last_end)
        if own is None and one.tablet_id == NULL_ID and last_end is not None:
            own = one  # a mismatch: people decide, and trimming does not count on it
        known.append(own)
        if own is None and last_end is not None:
            [(chunks[index], _)] = await _new_chunks([tablets[index]], [ends[index]], [NULL_ID], view, index)
        if own is None:
            continue
        if last_end is None and chunks[index] and chunks[index][0].row_index < own.row_count:
            recounted.append(index)
        if last_end is not None and (mismatch := find_mismatch(own, last_end)) is not None:
            mismatches[index] = mismatch
    return _Survey(keep_tablets(due.progress, known), chunks, recounted, mismatches)


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
    tablets: Sequence[TabletChunks],
    ends: Sequence[int],
    last_chunks: Sequence[str],
    view: ExportView,
    first_index: int = 0,
) -> Sequence[tuple[Sequence[QueueChunk], int | None]]:
    """The chunks of each tablet after the last exported one, and the index after its last row if the tablet has it.

    Args:
        tablets: neighbours.
        ends: index after the last flushed row of each.
        last_chunks: id of the last exported chunk of each.
        view: by which to look, once for all tablets.
        first_index: index of the first of the tablets.
    """
    new = [new_chunk_ids(tablet.chunk_ids, last) for tablet, last in zip(tablets, last_chunks, strict=True)]
    facts = await view.describe_chunks([chunk_id for ids, _ in new for chunk_id in ids])
    return [
        _place_chunks(index, ids, end, facts, is_last_there=is_last_there)
        for index, ((ids, is_last_there), end) in enumerate(zip(new, ends, strict=True), first_index)
    ]


def _place_chunks(
    index: int, ids: Sequence[str], end: int, facts: Mapping[str, ChunkFacts], *, is_last_there: bool
) -> tuple[Sequence[QueueChunk], int | None]:
    """Chunks of a tablet with their rows, counted from the end, and the index of the first of these rows."""
    row_index = end - sum(facts[one].row_count for one in ids)
    last_end = row_index if is_last_there else None
    chunks: list[QueueChunk] = []
    for chunk_id in ids:
        one = facts[chunk_id]
        chunks.append(QueueChunk(chunk_id, index, row_index, one.row_count, one.max_timestamp, one.data_weight))
        row_index += one.row_count
    return chunks, last_end


async def _work(task: ExportTask, transaction: ExportTransaction, outcome: ExportOutcome, permit: Permit) -> None:
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
