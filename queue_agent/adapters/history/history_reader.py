"""HistoryReader over the history queue, with a limit of rows that the cluster looks at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from queue_agent.adapters.cluster.queries import quote_path, quote_string
from queue_agent.core.status.past_series import MakeSamples, PastTotals, consumer_samples, queue_samples
from queue_agent.core.values.encoding import EPOCH
from queue_agent.core.values.observed import TableDescription, TabletInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.ports.history import Past

MOST_ROWS: Final = 500_000
"""That the cluster looks at for one object. The queue has no index: rows of all objects are in order of time."""

CHUNK_ROWS: Final = 50_000
"""Of one query."""

_MOST_TOTALS: Final = 10_000
_MICROSECOND: Final = timedelta(microseconds=1)

_QUEUE_SUMS: Final = {
    "backlog": "sum([upper] - [lower])",
    "trimmed": "sum([lower])",
    "write_rate": "sum([write_rate])",
    "write_byte_rate": "sum([write_byte_rate])",
}
_CONSUMER_SUMS: Final = {"lag_rows": "sum([lag_rows])", "lag_ms": "max([lag_ms])", "read_rate": "sum([read_rate])"}


class HistoryTable(Protocol):
    """The commands this needs; `YtCluster` has them."""

    async def get_table(self, path: str) -> TableDescription: ...

    async def get_tablet_infos(self, path: str, partition_indexes: Sequence[int]) -> Mapping[int, TabletInfo]: ...

    async def select_all(self, subject: str, queries: Sequence[str]) -> list[list[Mapping[str, Any]]]: ...


class HistoryQueueReader:
    """`ports.HistoryReader`.

    Args:
        cluster: where the queue is.
        path: of the queue.
        most_rows: that are looked at, beginning with the newest.
        chunk_rows: of one query.
    """

    def __init__(
        self, cluster: HistoryTable, path: str, most_rows: int = MOST_ROWS, chunk_rows: int = CHUNK_ROWS
    ) -> None:
        self._cluster = cluster
        self._path = path
        self._most_rows = most_rows
        self._chunk_rows = chunk_rows

    async def read_queue(self, queue: CrossClusterRef, since: datetime) -> Past:
        """See the port."""
        condition = f"[kind] = 'queue' and {_in_queue(queue)}"
        return await self._read(_QUEUE_SUMS, condition, "upper", since, queue_samples)

    async def read_consumer(self, consumer: CrossClusterRef, queue: CrossClusterRef, since: datetime) -> Past:
        """See the port."""
        condition = f"[kind] = 'consumer' and [consumer] = {quote_string(str(consumer))} and {_in_queue(queue)}"
        return await self._read(_CONSUMER_SUMS, condition, "lag_rows", since, consumer_samples)

    async def _read(
        self, sums: Mapping[str, str], condition: str, needed: str, since: datetime, make: MakeSamples
    ) -> Past:
        tablets = range(len((await self._cluster.get_table(self._path)).tablets))
        infos = await self._cluster.get_tablet_infos(self._path, tablets)
        figures = ", ".join(f"{sum_} as {_total(name)}" for name, sum_ in sums.items())
        figures = f"[ts] as instant, sum(if(is_null([{needed}]), 1, 0)) as unreadable, {figures}"
        oldest = (since - EPOCH) // _MICROSECOND
        which = f"{condition} and [ts] >= {oldest}u group by [ts] limit {_MOST_TOTALS}"
        totals: list[PastTotals] = []
        is_complete = True
        for index, info in infos.items():
            upper, read = info.total_row_count, 0
            is_done = upper <= info.trimmed_row_count
            while not is_done and read < self._most_rows // len(infos):
                lower = max(upper - self._chunk_rows, info.trimmed_row_count)
                of_tablet = f"from {quote_path(self._path)} where [$tablet_index] = {index}"
                in_chunk = f"[$row_index] >= {lower} and [$row_index] < {upper}"
                queries = [
                    f"{figures} {of_tablet} and {in_chunk} and {which}",
                    f"[ts] {of_tablet} and [$row_index] = {lower}",
                ]
                rows, first = await self._cluster.select_all(self._path, queries)
                totals += [_read_totals(row, sums) for row in rows]
                read += upper - lower
                is_done = lower == info.trimmed_row_count or not first or int(first[0]["ts"]) < oldest
                upper = lower
            is_complete = is_complete and is_done
        return Past(make(_merged(totals)), is_complete)


def _in_queue(queue: CrossClusterRef) -> str:
    return f"[cluster] = {quote_string(queue.cluster)} and [queue] = {quote_string(queue.path)}"


def _total(name: str) -> str:
    """A name that no column has: the query would take it for the sum everywhere."""
    return f"total_{name}"


def _read_totals(row: Mapping[str, Any], sums: Mapping[str, str]) -> PastTotals:
    instant = EPOCH + timedelta(microseconds=int(row["instant"]))
    totals = {name: row.get(_total(name)) for name in sums}
    found = {name: None if total is None else float(total) for name, total in totals.items()}
    return PastTotals(instant, not row["unreadable"], found)


def _merged(totals: Sequence[PastTotals]) -> list[PastTotals]:
    """Ascending. A pass whose rows are in two chunks is left out: neither sum is whole."""
    by_instant: dict[datetime, list[PastTotals]] = {}
    for one in totals:
        by_instant.setdefault(one.instant, []).append(one)
    return [some[0] for _, some in sorted(by_instant.items()) if len(some) == 1]
