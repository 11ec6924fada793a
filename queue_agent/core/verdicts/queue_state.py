"""A consumer in one queue: all partitions together, from poll to poll."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.forecasts import (
    NO_RETENTION,
    Backlog,
    Retention,
    slowest,
    soonest,
    time_to_catch_up,
    time_to_loss,
)
from queue_agent.core.verdicts.ledger import NOBODY, Blame, Reading, Trim
from queue_agent.core.verdicts.pace import UNKNOWN_PACE, Pace
from queue_agent.core.verdicts.position import Poll, Position, judge, next_deadline, observe, open_position
from queue_agent.core.verdicts.sentences import Facts, make_action, make_sentence
from queue_agent.core.verdicts.values import (
    NO_COUNTS,
    Confidence,
    Forecast,
    Loss,
    PaceView,
    PartitionVerdict,
    QueueVerdict,
    Seconds,
    Turn,
    Verdict,
)

_BLIND_PERIODS: Final = 10
REFRESH_PERIOD: Final = 60.0
"""Numbers in sentences and forecasts are never older, as long as there are unread rows."""

_UNKNOWN: Final = Forecast(None, "unknown")
_NO_PACE: Final = PaceView(None, None, 0, Confidence.LOW)


@dataclass(frozen=True, slots=True)
class Pair:
    """Who is judged."""

    queue: CrossClusterRef
    consumer: CrossClusterRef


@dataclass(frozen=True, slots=True)
class PartitionReading:
    """What a poll tells of one partition."""

    reading: Reading
    blame: Blame = NOBODY
    retention: Retention = NO_RETENTION
    held_rows: int = 0
    """Rows that only this consumer keeps."""

    written_at: Seconds | None = None
    """When the last row was written; None: not known."""

    trims: Sequence[Trim] = ()
    """By agents of this stage since the poll before, in order of rows."""


@dataclass(frozen=True, slots=True)
class QueueState:
    """State of a consumer in one queue."""

    pair: Pair
    positions: Mapping[int, Position] = field(default_factory=dict)
    """By partition index; one that can not be read at the moment keeps its state."""

    pace: Pace = UNKNOWN_PACE
    last_poll: Seconds | None = None
    deadline: Seconds = 0.0
    """When time alone may change the verdict, or numbers are to be refreshed."""

    verdict: QueueVerdict | None = None
    is_kept: bool = False
    """Whether marks and counters outlive this agent."""

    def passed(self, now: Seconds) -> QueueState:
        """The state after a poll that found nothing new, before the deadline."""
        return replace(self, last_poll=now)


def observe_queue(
    state: QueueState, seen: Mapping[int, PartitionReading], partition_count: int, now: Seconds, period: Seconds
) -> QueueState:
    """The state after a poll.

    Args:
        state: after the poll before.
        seen: by index, of the partitions that could be read.
        partition_count: how many the queue has.
        now: of the poll; one that is not later than the last changes nothing.
        period: usual time between polls.
    """
    last = state.last_poll
    if last is not None and now <= last:
        return state
    poll = Poll(now if last is None else last, now, last is None or now - last > _BLIND_PERIODS * period)
    pace = state.pace if state.pace.polled_since is not None else replace(state.pace, polled_since=now)
    positions = {index: one for index, one in state.positions.items() if index < partition_count}
    for index, one in seen.items():
        old = positions.get(index)
        if old is None:
            positions[index] = open_position(one.reading, now, one.written_at)
        else:
            positions[index], pace, _ = observe(old, one.reading, one.trims, pace, poll, one.blame)
    patience = pace.patience(now)
    for index in seen:
        positions[index] = judge(positions[index], patience, pace.window, now)
    readable = {index: positions[index] for index in seen}
    due = [next_deadline(one, patience, now) for one in readable.values()]
    if any(one.reading.drainable for one in readable.values()):
        due.append(now + REFRESH_PERIOD)
    state = replace(
        state,
        positions=positions,
        pace=pace,
        last_poll=now,
        deadline=min(due, default=float("inf")),
    )
    return replace(state, verdict=_verdict(state, seen, partition_count, now))


def without_poll(
    state: QueueState, verdict: Verdict, reason: str, now: Seconds, turn: Turn = Turn.NONE, action: str | None = None
) -> QueueState:
    """The state while the position cannot be polled: it is `unreadable`, or `unknown`; counters stay."""
    old = state.verdict
    since = old.whole.since if old is not None and old.verdict is verdict else now
    whole = PartitionVerdict(
        verdict=verdict,
        activity=verdict,
        since=since,
        reason=reason,
        confidence=Confidence.HIGH,
        drainable=0,
        counts=sum((one.ledger.counts for one in state.positions.values()), NO_COUNTS),
        loss=_latest_loss(one.ledger.loss for one in state.positions.values()),
        time_to_catch_up=_UNKNOWN,
        time_to_loss=_UNKNOWN,
    )
    pace = _NO_PACE if old is None else old.pace
    verdict_now = QueueVerdict(whole, turn, action, pace, {}, None, len(state.positions), is_kept=state.is_kept)
    return state if verdict_now == old else replace(state, verdict=verdict_now)


def _verdict(
    state: QueueState, seen: Mapping[int, PartitionReading], partition_count: int, now: Seconds
) -> QueueVerdict:
    """Fold the verdicts of partitions: the worst one speaks for all."""
    has_ages = all(not one.reading.drainable or one.reading.next_row_time is not None for one in seen.values())
    pace = state.pace.view(now, has_ages=has_ages)
    confidence = pace.confidence
    partitions: dict[int, PartitionVerdict] = {}
    facts: dict[int, Facts] = {}
    for index, one in seen.items():
        position = state.positions[index]
        facts[index] = _facts(state, index, one, now, pace.usual, is_only=partition_count == 1)
        partitions[index] = _partition_verdict(position, facts[index], one.retention, pace, confidence)
    counts = sum((one.ledger.counts for one in state.positions.values()), NO_COUNTS)
    if not partitions:
        verdict = Verdict.IDLE if partition_count == 0 else Verdict.UNREADABLE
        whole = PartitionVerdict(verdict, verdict, now, None, confidence, 0, counts, None, _UNKNOWN, _UNKNOWN)
        return QueueVerdict(whole, Turn.NONE, None, pace, {}, None, partition_count, is_kept=state.is_kept)
    worst = min(partitions, key=lambda index: (partitions[index].verdict.severity, -partitions[index].drainable))
    speaker = partitions[worst]
    activity = min((one.activity for one in partitions.values()), key=lambda one: one.severity)
    turn, action = make_action(facts[worst])
    old = state.verdict
    since = old.whole.since if old is not None and old.verdict is speaker.verdict else speaker.since
    whole = PartitionVerdict(
        speaker.verdict,
        activity,
        since,
        speaker.reason,
        confidence,
        sum(one.drainable for one in partitions.values()),
        counts,
        _latest_loss(one.loss for one in partitions.values()),
        slowest(one.time_to_catch_up for one in partitions.values()),
        soonest(one.time_to_loss for one in partitions.values()),
    )
    rates = [state.positions[index].recent.read_rate() for index in seen]
    known = [one.mean for one in rates if one is not None]
    read_rate = sum(known) if known else None
    unreadable = partition_count - len(seen)
    return QueueVerdict(whole, turn, action, pace, partitions, worst, unreadable, read_rate, is_kept=state.is_kept)


def _latest_loss(losses: Iterable[Loss | None]) -> Loss | None:
    return max((loss for loss in losses if loss is not None), key=lambda loss: loss.until, default=None)


def _facts(
    state: QueueState, index: int, seen: PartitionReading, now: Seconds, usual: Seconds | None, *, is_only: bool
) -> Facts:
    position = state.positions[index]
    reading = position.reading
    recent = position.recent.at(now, state.pace.window)
    read, written = recent.read_rate(), recent.write_rate()
    return Facts(
        verdict=position.verdict,
        queue=state.pair.queue,
        consumer=state.pair.consumer,
        partition=None if is_only else index,
        since=position.since,
        now=now,
        drainable=reading.drainable,
        silent=position.silent,
        offset=reading.offset,
        end=reading.end,
        age=None if reading.next_row_time is None else max(0.0, now - reading.next_row_time),
        usual=usual,
        loss=position.ledger.loss,
        read=None if read is None else read.mean,
        written=None if written is None else written.mean,
        held_rows=seen.held_rows,
    )


def _partition_verdict(
    position: Position, facts: Facts, retention: Retention, pace: PaceView, confidence: Confidence
) -> PartitionVerdict:
    reading = position.reading
    recent = position.recent
    backlog = Backlog(
        offset=reading.offset,
        end=reading.end,
        drainable=reading.drainable,
        age=facts.age,
        activity=position.activity,
        is_losing=position.verdict is Verdict.LOSING,
        read=recent.read_rate(),
        written=recent.write_rate(),
        patience=pace.patience,
    )
    return PartitionVerdict(
        position.verdict,
        position.activity,
        position.since,
        make_sentence(facts),
        confidence,
        reading.drainable,
        position.ledger.counts,
        position.ledger.loss,
        time_to_catch_up(backlog),
        time_to_loss(backlog, retention),
    )
