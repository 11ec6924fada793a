"""Events of queues and consumers: written down, and asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from queue_agent.core.state.consumer_events import Event, EventQuery, EventSlice
from queue_agent.core.values.event_kinds import EventKind
from queue_agent.core.values.refs import CrossClusterRef


class EventStore(Protocol):
    """Where events are kept; raises `ClusterError` like a cluster."""

    async def write(self, events: Collection[Event]) -> None:
        """Add events in one transaction; one that is there already is written again as it was."""
        ...

    async def read(self, query: EventQuery) -> EventSlice:
        """The newest events that a query asks for."""
        ...


class ActStore(Protocol):
    """Acts as events; raises `ClusterError` like a cluster."""

    async def read(self, query: EventQuery) -> EventSlice:
        """The newest acts that a query asks for."""
        ...


class EventLog(Protocol):
    """Takes notes of events."""

    def note(
        self,
        kind: EventKind,
        reason: str,
        queue: CrossClusterRef | None = None,
        consumer: CrossClusterRef | None = None,
        subject: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """Remember what has just happened; it will be written soon, if it can be. See `Event`."""
        ...


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events that were asked for."""

    events: Sequence[Event]
    """Newest first."""

    next: str | None
    """Cursor to ask for older ones; None: there are none."""

    is_persisted: bool
    """False: the table cannot be read, and these are what this agent has noted itself since it started."""

    has_acts: bool = True
    """False: acts were asked for, and the audit journal cannot be read."""


class EventSource(Protocol):
    """Tells what happened."""

    async def find(self, query: EventQuery) -> EventPage:
        """What a query asks for."""
        ...


class EventObserver(Protocol):
    """Hears of the record of events; metrics do."""

    def events_written(self, count: int) -> None:
        """So many events were written."""
        ...

    def events_dropped(self, count: int) -> None:
        """So many events were too many, or could not be written for too long."""
        ...

    def events_failed(self) -> None:
        """Writing failed; it will be tried again."""
        ...
