"""Series for charts: what the agent remembers, and before that what the history has, if there is one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import structlog

from queue_agent.controllers.status.board import Board
from queue_agent.core.status.past_series import join_past
from queue_agent.core.status.time_series import TimeSeriesView
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError, ClusterUnavailable
from queue_agent.ports.history import HistoryReader, Past
from queue_agent.ports.passes import Clock
from queue_agent.ports.status import SeriesSource, ToldSeries
from yt_wire.scope import TaskScope

log = structlog.get_logger(__name__)

WAIT_SECONDS: Final = 1.0
"""For the history; what takes longer is in the next answer."""

READ_SECONDS: Final = 30.0
"""For one object."""

REST_FACTOR: Final = 3
"""After a read, others of the cluster's work have so many times as long."""

MOST_WAITING: Final = 20
"""Objects whose past is being read or waits for its turn; others get an answer without it."""

MOST_KEPT: Final = 200
"""Objects whose past is kept; each has at most 10,000 samples, and usually 1,440."""

_DAY: Final = timedelta(days=1)
_LATE: Final = timedelta(minutes=3)
_RETRY: Final = timedelta(minutes=1)

_TOO_MANY: Final = "This agent remembers as many objects as it has room for, and this is not one of them"
_PENDING: Final = "The history is being read"
_CUT: Final = "The history has so many rows that only the newest were read"


@dataclass(slots=True)
class _Kept:
    asked: datetime
    task: asyncio.Task[Past | ClusterError]

    @property
    def is_good(self) -> bool:
        """Whether it has not failed, so far."""
        return not self.task.done() or isinstance(self.task.result(), Past)


class SeriesTeller:
    """`ports.SeriesTeller`.

    The past of an object is read once: it does not change, and what follows is remembered.

    Args:
        memory: remembers.
        history: None: there is none.
        board: only for objects that are served here the history is read: anybody may ask for any name.
        scope: of reads, which go on if whoever asked does not wait.
        clock: time of day.
    """

    def __init__(
        self, memory: SeriesSource, history: HistoryReader | None, board: Board, scope: TaskScope, clock: Clock
    ) -> None:
        self._memory = memory
        self._board = board
        self._history = history
        self._scope = scope
        self._clock = clock
        self._kept: dict[Hashable, _Kept] = {}
        self._turn = asyncio.Semaphore(1)
        self._waiting = 0

    async def queue_series(self, queue: CrossClusterRef, hours: int) -> ToldSeries:
        """See the port."""
        view, history = self._memory.queue_series(queue, hours), self._history
        is_served = self._board.is_served_queue(queue)
        read = partial(history.read_queue, queue) if history is not None and is_served else None
        return await self._tell(queue, view, hours, read)

    async def consumer_series(self, consumer: CrossClusterRef, queue: CrossClusterRef, hours: int) -> ToldSeries:
        """See the port."""
        view, history = self._memory.consumer_series(consumer, queue, hours), self._history
        queues = {registration.queue for registration in self._board.registrations_of_consumer(consumer)}
        is_served = queue in queues and self._board.is_served_consumer(consumer)
        read = partial(history.read_consumer, consumer, queue) if history is not None and is_served else None
        return await self._tell((consumer, queue), view, hours, read)

    async def _tell(
        self,
        key: Hashable,
        view: TimeSeriesView | None,
        hours: int,
        read: Callable[[datetime], Awaitable[Past]] | None,
    ) -> ToldSeries:
        now = self._clock.now()
        since = now - timedelta(hours=hours)
        until = view.times[0] if view is not None and view.times else now
        note = _TOO_MANY if view is None and self._memory.is_full else None
        if read is None or until <= since + _LATE:
            return ToldSeries(view, None, note)
        task = self._find(key, until, now, read)
        if task is not None:
            await asyncio.wait([task], timeout=WAIT_SECONDS)
        if task is None or not task.done():
            return ToldSeries(view, None, _PENDING)
        past = task.result()
        if isinstance(past, ClusterError):
            return ToldSeries(view, None, f"The history cannot be read: {past}")
        whole = join_past(past.samples, view, since, now)
        is_longer = bool(whole.times) and (view is None or len(whole.times) > len(view.times))
        return ToldSeries(whole, until if is_longer else None, None if past.is_complete else _CUT)

    def _find(
        self, key: Hashable, until: datetime, now: datetime, read: Callable[[datetime], Awaitable[Past]]
    ) -> asyncio.Task[Past | ClusterError] | None:
        """The read of an object's past that reaches as far as what is remembered, or a new one; None: later."""
        kept = self._kept.pop(key, None)
        if kept is None or (until > kept.asked + _LATE if kept.is_good else now > kept.asked + _RETRY):
            if self._waiting >= MOST_WAITING:
                return None
            if len(self._kept) >= MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._waiting += 1
            kept = _Kept(now, self._scope.start(self._contained(read, now - _DAY)))
        self._kept[key] = kept
        return kept.task

    async def _contained(self, read: Callable[[datetime], Awaitable[Past]], since: datetime) -> Past | ClusterError:
        """One read at a time, and a rest for the cluster after it: each may have it look at many rows."""
        clock = asyncio.get_running_loop().time
        try:
            await self._turn.acquire()
            started = clock()
            try:
                async with asyncio.timeout(READ_SECONDS):
                    return await read(since)
            finally:
                asyncio.get_running_loop().call_later(REST_FACTOR * (clock() - started), self._turn.release)
        except ClusterError as error:
            return error
        except TimeoutError:
            return ClusterUnavailable(f"no answer within {READ_SECONDS:.0f} s")
        except Exception as error:
            log.exception("the history makes no sense")
            return ClusterError(f"it makes no sense ({type(error).__name__})")
        finally:
            self._waiting -= 1
