"""The console's overview: rows of what is on the board, made while somebody looks, and sent as far as they are new.

Rows of objects to which nothing has happened are not made again. How often anything is sent follows from how much there
is to tell: a viewer of thousands of busy queues hears of them every few seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any, Final

from queue_agent.controllers.status.board import Board
from queue_agent.core.queues.snapshots import ConsumerSnapshot, QueueSnapshot
from queue_agent.core.status.overview_rows import Key, VersionedRows, consumer_row, find_problem, queue_row, worst_first
from queue_agent.core.status.problems import list_alerts
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import UnexpectedError
from queue_agent.isolation import isolate
from queue_agent.ports.passes import Clock
from queue_agent.ports.status import SeriesSource

LEAST_SECONDS: Final = 1.0
"""Between two looks at the board."""

SHARE: Final = 60
"""A look that takes a second is followed by so many without one: 1.7 % of a core, however many look on.

Rows of all agents are put together at the same share, see `stage_overview`.
"""

MOST_SECONDS: Final = 10.0
"""Without a look: news are no older, however dear looks are."""

ROWS_PER_SECOND: Final = 500
"""About 40 kB, compressed."""

OBJECTS_AT_ONCE: Final = 100


class OverviewFeed:
    """Tells of the queues and consumers that are served here.

    Args:
        board: what is known.
        clock: versions begin with the time, so that those of another run of the agent are not taken for ours.
        series: sparklines are made of it.
    """

    def __init__(self, board: Board, clock: Clock, series: SeriesSource) -> None:
        self._board = board
        self._clock = clock
        self._series = series
        self.version = int(clock.now().timestamp() * 1000)
        self._queues = VersionedRows(self.version)
        self._consumers = VersionedRows(self.version)
        self._problems: list[Mapping[str, Any]] = []
        self._problems_version = self.version
        self._problems_of: dict[CrossClusterRef, list[Mapping[str, Any]]] = {}
        self._keys: dict[CrossClusterRef, list[Key]] = {}
        self._seen: dict[CrossClusterRef, object] = {}
        """Snapshot of which the rows were made, unless figures go on changing without another."""
        self._due = 0.0
        self._looking = asyncio.Lock()

    async def wait(self, since: int | None, seconds: float) -> None:
        """Return once there is something newer than a version, or the time is over."""
        clock = asyncio.get_running_loop().time
        end = clock() + seconds
        while True:
            async with self._looking:
                if clock() >= self._due:
                    await self._look()
            if since != self.version or clock() >= end:
                return
            await asyncio.sleep(max(0.0, min(self._due, end) - clock()))

    def changes(self, since: int) -> Mapping[str, Any] | None:
        """What is newer than a version; None if nobody can tell any more."""
        if since > self.version:
            return None
        queues, consumers = self._queues.since(since), self._consumers.since(since)
        if queues is None or consumers is None:
            return None
        gone = [["queue", *key] for key in queues.gone] + [["consumer", *key] for key in consumers.gone]
        return {
            "version": self.version,
            "queues": list(queues.rows.values()),
            "consumers": list(consumers.rows.values()),
            "gone": gone,
            **({"problems": self._problems} if self._problems_version > since else {}),
        }

    async def everything(self) -> Mapping[str, Any]:
        """All rows, with sparklines."""
        version = self.version
        queues, consumers = [], []
        for number, ((cluster, path), row) in enumerate(self._queues.all().items()):
            queues.append({**row, "spark": self._series.queue_spark(CrossClusterRef(cluster, path))})
            if number % OBJECTS_AT_ONCE == 0:
                await asyncio.sleep(0)
        for number, (key, row) in enumerate(self._consumers.all().items()):
            cluster, path, queue_cluster, queue_path, name = key
            consumer, queue = CrossClusterRef(cluster, path, name), CrossClusterRef(queue_cluster, queue_path)
            consumers.append({**row, "spark": self._series.consumer_spark(consumer, queue)})
            if number % OBJECTS_AT_ONCE == 0:
                await asyncio.sleep(0)
        return {
            "version": version,
            "generated_at": encode_instant(self._clock.now()),
            "problems": self._problems,
            "queues": queues,
            "consumers": consumers,
        }

    async def _look(self) -> None:
        clock = asyncio.get_running_loop().time
        version, busy, changed, is_first = self.version + 1, 0.0, 0, not self._keys and not self._seen
        queues, consumers = self._board.queues(), self._board.consumers()
        work = self._work(version, queues, consumers)
        while True:
            started = clock()
            some = list(islice(work, OBJECTS_AT_ONCE))
            busy += clock() - started
            if not some:
                break
            changed += sum(some)
            await asyncio.sleep(0)
        started = clock()
        for known in (self._seen, self._keys, self._problems_of):
            for ref in [ref for ref in known if ref not in queues and ref not in consumers]:
                del known[ref]
        changed += self._queues.keep(version, {(ref.cluster, ref.path) for ref in queues})
        changed += self._consumers.keep(version, {key for ref in consumers for key in self._keys.get(ref, ())})
        problems = [
            *list_alerts(self._board.alerts(), queues.values(), {}, quotas=self._board.quotas()),
            *worst_first(one for some in self._problems_of.values() for one in some),
        ]
        if problems != self._problems:
            self._problems, self._problems_version = problems, version
            changed += max(1, len(problems))  # all of them travel
        if changed:
            self.version = version
        busy += clock() - started
        # What nobody has heard of yet comes to everybody in one piece, and not as news.
        news = 0 if is_first else changed
        self._due = clock() + max(LEAST_SECONDS, min(SHARE * busy, MOST_SECONDS), news / ROWS_PER_SECOND)

    def _work(
        self,
        version: int,
        queues: Mapping[CrossClusterRef, QueueSnapshot],
        consumers: Mapping[CrossClusterRef, ConsumerSnapshot],
    ) -> Iterator[int]:
        """Make rows, an object in each step, and say how many are new."""
        for queue, snapshot in queues.items():
            if self._seen.get(queue) is not snapshot:
                told = isolate("page", queue, partial(self._look_at_queue, version, queue, snapshot))
                yield 0 if isinstance(told, UnexpectedError) else told
        for consumer, consumer_snapshot in consumers.items():
            if self._seen.get(consumer) is not consumer_snapshot:
                told = isolate("page", consumer, partial(self._look_at_consumer, version, consumer, consumer_snapshot))
                yield 0 if isinstance(told, UnexpectedError) else told

    def _look_at_queue(self, version: int, ref: CrossClusterRef, snapshot: QueueSnapshot) -> int:
        row = queue_row(ref, self._board.queue_overview(ref) or {}, _message(snapshot.error))
        if not row["write_rows_rate"]:  # a rate falls by itself
            self._seen[ref] = snapshot
        return self._queues.put(version, (ref.cluster, ref.path), row)

    def _look_at_consumer(self, version: int, ref: CrossClusterRef, snapshot: ConsumerSnapshot) -> int:
        error, changed, is_moving = _message(snapshot.error), 0, False
        entries = self._board.consumer_overview(ref) or ()
        self._keys[ref] = []
        for entry in entries:
            row = consumer_row(ref, entry, error)
            key = (ref.cluster, ref.path, row["queue_cluster"], row["queue_path"], ref.name)
            self._keys[ref].append(key)
            changed += self._consumers.put(version, key, row)
            is_moving = is_moving or bool(row["read_rows_rate"])
        self._problems_of[ref] = [one for one in (find_problem(ref, entry) for entry in entries) if one is not None]
        if not is_moving:
            self._seen[ref] = snapshot
        return changed


def _message(error: ErrorInfo | None) -> str | None:
    return None if error is None else error.message
