"""The record of events: what happened to queues and consumers, when, by whom and why."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from queue_agent.core.state.lifetimes import lifetime_attributes
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.refs import CrossClusterRef

TABLE_NAME: Final = "consumer_events"
"""In the directory of the state tables."""

LIFETIME: Final = timedelta(days=90)
"""Events are kept so long; another lifetime can be set when the table is created."""

KEY_COLUMNS: Final[Mapping[str, str]] = {"instant": "string", "event_id": "string"}
"""Types by name; events stand in order of time. Writing one again changes nothing."""

VALUE_COLUMNS: Final[Mapping[str, str]] = {
    "kind": "string",
    "queue_cluster": "string",
    "queue_path": "string",
    "consumer_cluster": "string",
    "consumer_path": "string",
    "consumer_name": "string",
    "actor": "string",
    "subject": "string",
    "reason": "string",
    "details": "any",
}
"""Types by name."""

TABLE_ATTRIBUTES: Final = lifetime_attributes(LIFETIME)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: a row of the table."""

    instant: datetime
    event_id: str
    """No two events have the same."""

    kind: str
    """One of `EventKind`, or a word of a later version."""

    actor: str
    """Who did or noticed it: host and process of an agent, or user and host of a command."""

    reason: str
    """A sentence."""

    queue: CrossClusterRef | None = None
    consumer: CrossClusterRef | None = None
    subject: str | None = None
    """Whom or what it is about beside both: who trimmed ahead, which verdict, which agent led before."""

    details: Mapping[str, Any] = field(default_factory=dict)
    """Numbers and instants, by name."""

    @property
    def cursor(self) -> str:
        """Place in the order of events; text that sorts like them."""
        return f"{encode_instant(self.instant)},{self.event_id}"

    def to_map(self) -> dict[str, Any]:
        """The published form."""
        return {
            "instant": encode_instant(self.instant),
            "id": self.event_id,
            "kind": self.kind,
            "queue": None if self.queue is None else str(self.queue),
            "consumer": None if self.consumer is None else str(self.consumer),
            "actor": self.actor,
            "subject": self.subject,
            "reason": self.reason,
            "details": dict(self.details),
        }


@dataclass(frozen=True, slots=True)
class EventSlice:
    """A part of one record of events."""

    events: Sequence[Event]
    """Newest first."""

    end: str | None
    """Cursor down to which these are all that were asked for; None: there are no older ones."""


def merge_slices(slices: Collection[EventSlice], limit: int) -> EventSlice:
    """One history of several records.

    Events older than the end of a record wait for the next page: only then is known what that record has between.
    """
    end = max((one.end for one in slices if one.end is not None), default="")
    events = sorted((event for one in slices for event in one.events), key=lambda event: event.cursor, reverse=True)
    whole = [event for event in events if event.cursor >= end]
    if len(whole) > limit:
        return EventSlice(whole[:limit], whole[limit - 1].cursor)
    return EventSlice(whole, end or None)


@dataclass(frozen=True, slots=True)
class EventQuery:
    """Which events somebody wants to see."""

    since: datetime
    limit: int
    before: str | None = None
    """Cursor of an event: only older ones. None: all."""

    queue: CrossClusterRef | None = None
    consumer: CrossClusterRef | None = None
    kinds: Collection[str] = ()
    """Empty: all."""

    names_people: bool = False
    """Whether events tell which user did something."""

    def asks_for(self, kind: str) -> bool:
        """Whether events of a kind can be among the answers."""
        return not self.kinds or kind in self.kinds

    def matches(self, event: Event) -> bool:
        """Whether an event is one of them, the limit aside."""
        return (
            event.instant >= self.since
            and (self.before is None or event.cursor < self.before)
            and (self.queue is None or event.queue == self.queue)
            and (self.consumer is None or event.consumer == self.consumer)
            and self.asks_for(event.kind)
        )
