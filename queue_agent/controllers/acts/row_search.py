"""Finds the first rows that were written at an instant or later."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from queue_agent.core.consumers.offset_reset import Bounds, Search
from queue_agent.core.values.observed import TableDescription
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.timestamps import timestamp_of
from queue_agent.errors import ActRefused
from queue_agent.ports.acts import ActingCluster

_TIMESTAMP: Final = "$timestamp"


def check_timestamps(queue: CrossClusterRef, description: TableDescription) -> None:
    """ActRefused for a queue that does not keep when rows were written."""
    if _TIMESTAMP not in {column.name for column in description.columns}:
        raise ActRefused(f"{queue} has no column {_TIMESTAMP}, so when its rows were written is not known")


async def find_first_rows(
    cluster: ActingCluster, path: str, bounds: Mapping[int, Bounds], instant: datetime
) -> Mapping[int, int]:
    """The first row of each partition that was committed at an instant or later, or its end."""
    limit = timestamp_of(instant)
    searches = {index: Search(one.lower_row_index, one.upper_row_index) for index, one in bounds.items()}
    while rows := {(i, row) for i, search in searches.items() if (row := search.row_index) is not None}:
        answer = await cluster.select_row_values(path, [_TIMESTAMP], rows)
        for index, row in rows:
            searches[index] = searches[index].after(answer[_TIMESTAMP].get((index, row)), limit)
    return {index: search.low for index, search in searches.items()}
