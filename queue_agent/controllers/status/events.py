"""The record of events, written in the background, and read."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Any, Final, NoReturn

from queue_agent.controllers.passes.origins import Origins
from queue_agent.controllers.status.board import Board
from queue_agent.controllers.status.record_writer import Counters, RecordWriter
from queue_agent.controllers.status.write_alert import AlertWords
from queue_agent.core.exports.export_events import EXPORT_KINDS
from queue_agent.core.state.consumer_events import Event, EventQuery, EventSlice, merge_slices
from queue_agent.core.values.event_kinds import EventKind
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError
from queue_agent.ports.events import ActStore, EventObserver, EventPage, EventStore
from queue_agent.ports.passes import Clock

FAILED: Final = "queue_agent_consumer_events_failed"
"""Category of the alert."""

EVENTS_PERIOD: Final = timedelta(seconds=2)

MAX_PER_HOUR: Final = 10_000
"""Of one agent; with more, an hour ends with one event that tells how many are missing."""

MAX_EXPORTS_PER_HOUR: Final = 5000
"""Of them about exports: however many exports there are, losses have room."""

MAX_REMEMBERED: Final = 1000
"""What this agent has noted last, for those who ask while the table cannot be read."""

_WORDS: Final = AlertWords("consumer_events", FAILED, "the record of events", "Cannot write the record of events")
_HOUR: Final = timedelta(hours=1)


class EventKeeper:
    """`ports.EventLog` and `ports.EventSource`: writes what was noted, in passes.

    Args:
        store: where to.
        acts: shown among events.
        board: gets the alert.
        clock, origins: of events and errors.
        observer: hears of what is written.
    """

    def __init__(
        self,
        store: EventStore,
        acts: ActStore,
        board: Board,
        clock: Clock,
        origins: Origins,
        observer: EventObserver,
    ) -> None:
        counters = Counters(observer.events_written, observer.events_dropped, observer.events_failed)
        self._writer = RecordWriter[Event](store.write, _WORDS, board, clock, origins, counters)
        self._store = store
        self._acts = acts
        self._clock = clock
        self._origins = origins
        self._observer = observer
        self._remembered: deque[Event] = deque(maxlen=MAX_REMEMBERED)
        self._hour_ends = clock.now() + _HOUR
        self._noted = 0
        """In this hour."""

        self._exports = 0
        """Of them about exports."""

        self._missing = 0
        """Of this hour."""

    def note(
        self,
        kind: EventKind,
        reason: str,
        queue: CrossClusterRef | None = None,
        consumer: CrossClusterRef | None = None,
        subject: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """See `ports.EventLog`."""
        now = self._clock.now()
        self._begin_hour(now)
        is_export = kind in EXPORT_KINDS
        if self._noted >= MAX_PER_HOUR or (is_export and self._exports >= MAX_EXPORTS_PER_HOUR):
            self._missing += 1
            self._observer.events_dropped(1)
            return
        self._noted += 1
        self._exports += is_export
        self._put(self._make(now, kind, reason, queue, consumer, subject, details or {}))

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        """A pass deals with its failures by itself."""

    async def do_pass(self, pass_index: int) -> None:
        """Write everything noted so far; what cannot be written waits for the next pass."""
        self._begin_hour(self._clock.now())
        await self._writer.do_pass(pass_index)

    async def find(self, query: EventQuery) -> EventPage:
        """See `ports.EventSource`."""
        is_persisted = has_acts = True
        try:
            noted = await self._store.read(query)
        except ClusterError:
            newest = sorted(filter(query.matches, self._remembered), key=lambda event: event.cursor, reverse=True)
            noted = EventSlice(newest[: query.limit], newest[query.limit - 1].cursor if newest[query.limit :] else None)
            is_persisted = False
        try:
            acts = await self._acts.read(query)
        except ClusterError:
            acts, has_acts = EventSlice((), None), False
        whole = merge_slices((noted, acts), query.limit)
        return EventPage(whole.events, whole.end, is_persisted, has_acts)

    def writing(self, run_passes: Callable[[], Coroutine[Any, Any, NoReturn]]) -> AbstractAsyncContextManager[None]:
        """Have passes done while entered, and a last one for what was noted until then."""
        return self._writer.writing(run_passes)

    def _make(
        self,
        now: datetime,
        kind: EventKind,
        reason: str,
        queue: CrossClusterRef | None,
        consumer: CrossClusterRef | None,
        subject: str | None,
        details: Mapping[str, Any],
    ) -> Event:
        origin = self._origins.make(now)
        actor = f"{origin.host}:{origin.pid}"
        return Event(now, origin.trace_id, kind.value, actor, reason, queue, consumer, subject, details)

    def _put(self, event: Event) -> None:
        self._remembered.append(event)
        self._writer.note(event)

    def _begin_hour(self, now: datetime) -> None:
        # A clock that went back begins an hour, too: until then nothing could be noted again.
        if self._hour_ends - _HOUR <= now < self._hour_ends:
            return
        self._hour_ends, self._noted, self._exports = now + _HOUR, 0, 0
        if self._missing:
            reason = f"{self._missing} events of an hour are missing: an agent writes at most {MAX_PER_HOUR:,}, of"
            reason += f" which {MAX_EXPORTS_PER_HOUR:,} may be about exports"
            details = {"event_count": self._missing}
            self._missing = 0
            self._put(self._make(now, EventKind.DROPPED, reason, None, None, None, details))
