"""Decides which rows a batch is to export, and which it may not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from queue_agent.spark.export.documents import ExportFile, Plan, Range, Replaced
from queue_agent.spark.export.errors import RangeRefused, SourceChanged
from queue_agent.spark.export.state import ExportState
from queue_agent.spark.offsets import PartitionBounds

OnTrimmed = Literal["fail", "skip"]

Period = tuple[datetime | None, datetime | None]
"""A half-open period of time; None leaves an end open."""

ANY_TIME: Final[Period] = (None, None)


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How large a batch, and a task of it, may be."""

    rows_per_partition: int = 5_000_000
    rows_per_task: int = 1_000_000


def plan_export(
    state: ExportState,
    bounds: Mapping[int, PartitionBounds | None],
    target: Mapping[int, int],
    limits: BatchLimits,
    on_trimmed: OnTrimmed,
    starts: Mapping[int, int],
) -> Plan | None:
    """The next rows that are to be exported.

    Args:
        state: what has been exported.
        bounds: rows that every partition has; None for one that cannot be read now.
        target: by partition, one past the last row to be exported; partitions that are absent are left for later.
        limits: of the batch.
        on_trimmed: what to do about rows that are gone: stop, or leave a gap that the manifest tells of.
        starts: where partitions begin of which nothing has been exported; others do at their lowest row.

    Returns:
        None if there is nothing to be done.

    Raises:
        SourceChanged: rows or partitions are missing that should be there.
    """
    check_source(state, bounds)
    ranges, gaps, new = [], [], []
    for index, bound in sorted(bounds.items()):
        if bound is None:
            continue
        begin = state.next_row_indexes.get(index, starts.get(index, bound.lower_row_index))
        if begin > bound.upper_row_index:
            raise SourceChanged(_shorter(index, begin, bound))
        if begin < bound.lower_row_index:
            gaps.append(_gap(index, begin, bound.lower_row_index, on_trimmed))
            begin = bound.lower_row_index
        end = min(target.get(index, begin), bound.upper_row_index, begin + limits.rows_per_partition)
        if begin < end:
            ranges.append(Range(index, begin, end))
            if state.next_row_indexes and index not in state.next_row_indexes:
                new.append(index)
    if not ranges and not gaps:
        return None
    return Plan(state.last_number + 1, "export", ranges, gaps, new, rows_per_task=limits.rows_per_task)


def plan_again(plan: Plan, bounds: Mapping[int, PartitionBounds | None], on_trimmed: OnTrimmed) -> Plan:
    """The plan of a batch that was begun and not finished: the same, but for rows that are gone meanwhile.

    Raises:
        SourceChanged: rows are missing that should be there.
    """
    ranges, gaps = [], list(plan.gaps)
    for rows in plan.ranges:
        index = rows.partition_index
        bound = bounds.get(index, PartitionBounds(0, 0))
        if bound is None:
            ranges.append(rows)  # reading it tells what is wrong
        elif bound.upper_row_index < rows.end:
            raise SourceChanged(_shorter(index, rows.end, bound))
        elif bound.lower_row_index <= rows.begin:
            ranges.append(rows)
        else:
            gone = min(bound.lower_row_index, rows.end)
            gaps.append(_gap(index, rows.begin, gone, on_trimmed))
            if gone < rows.end:
                ranges.append(Range(index, gone, rows.end))
    return Plan(
        plan.number, plan.kind, ranges, gaps, plan.new_partitions, plan.replaces, rows_per_task=plan.rows_per_task
    )


def is_lost(state: ExportState, plan: Plan, bounds: Mapping[int, PartitionBounds | None]) -> bool:
    """Whether a plan that was begun was about rows of the past that are no longer in the queue.

    Such rows are in the export already, or nobody needs them to go on: the plan can be given up.
    """
    for rows in plan.ranges:
        bound = bounds.get(rows.partition_index)
        following = state.next_row_indexes.get(rows.partition_index, rows.begin)
        is_past = plan.kind == "replace" or rows.begin != following
        if is_past and bound is not None and rows.begin < bound.lower_row_index:
            return True
    return False


def check_source(state: ExportState, bounds: Mapping[int, PartitionBounds | None]) -> None:
    """SourceChanged if the queue has not got what was exported of it."""
    gone = sorted(set(state.next_row_indexes) - set(bounds))
    if gone:
        raise SourceChanged(f"partitions {gone} no longer exist: the queue was re-created or has other partitions")
    for index, begin in state.next_row_indexes.items():
        bound = bounds[index]
        if bound is not None and bound.upper_row_index < begin:
            raise SourceChanged(_shorter(index, begin, bound))


def plan_backfill(
    state: ExportState,
    wanted: Iterable[Range],
    bounds: Mapping[int, PartitionBounds | None],
    limits: BatchLimits,
) -> list[Plan]:
    """Plans that bring in rows of before, or the first ones, so that at no time a hole is left.

    Raises:
        RangeRefused: rows are there already, are no more, or do not adjoin those that are there.
    """
    pieces: list[list[Range]] = []
    for rows in sorted(wanted):
        _check_available(rows, bounds)
        index = rows.partition_index
        first, following = state.first_row_indexes.get(index), state.next_row_indexes.get(index)
        if first is not None and following is not None:
            if rows.begin < following and first < rows.end:
                raise RangeRefused(
                    f"rows {rows.begin} to {rows.end - 1} of partition {index} overlap those that are there, "
                    f"{first} to {following - 1}; replacing them is something else"
                )
            if rows.end != first:
                raise RangeRefused(
                    f"rows {rows.begin} to {rows.end - 1} of partition {index} do not adjoin those that are there, "
                    f"{first} to {following - 1}: what lies between would be missing"
                )
        pieces.append(_cut(rows, limits.rows_per_partition, backwards=first is not None))
    count = max(map(len, pieces), default=0)
    return [
        Plan(
            state.last_number + 1 + number,
            "export",
            [own[number] for own in pieces if number < len(own)],
            rows_per_task=limits.rows_per_task,
        )
        for number in range(count)
    ]


def plan_replacement(
    state: ExportState,
    live: Iterable[ExportFile],
    wanted: Iterable[Range],
    bounds: Mapping[int, PartitionBounds | None],
    limits: BatchLimits,
    period: Period = ANY_TIME,
) -> Plan:
    """The plan to read rows once more and to put them in the place of the files that hold them.

    Files are replaced as a whole: the ranges grow to the ends of those they touch.

    Args:
        state: what has been exported.
        live: files that are part of the export.
        wanted: rows.
        bounds: rows that every partition has; None for one that cannot be read now.
        limits: of the batch.
        period: that was asked for, of which `wanted` has the rows that are in the queue.

    Raises:
        RangeRefused: there is nothing to be replaced, or its rows are no more in the queue.
    """
    files = sorted(live, key=lambda file: file.rows)
    for file in files:
        bound = bounds.get(file.rows.partition_index)
        if period != ANY_TIME and bound and file.rows.begin < bound.lower_row_index and _is_of(file, period):
            _check_available(file.rows, bounds)
    ranges: list[Range] = []
    replaced: dict[str, ExportFile] = {}
    for rows in sorted(wanted):
        grown, touched = _grow(rows, files) if rows.row_count else (rows, [])
        if not touched:
            raise RangeRefused(f"no file has rows {rows.begin} to {rows.end - 1} of partition {rows.partition_index}")
        _check_available(grown, bounds)
        replaced |= {file.path: file for file in touched}
        if ranges and ranges[-1].partition_index == grown.partition_index and grown.begin <= ranges[-1].end:
            grown = Range(grown.partition_index, ranges[-1].begin, max(ranges[-1].end, grown.end))
            ranges.pop()
        ranges.append(grown)
    if not ranges:
        raise RangeRefused("the queue has no rows that were asked for, so there is nothing to replace")
    replaces = [Replaced(file.path, file.row_count) for file in replaced.values()]
    return Plan(state.last_number + 1, "replace", ranges, replaces=replaces, rows_per_task=limits.rows_per_task)


def _cut(rows: Range, size: int, *, backwards: bool) -> list[Range]:
    pieces = [
        Range(rows.partition_index, begin, min(begin + size, rows.end)) for begin in range(rows.begin, rows.end, size)
    ]
    return pieces[::-1] if backwards else pieces


def _grow(rows: Range, files: Sequence[ExportFile]) -> tuple[Range, list[ExportFile]]:
    own = [file for file in files if file.rows.partition_index == rows.partition_index]
    touched: list[ExportFile] = []
    begin, end = rows.begin, rows.end
    while True:
        now = [file for file in own if file.rows.begin < end and begin < file.rows.end]
        if len(now) == len(touched):
            break
        touched = now
        begin = min(file.rows.begin for file in touched)
        end = max(file.rows.end for file in touched)
    return Range(rows.partition_index, begin, end), touched


def _is_of(file: ExportFile, period: Period) -> bool:
    """Whether a file may have rows of a period of time."""
    since, until = (None if moment is None else int(moment.timestamp()) << 30 for moment in period)
    return (
        file.min_timestamp is not None
        and file.max_timestamp is not None
        and (since is None or since <= file.max_timestamp)
        and (until is None or file.min_timestamp < until)
    )


def _check_available(rows: Range, bounds: Mapping[int, PartitionBounds | None]) -> None:
    index = rows.partition_index
    bound = bounds.get(index)
    if index not in bounds:
        raise RangeRefused(f"the queue has no partition {index}")
    if bound is None:
        raise RangeRefused(f"partition {index} cannot be read now; is it mounted?")
    if rows.begin < bound.lower_row_index or bound.upper_row_index < rows.end:
        raise RangeRefused(
            f"rows {rows.begin} to {rows.end - 1} of partition {index} are not all in the queue, which has "
            f"{bound.lower_row_index} to {bound.upper_row_index - 1}"
        )


def _gap(index: int, begin: int, end: int, on_trimmed: OnTrimmed) -> Range:
    if on_trimmed == "fail":
        raise SourceChanged(
            f"rows {begin} to {end - 1} of partition {index} were trimmed before they were exported; "
            "with on_trimmed=skip the export resumes after them and reports the gap"
        )
    return Range(index, begin, end)


def _shorter(index: int, begin: int, bound: PartitionBounds) -> str:
    return (
        f"partition {index} ends at row {bound.upper_row_index}, but rows up to {begin - 1} were exported or planned: "
        "the queue was re-created or cut off"
    )
