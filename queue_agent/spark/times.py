"""Finds rows by the time at which they were written."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from yt.wrapper.format import YsonFormat

from queue_agent.spark.connection import client_of
from queue_agent.spark.errors import OptionError, QueueUnavailable
from queue_agent.spark.offsets import PartitionBounds
from queue_agent.spark.options import ReadOptions
from queue_agent.spark.queues import Queue, queue_connection

_TIMESTAMP_BITS: Final = 30
"""Below the seconds of a timestamp."""


def first_rows_since(
    options: ReadOptions, queue: Queue, bounds: Mapping[int, PartitionBounds], moment: datetime
) -> dict[int, int]:
    """By partition: the first row written at this moment or later, its upper row index if there is none.

    Asks for single rows, some twenty of a partition with a million of them.

    Raises:
        OptionError: the queue has no `$timestamp`.
    """
    if all(column.name != "$timestamp" for column in queue.info().columns):
        raise OptionError(f'from_time and to_time need the column "$timestamp", which {queue.path} has not; use ranges')
    wanted = int(moment.timestamp()) << _TIMESTAMP_BITS
    return {
        index: bisect_left(_Timestamps(options, queue, index), wanted, bound.lower_row_index, bound.upper_row_index)
        for index, bound in bounds.items()
    }


class _Timestamps:
    """Timestamps of one partition by row index; they never decrease."""

    def __init__(self, options: ReadOptions, queue: Queue, partition_index: int) -> None:
        self._client = client_of(queue_connection(options))
        self._queue = queue
        self._partition_index = partition_index

    def __len__(self) -> int:
        return self._queue.bound(self._partition_index).upper_row_index

    def __getitem__(self, row_index: int) -> int:
        rows = list(
            self._client.pull_queue(
                self._queue.path, row_index, self._partition_index, max_row_count=1, format=YsonFormat()
            )
        )
        if not rows:
            raise QueueUnavailable(f"partition {self._partition_index} of {self._queue.path} gave no row {row_index}")
        return int(rows[0]["$timestamp"])
