"""Decides which rows a task of Spark reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from queue_agent.spark.pulling import RowRange

_ROWS_OF_A_REQUEST: Final = 1000
"""A range costs as much as reading so many rows, however few it has: it is one request at least."""

_SMALL_TASK: Final = 20_000
"""Rows, requests included, below which ranges share a task: starting one costs as much as reading them."""


def plan_tasks(ranges: Sequence[RowRange], rows_per_task: int) -> list[tuple[RowRange, ...]]:
    """Cut ranges with many rows, and put those with few together, in their order.

    Args:
        ranges: none of them empty.
        rows_per_task: the most rows that one task may have.
    """
    tasks: list[tuple[RowRange, ...]] = []
    gathered: list[RowRange] = []
    cost = 0
    for piece in _cut(ranges, rows_per_task):
        rows = piece.end - piece.begin
        full = cost + rows + _ROWS_OF_A_REQUEST > _SMALL_TASK or sum(_count(gathered)) + rows > rows_per_task
        if gathered and full:
            tasks.append(tuple(gathered))
            gathered, cost = [], 0
        gathered.append(piece)
        cost += rows + _ROWS_OF_A_REQUEST
    if gathered:
        tasks.append(tuple(gathered))
    return tasks


def _cut(ranges: Sequence[RowRange], rows_per_task: int) -> Iterator[RowRange]:
    for rows in ranges:
        for begin in range(rows.begin, rows.end, rows_per_task):
            end = min(begin + rows_per_task, rows.end)
            yield RowRange(rows.partition_index, begin, end, rows.object_id)


def _count(ranges: Sequence[RowRange]) -> Iterator[int]:
    return (rows.end - rows.begin for rows in ranges)
