"""What happened to a consumer in a queue from poll to poll, for the record of events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from queue_agent.core.values.event_kinds import EventKind
from queue_agent.core.verdicts.counts import NO_COUNTS, Counts, sum_of
from queue_agent.core.verdicts.price import Price
from queue_agent.core.verdicts.queue_state import QueueState
from queue_agent.core.verdicts.rebuilding import Rebuild, RebuildKind, newest
from queue_agent.core.verdicts.sentences import duration
from queue_agent.core.verdicts.silence import find_silence
from queue_agent.core.verdicts.values import QueueVerdict, Seconds, Verdict, encode_seconds

_REPEATED_AFTER: Final = 600.0
"""Minimum time between two reports of a consumer that steps back or jumps again and again."""

_NOTABLE: Final = ("red", "amber")
"""Colors of verdicts that somebody should look at."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the record knows of a consumer in a queue."""

    verdict: Verdict | None = None
    """None: nothing yet."""

    loses: bool = False
    counts: Counts = NO_COUNTS
    object_id: str | None = None
    """Of the queue."""

    resharded_at: Seconds | None = None
    """When the queue was last seen to have other partitions than before; None: not as far as is known."""

    told_at: Mapping[EventKind, Seconds] = field(default_factory=dict)
    """When an event of a kind that may come very often was the last."""


@dataclass(frozen=True, slots=True)
class Change:
    """Something that happened."""

    kind: EventKind
    reason: str
    subject: str | None
    details: Mapping[str, Any]


def told_of(state: QueueState) -> Told:
    """What the previous leader reported of a state that it kept."""
    positions = state.positions.values()
    verdicts = [one.verdict for one in positions]
    return Told(
        min(verdicts, key=lambda one: one.severity, default=None),
        Verdict.LOSING in verdicts,
        sum_of(state.counts.values()),
        _object_id(state),
        None if (reshard := _reshard(state)) is None else reshard.at,
    )


def find_changes(told: Told, state: QueueState, now: Seconds) -> tuple[Told, Sequence[Change]]:
    """What is new, and what the record knows afterwards.

    Args:
        told: what it knows.
        state: after a poll; while it says `unknown`, nothing is new.
        now: of the poll.
    """
    verdict = state.verdict
    if verdict is None or verdict.verdict is Verdict.UNKNOWN:
        return told, ()
    changes = list(_find(told, state, verdict, now))
    kinds = {change.kind for change in changes} & {EventKind.REWIND, EventKind.SKIP}
    # Positions of an unreadable queue are those of the poll before: it still loses what it lost then.
    loses = verdict.loses if verdict.partitions else told.loses
    object_id = _object_id(state) or told.object_id
    told_at = {**told.told_at, **dict.fromkeys(kinds, now)}
    reshard = _reshard(state)
    resharded_at = told.resharded_at if reshard is None else reshard.at
    return Told(verdict.verdict, loses, verdict.whole.counts, object_id, resharded_at, told_at), changes


def find_death(state: QueueState, price: Price | None) -> Change | None:
    """That a vital consumer has died, or reads again, if the record says otherwise.

    What cannot be read is neither: an error is no death, and no end of it.

    Args:
        state: after a poll.
        price: of the consumer; None: it holds nothing, or that is not known.
    """
    verdict = state.verdict
    if verdict is None or verdict.unreadable_partition_count or not verdict.partitions:
        return None
    if not state.is_told_dead and price is not None and price.is_dead:
        reason = f"Dead: silent for {duration(price.silent)}, and holds {price.held_rows:,} rows"
        return Change(EventKind.DEAD, reason, None, price.to_map())
    if state.is_told_dead and find_silence(state) is None:
        return Change(EventKind.REVIVED, "Reads again, or has nothing more to read", None, {})
    return None


def _find(told: Told, state: QueueState, verdict: QueueVerdict, now: Seconds) -> Iterator[Change]:
    whole, counts, loss = verdict.whole, verdict.whole.counts, verdict.whole.loss
    reason = whole.reason or f"The verdict is {verdict.verdict.value}"
    object_id = _object_id(state)
    if told.object_id is not None and object_id is not None and told.object_id != object_id:
        yield Change(
            EventKind.RECREATION,
            "The queue was removed and created again",
            object_id,
            {"old_object_id": told.object_id, "object_id": object_id},
        )
    reshard = _reshard(state)
    if reshard is not None and reshard.at != told.resharded_at:
        yield Change(EventKind.RESHARD, "The queue was resharded", None, reshard.to_map())
    if verdict.partitions and verdict.loses != told.loses and loss is not None:
        if verdict.loses:
            yield Change(EventKind.LOSS, _loss_reason(verdict, reason), loss.subject, loss.to_map())
        else:
            ended = f"Lost {loss.rows:,} rows from {encode_seconds(loss.since)} to {encode_seconds(loss.until)}"
            yield Change(EventKind.LOSS_ENDED, ended, loss.subject, loss.to_map())
    for kind, grown, words in (
        (EventKind.REWIND, counts.rewinds - told.counts.rewinds, "Stepped back"),
        (EventKind.SKIP, counts.skipped - told.counts.skipped, "Passed unread rows from an offset of older ones"),
    ):
        is_due = now - told.told_at.get(kind, -_REPEATED_AFTER) >= _REPEATED_AFTER
        if told.verdict is not None and grown > 0 and is_due:
            yield Change(kind, words, None, {"count": grown})
    if verdict.verdict is not told.verdict and (_is_notable(verdict.verdict) or _is_notable(told.verdict)):
        yield Change(
            EventKind.VERDICT,
            reason,
            verdict.verdict.value,
            {
                "verdict": verdict.verdict.value,
                "old_verdict": None if told.verdict is None else told.verdict.value,
                **verdict.advice.to_map(),
            },
        )


def _loss_reason(verdict: QueueVerdict, otherwise: str) -> str:
    """The sentence of a partition that loses rows: a worse verdict may speak for the whole."""
    losing = (one.reason for one in verdict.partitions.values() if one.verdict is Verdict.LOSING)
    return next((reason for reason in losing if reason is not None), otherwise)


def _is_notable(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.color in _NOTABLE


def _reshard(state: QueueState) -> Rebuild | None:
    """One that the consumer does not know yet."""
    return newest(
        one.rebuild
        for one in state.positions.values()
        if one.rebuild is not None and one.rebuild.kind is RebuildKind.RESHARD
    )


def _object_id(state: QueueState) -> str | None:
    return next((one.reading.object_id for one in state.positions.values() if one.reading.object_id), None)
