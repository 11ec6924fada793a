"""Which chunks of a queue go into which table of a static export."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from queue_agent.core.exports.progress import NOTHING_EXPORTED, NULL_ID, StoredProgress, TabletProgress
from queue_agent.core.exports.schedule import ExportSchedule
from queue_agent.core.values.timestamps import COUNTER_BITS


@dataclass(frozen=True, slots=True)
class QueueChunk:
    """Rows of a tablet that were flushed together."""

    id: str
    tablet_index: int
    row_index: int
    """Of the first row, trimmed rows of the tablet counted."""

    row_count: int
    max_timestamp: int
    data_weight: int = 0

    @property
    def end_row_index(self) -> int:
        return self.row_index + self.row_count


@dataclass(frozen=True, slots=True)
class TablePart:
    """One table to be made."""

    tick: int
    """After which it is named."""

    chunks: Sequence[QueueChunk]
    """By tablet, then by row: so are the rows of the table."""

    @property
    def row_count(self) -> int:
        return sum(chunk.row_count for chunk in self.chunks)


@dataclass(frozen=True, slots=True)
class RowPiece:
    """Rows to be read by one request."""

    tablet_index: int
    rows: range
    data_weight: int
    """Bytes, about."""


def plan_tables(
    schedule: ExportSchedule,
    last_tick: int,
    upper_bound: int,
    chunks: Mapping[int, Sequence[QueueChunk]],
    max_table_count: int,
) -> list[TablePart]:
    """Say which tables are to be made, in the order of their ticks.

    A chunk goes to the first tick after all its rows, but not before those of its tablet that precede it, and never
    into a table that is there already. What belongs to no tick that is over stays for later.

    Args:
        schedule: of the export.
        last_tick: of the last table made; 0 if there is none.
        upper_bound: the last tick there was.
        chunks: by tablet index those not exported yet, in their order.
        max_table_count: the others are left to the next task.

    Raises:
        ValueError: the schedule has no ticks for years.
    """
    after_last = schedule.range_at(last_tick).end if last_tick else last_tick
    by_tick: dict[int, list[QueueChunk]] = {}
    for index in sorted(chunks):
        tick = after_last
        for chunk in chunks[index]:
            tick = max(tick, schedule.range_at(chunk.max_timestamp >> COUNTER_BITS).end)
            if tick > upper_bound:
                break
            by_tick.setdefault(tick, []).append(chunk)
    return [TablePart(tick, by_tick[tick]) for tick in sorted(by_tick)[:max_table_count]]


def advance(progress: StoredProgress, part: TablePart, tablet_ids: Sequence[str]) -> StoredProgress:
    """The progress once a table is made.

    Args:
        progress: that of the same tablets.
        part: the table.
        tablet_ids: by index.
    """
    tablets = dict(progress.tablets)
    for chunk in part.chunks:
        old = tablets.get(chunk.tablet_index, TabletProgress())
        tablets[chunk.tablet_index] = TabletProgress(
            chunk.id,
            max(old.max_timestamp, chunk.max_timestamp),
            chunk.end_row_index,
            old.chunk_count + 1,
            tablet_ids[chunk.tablet_index],
        )
    return replace(progress, tablets=tablets, last_export_unix_ts=part.tick)


def finish(progress: StoredProgress, now: datetime, queue_object_id: str, *, complete: bool) -> StoredProgress:
    """The progress at the end of a task; not complete: a table that was due could not be made."""
    progress = replace(progress, last_export_task_instant=now, queue_object_id=queue_object_id)
    return replace(progress, last_successful_export_task_instant=now) if complete else progress


def own_progress(progress: StoredProgress, queue_object_id: str) -> StoredProgress:
    """What of a progress counts for a queue: that of another one that was exported there before does not."""
    return progress if progress.queue_object_id in (queue_object_id, NULL_ID) else NOTHING_EXPORTED


def find_future_error(progress: StoredProgress, upper_bound: int, now: datetime) -> str | None:
    """Error of an export whose last table has a tick in the future; None if there is no such table.

    A tick between the last tick of the schedule and the present is no error: the period has become longer.

    Args:
        progress: progress of the export.
        upper_bound: the last tick of the schedule, by the agent's clock.
        now: the present, by the agent's clock.
    """
    if progress.last_export_unix_ts <= now.timestamp():
        return None
    return (
        f"The last table has tick {progress.last_export_unix_ts}, which is in the future: the last tick was"
        f" {upper_bound}. The clock of an agent is or was wrong. Exports wait until that tick. Check the clocks; then"
        f' set "last_export_unix_ts" in "queue_static_export_progress" of the directory to {upper_bound}'
    )


def is_done(progress: StoredProgress, upper_bound: int, now: datetime) -> bool:
    """Whether nothing can be due: the table of the last tick is made, and no reported time is in the future."""
    return progress.last_export_unix_ts >= upper_bound and progress.last_export_task_instant <= now


def cut(chunks: Sequence[QueueChunk], max_data_weight: int, max_row_count: int) -> Iterator[RowPiece]:
    """Cut the rows of a table into pieces of about a size at most, in their order; chunks that touch are joined."""
    pending: RowPiece | None = None
    for chunk in chunks:
        for piece in _cut_chunk(chunk, max_data_weight, max_row_count):
            if pending is None:
                pending = piece
            elif (
                pending.tablet_index == piece.tablet_index
                and pending.rows.stop == piece.rows.start
                and pending.data_weight + piece.data_weight <= max_data_weight
                and len(pending.rows) + len(piece.rows) <= max_row_count
            ):
                rows = range(pending.rows.start, piece.rows.stop)
                pending = RowPiece(piece.tablet_index, rows, pending.data_weight + piece.data_weight)
            else:
                yield pending
                pending = piece
    if pending is not None:
        yield pending


def _cut_chunk(chunk: QueueChunk, max_data_weight: int, max_row_count: int) -> Iterator[RowPiece]:
    if chunk.row_count == 0:
        return
    weight = chunk.data_weight / chunk.row_count
    step = min(max_row_count, max(1, int(max_data_weight / weight))) if weight else max_row_count
    for start in range(chunk.row_index, chunk.end_row_index, step):
        rows = range(start, min(start + step, chunk.end_row_index))
        yield RowPiece(chunk.tablet_index, rows, int(len(rows) * weight))
