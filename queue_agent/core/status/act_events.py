"""Acts of the audit journal as events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from queue_agent.core.access.acts import OF_AGENTS, OF_PAIRS, ActKind
from queue_agent.core.state.audit_journal import AuditRecord
from queue_agent.core.state.consumer_events import Event, EventQuery
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.event_kinds import EventKind
from queue_agent.core.values.refs import CrossClusterRef

_SOMEBODY: Final = "a user"
_IN: Final = " in "
_MOST_READINGS: Final = 20
_ACTS: Final[Mapping[str, str]] = {
    ActKind.RESET: "reset the offsets of",
    ActKind.ACKNOWLEDGE: "acknowledged what happened to",
    ActKind.PROTECT: "protected",
    ActKind.REGISTER: "registered",
    ActKind.UNREGISTER: "unregistered",
    ActKind.MOUNT: "mounted",
    ActKind.UNMOUNT: "unmounted",
    ActKind.PAUSE_TRIMMING: "paused trimming of",
    ActKind.RESUME_TRIMMING: "resumed trimming of",
    ActKind.BAN: "banned",
    ActKind.UNBAN: "lifted the ban on",
}


def make_act_event(record: AuditRecord, *, names_people: bool) -> Event:
    """An act as an event.

    Args:
        record: a row of the journal.
        names_people: tell who acted, and the words of an error, which may quote names.
    """
    pairs = find_refs(record)
    queue, consumer = pairs[0] if len(pairs) == 1 else (None, None)
    actor = record.user if names_people else _SOMEBODY
    return Event(
        instant=record.instant,
        event_id=record.id,
        kind=EventKind.ACT.value,
        actor=actor,
        reason=_describe(record, actor, names_people=names_people),
        queue=queue,
        consumer=consumer,
        subject=record.subject,
        details={
            "act": record.act,
            "outcome": record.outcome,
            "finished": None if record.finished is None else encode_instant(record.finished),
            "agent": record.agent,
        },
    )


def matches_act(query: EventQuery, record: AuditRecord) -> bool:
    """Whether an act is about the queue and the consumer that a query names."""
    return any(
        query.queue in (None, queue) and query.consumer in (None, consumer) for queue, consumer in find_refs(record)
    )


def find_refs(record: AuditRecord) -> Sequence[tuple[CrossClusterRef | None, CrossClusterRef | None]]:
    """Queue and consumer of an act.

    Rows of earlier versions have both in one text only. A path with " in " in it may allow several readings: all of
    them are returned.
    """
    if record.queue is not None:
        return [(record.queue, record.consumer)]
    nothing = [(None, None)]
    if record.act in OF_AGENTS:
        return nothing
    if record.act not in OF_PAIRS:
        queue = _read(record.subject)
        return [(queue, None)] if queue is not None else nothing
    parts = record.subject.split(_IN)
    readings = [
        (_read(_IN.join(parts[at:])), _read(_IN.join(parts[:at]))) for at in range(1, min(len(parts), _MOST_READINGS))
    ]
    return [(queue, consumer) for queue, consumer in readings if queue is not None and consumer is not None] or nothing


def _read(text: str) -> CrossClusterRef | None:
    try:
        ref = CrossClusterRef.parse(text)
    except ValueError:
        return None
    return ref if ref.path.startswith("//") and not any(one in ref.cluster for one in ' "<') else None


def _describe(record: AuditRecord, actor: str, *, names_people: bool) -> str:
    who = actor[:1].upper() + actor[1:] if not names_people else actor
    what = f"{_ACTS.get(record.act, record.act)} {record.subject}"
    why = f": {record.error}" if record.error and names_people else ""
    match record.outcome:
        case "done":
            return f"{who} {what}"
        case "failed":
            return f"{who} tried an act that failed, {record.act} of {record.subject}{why}"
        case "unknown":
            return f"{who} {what}, but the cluster did not say whether it was done{why}"
        case _:
            return f"{who} began an act, {record.act} of {record.subject}: its outcome is not known yet"
