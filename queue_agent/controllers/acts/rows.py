"""A look at some rows of a partition, with the caller's own right to read."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from queue_agent.controllers.acts.row_search import check_timestamps, find_first_rows
from queue_agent.core.access.looks import FromOffset, FromTail, FromTime, Look, Sight
from queue_agent.core.consumers.offset_reset import Bounds
from queue_agent.errors import AccessDenied, ActRefused, ClusterError, ClusterUnavailable
from queue_agent.ports.acts import ActingCluster, Caller, PullLimits
from yt_wire.error import ErrorCode

MAX_BYTES: Final = 1 << 20
SECONDS: Final = 15.0
_READABLE: Final = ("mounted", "frozen")
_CONCURRENT: Final = 4
"""Looks at a time, however many people look: a single row may be large."""


class RowViewer:
    """Looks at rows; for all callers together."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(_CONCURRENT)

    async def look(self, caller: Caller, look: Look) -> Sight:
        """Find rows.

        Raises:
            AccessDenied: the caller may not read the queue.
            ActRefused: there is no such partition, or nobody knows which rows it has.
            ClusterError: the cluster did not tell, or not within `SECONDS`.
        """
        try:
            async with asyncio.timeout(SECONDS), self._slots, caller.clusters({look.queue.cluster}) as clusters:
                return await _look(caller, clusters[look.queue.cluster], look)
        except TimeoutError as error:
            raise ClusterUnavailable(
                f"Rows of {look.queue} did not come within {SECONDS:g} s: ask for fewer", ErrorCode.TIMEOUT
            ) from error


async def _look(caller: Caller, cluster: ActingCluster, look: Look) -> Sight:
    queue, index = look.queue, look.partition_index
    user = caller.user_at(queue.cluster)
    if not await cluster.may(user, "read", queue.path):
        raise AccessDenied(f"User {user} may not read {queue}: ask its owner", ErrorCode.AUTHORIZATION)
    description = await cluster.get_table(queue.path)
    if index >= len(description.tablets):
        raise ActRefused(f"{queue} has {len(description.tablets)} partitions, numbered from 0; there is no {index}")
    state = description.tablets[index].state
    if state not in _READABLE:
        raise ActRefused(f"Partition {index} of {queue} is {state}: its rows cannot be read until it is mounted")
    info = (await cluster.get_tablet_infos(queue.path, [index]))[index]
    ends = info.trimmed_row_count, info.total_row_count
    bounds = Bounds(*ends)
    match look.start:
        case FromOffset(row_index):
            wanted = row_index
        case FromTail(count):
            wanted = bounds.upper_row_index - count
        case FromTime(instant):
            check_timestamps(queue, description)
            wanted = (await find_first_rows(cluster, queue.path, {index: bounds}, instant))[index]
    first = max(wanted, bounds.lower_row_index)
    columns = [column.name for column in description.columns if not column.name.startswith("$")]
    if first >= bounds.upper_row_index:
        return Sight([], columns, *ends, None)
    rows = await cluster.pull_rows(queue.path, index, first, PullLimits(look.limit, MAX_BYTES))
    if not rows:
        return Sight([], columns, *ends, None)
    after = _row_index(rows[-1]) + 1
    return Sight(rows, columns, *ends, after if after < bounds.upper_row_index else None)


def _row_index(row: Mapping[Any, Any]) -> int:
    value = row.get(b"$row_index")
    if not isinstance(value, int):
        raise ClusterError("The cluster gave a row without its index")
    return int(value)
