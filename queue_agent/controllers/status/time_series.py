"""Time series: once a minute, figures of what is on the board go into memory."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any, Final

from queue_agent.controllers.status.board import Board
from queue_agent.core.status.time_series import TimeSeries, TimeSeriesView
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import UnexpectedError
from queue_agent.isolation import isolate
from queue_agent.ports.passes import Clock, PassObserver

KIND: Final = "time_series"
PERIOD: Final = timedelta(minutes=1)
TIMEOUT: Final = timedelta(minutes=5)

MAX_OBJECTS: Final = 20_000
"""Queues, and consumers in each of their queues: about 100 MB if there are so many."""

OBJECTS_AT_ONCE: Final = 100
REST_FACTOR: Final = 9
"""After each go others have the processor for so many times as long."""

_LONGEST_STEP: Final = 3 * PERIOD
_MILLISECONDS: Final = 1000


class TimeSeriesRecorder:
    """Remembers a day.

    Args:
        board: what is known.
        clock: says which minute it is.
        observer: hears of the passes.
        max_objects: more are not remembered.
    """

    def __init__(self, board: Board, clock: Clock, observer: PassObserver, max_objects: int = MAX_OBJECTS) -> None:
        self._board = board
        self._clock = clock
        self._observer = observer
        self._series = TimeSeries(max_objects)
        self._trimmed: dict[CrossClusterRef, tuple[datetime, int]] = {}
        """Rows that had been removed from each queue, when it was looked at last."""

    async def do_pass(self, pass_index: int) -> None:
        """Note figures of every object that is served here, and forget the others."""
        clock = asyncio.get_running_loop().time
        figures = self._figures()
        seen: set[Hashable] = set()
        while True:
            started = clock()
            some = list(islice(figures, OBJECTS_AT_ONCE))
            if not some:
                break
            now = self._clock.now()
            for key, one in some:
                seen.add(key)
                self._series.record(key, now, one)
            await asyncio.sleep(REST_FACTOR * (clock() - started))
        self._series.keep(seen)
        self._trimmed = {queue: known for queue, known in self._trimmed.items() if queue in seen}

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        """Count it."""
        self._observer.pass_finished(KIND, pass_index, seconds, error)

    @property
    def is_full(self) -> bool:
        """See `SeriesSource`."""
        return self._series.is_full

    def queue_series(self, queue: CrossClusterRef, hours: int) -> TimeSeriesView | None:
        """See `SeriesSource`."""
        return self._series.read(queue, self._clock.now(), hours)

    def consumer_series(self, consumer: CrossClusterRef, queue: CrossClusterRef, hours: int) -> TimeSeriesView | None:
        """See `SeriesSource`."""
        return self._series.read((consumer, queue), self._clock.now(), hours)

    def queue_spark(self, queue: CrossClusterRef) -> Sequence[float | None]:
        """See `SeriesSource`."""
        return self._series.read_spark(queue, "backlog_rows")

    def consumer_spark(self, consumer: CrossClusterRef, queue: CrossClusterRef) -> Sequence[float | None]:
        """See `SeriesSource`."""
        return self._series.read_spark((consumer, queue), "lag_rows")

    def _figures(self) -> Iterator[tuple[Hashable, Mapping[str, float | None]]]:
        # What is on the board is replaced while figures are made of it.
        for queue in list(self._board.queues()):
            overview = isolate("page", queue, partial(self._board.queue_overview, queue))
            if overview is not None and not isinstance(overview, UnexpectedError):
                yield queue, {**_of_queue(overview), "trim_rows_rate": self._find_trim_rate(queue, overview)}
        for consumer in list(self._board.consumers()):
            entries = isolate("page", consumer, partial(self._board.consumer_overview, consumer))
            if entries is not None and not isinstance(entries, UnexpectedError):
                for entry in entries:
                    yield (consumer, CrossClusterRef.parse(entry["queue"])), _of_consumer(entry)

    def _find_trim_rate(self, queue: CrossClusterRef, overview: Mapping[str, Any]) -> float | None:
        """Rows that went from the beginning of a queue since the last look, a second, whoever trimmed them."""
        now, count = self._clock.now(), overview.get("trimmed_row_count")
        known = self._trimmed.pop(queue, None)
        if count is None or (known is None and self._series.is_full):
            return None
        self._trimmed[queue] = now, count
        # A queue that has been made again begins at 0; after a gap the rate would be that of the gap.
        if known is None or count < known[1] or not timedelta(0) < now - known[0] <= _LONGEST_STEP:
            return None
        return float((count - known[1]) / (now - known[0]).total_seconds())


def _of_queue(overview: Mapping[str, Any]) -> Mapping[str, float | None]:
    return {
        "write_rows_rate": overview.get("write_row_count_rate"),
        "write_bytes_rate": overview.get("write_data_weight_rate"),
        "backlog_rows": overview.get("row_count"),
    }


def _of_consumer(entry: Mapping[str, Any]) -> Mapping[str, float | None]:
    lag, loss = entry.get("processing_lag"), entry.get("time_to_loss")
    return {
        "lag_rows": entry.get("unread_row_count"),
        "lag_time": None if lag is None else lag / _MILLISECONDS,
        "read_rows_rate": entry.get("read_row_count_rate"),
        "time_to_loss": None if loss is None else loss["value"],
    }
