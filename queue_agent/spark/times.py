"""Finds rows by the time at which they were written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from yt.wrapper import YtClient
from yt.wrapper.format import YsonFormat

from queue_agent.spark.connection import client_of
from queue_agent.spark.errors import OptionError
from queue_agent.spark.offsets import PartitionBounds
from queue_agent.spark.options import ReadOptions
from queue_agent.spark.queues import Queue, queue_connection
from queue_agent.spark.time_search import TimeSearch

_TIMESTAMP_BITS: Final = 30
"""Below the seconds of a timestamp."""

_ROWS_OF_A_QUERY: Final = 1000
"""As many single rows one query asks for."""


def first_rows_since(
    options: ReadOptions, queue: Queue, bounds: Mapping[int, PartitionBounds], moment: datetime
) -> dict[int, int]:
    """By partition: the first row written at this moment or later, its upper row index if there is none.

    Asks for single rows of all partitions at once: two rounds where a period begins before or after all rows of a
    partition, and some ten where rows came steadily.

    Raises:
        OptionError: the queue has no `$timestamp`.
    """
    if all(column.name != "$timestamp" for column in queue.info().columns):
        raise OptionError(f'from_time and to_time need the column "$timestamp", which {queue.path} has not; use ranges')
    search = TimeSearch(bounds, int(moment.timestamp()) << _TIMESTAMP_BITS)
    client = client_of(queue_connection(options))
    while probes := search.probes():
        pairs = list(probes.items())
        timestamps: dict[int, int] = {}
        for begin in range(0, len(pairs), _ROWS_OF_A_QUERY):
            timestamps |= _timestamps(client, queue.path, pairs[begin : begin + _ROWS_OF_A_QUERY])
        search.learn(probes, timestamps)
    return search.found()


def _timestamps(client: YtClient, path: str, rows: Sequence[tuple[int, int]]) -> dict[int, int]:
    """By partition: when the row was written. A row that has been trimmed is not among them."""
    keys = ", ".join(f"({index}, {row})" for index, row in rows)
    query = f"[$tablet_index], [$timestamp] from [{path}] where ([$tablet_index], [$row_index]) in ({keys})"
    found = client.select_rows(query, format=YsonFormat())
    return {int(row["$tablet_index"]): int(row["$timestamp"]) for row in found}
