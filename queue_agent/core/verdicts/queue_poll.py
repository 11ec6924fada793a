"""The verdict on a consumer in one queue, from poll to poll."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from math import inf
from typing import Final

from queue_agent.core.verdicts.advice import NO_ADVICE, Advice
from queue_agent.core.verdicts.counts import sum_of
from queue_agent.core.verdicts.forecasts import UNKNOWN_FORECAST
from queue_agent.core.verdicts.objective_seconds import COUNTING_PERIOD, count_poll, count_without_poll
from queue_agent.core.verdicts.objectives import Objective, ObjectiveSeconds
from queue_agent.core.verdicts.pace import FIRST_PATIENCE, Pace
from queue_agent.core.verdicts.position import (
    Poll,
    Position,
    find_rebuild,
    judge,
    next_deadline,
    observe,
    open_position,
)
from queue_agent.core.verdicts.queue_state import PartitionReading, QueueState
from queue_agent.core.verdicts.queue_verdict import fold, latest_loss
from queue_agent.core.verdicts.rebuilding import RebuildKind, newest
from queue_agent.core.verdicts.returning import appear
from queue_agent.core.verdicts.time_to_loss import Retention
from queue_agent.core.verdicts.values import (
    Confidence,
    LossCause,
    PaceView,
    PartitionVerdict,
    QueueVerdict,
    Seconds,
    Verdict,
)

_BLIND_PERIODS: Final = 10
REFRESH_PERIOD: Final = 60.0
"""Rates, forecasts and numbers in sentences are never older, as long as there are unread rows, or were rows lately."""

_NO_PACE: Final = PaceView(None, None, 0, Confidence.LOW)


def observe_queue(
    state: QueueState,
    seen: Mapping[int, PartitionReading],
    partitions: Collection[int],
    now: Seconds,
    period: Seconds,
    objective: Objective | None = None,
    acknowledged: Seconds | None = None,
    still: Collection[int] = (),
) -> QueueState:
    """The state after a poll.

    Args:
        state: after the poll before.
        seen: by index, of the partitions that could be read.
        partitions: indexes of those that the consumer is registered for.
        now: of the poll; one that is not later than the last changes nothing.
        period: usual time between polls.
        objective: of the consumer's owner for this queue; None: there is none.
        acknowledged: up to when the owner knows what happened; None: nothing.
        still: indexes of the partitions that could be read, too, and were found as at the last poll. Of `find_still`;
            their verdicts stay as they are.
    """
    last = state.last_poll
    if last is not None and now <= last:
        return state
    poll = Poll(
        now if last is None else last, now, last is None or now - last > _BLIND_PERIODS * period, is_watched=True
    )
    pace = state.pace if state.pace.polled_since is not None else state.pace._replace(polled_since=now)
    known = {**state.left, **state.positions}
    kept = {index: one for index, one in state.positions.items() if index in partitions}
    positions, pace = _observe_positions(kept, pace, seen, poll, state.deadlines.keys(), state.left)
    max_gap = None if objective is None else objective.max_gap
    patience = pace.patience(now, max_gap)
    is_known = patience is not None
    if not is_known and any(one.retention.is_vital for one in seen.values()):
        patience = FIRST_PATIENCE  # it holds rows, so it is not waited for without end
    positions |= _judge(positions, seen, patience, pace.window, now, acknowledged, is_known=is_known)
    readable = {index: positions[index] for index in sorted((*seen, *still))}
    seconds = _count(state, readable, objective, poll, is_complete=len(readable) == len(partitions))
    view = pace.view(now, has_ages=_has_ages(readable.values()), max_gap=max_gap)
    is_other = state.verdict is None or _judged_by(view) != _judged_by(state.verdict.pace)
    deadlines = {index: now if is_other else state.deadlines[index] for index in still}
    deadlines |= {index: _deadline(positions[index], patience, pace.window, now) for index in seen}
    counting = inf if seconds.until is None else now + COUNTING_PERIOD
    state = replace(
        state,
        positions=positions,
        left={index: one for index, one in known.items() if index not in positions},
        pace=pace,
        seconds=seconds,
        last_poll=now,
        deadlines=deadlines,
        deadline=min((counting, *deadlines.values())),
    )
    return replace(state, verdict=fold(state, seen, readable, len(partitions), now, view))


def _judge(
    positions: Mapping[int, Position],
    seen: Mapping[int, PartitionReading],
    patience: Seconds | None,
    window: Seconds,
    now: Seconds,
    acknowledged: Seconds | None,
    *,
    is_known: bool,
) -> Mapping[int, Position]:
    """Positions that were seen, with the verdicts that hold now; arguments as for `position.judge`."""
    judged = {}
    for index, one in seen.items():
        position = positions[index].knowing(acknowledged)
        is_mended = _is_mended(position, one.retention)
        judged[index] = judge(position, patience, window, now, acknowledged, is_known=is_known, is_mended=is_mended)
    return judged


def _count(
    before: QueueState, readable: Mapping[int, Position], objective: Objective | None, poll: Poll, *, is_complete: bool
) -> ObjectiveSeconds:
    """How long the objective was met, after a poll; `is_complete`: all partitions could be read."""
    return count_poll(
        before.seconds,
        objective,
        (one.reading for one in readable.values()),
        poll.last,
        poll.now,
        is_blind=poll.is_blind,
        is_complete=is_complete,
        has_lost=any(_has_lost(before.positions.get(index), one) for index, one in readable.items()),
    )


def _has_ages(positions: Iterable[Position]) -> bool:
    """Whether it is known how old each row is that is next to be read."""
    return all(not one.reading.drainable or one.reading.next_row_time is not None for one in positions)


def _judged_by(pace: PaceView) -> tuple[object, ...]:
    """What verdicts of all partitions depend on: once it is another, those that stayed are made at the next poll."""
    return pace.patience, pace.confidence


def find_still(state: QueueState, moved: Collection[int] | None, now: Seconds, period: Seconds) -> Collection[int]:
    """Indexes of the partitions whose verdicts stay as they are at this poll, if only `moved` have changed; None: all.

    Their time has not come, all that is gone of them is settled, and the last poll was not long ago.
    """
    if moved is None or state.last_poll is None or now - state.last_poll > _BLIND_PERIODS * period:
        return ()
    return {
        index
        for index, deadline in state.deadlines.items()
        if now < deadline and index not in moved and state.positions[index].ledger.is_settled
    }


def _observe_positions(
    positions: Mapping[int, Position],
    pace: Pace,
    seen: Mapping[int, PartitionReading],
    poll: Poll,
    watched: Collection[int],
    left: Mapping[int, Position],
) -> tuple[dict[int, Position], Pace]:
    """Positions, with those that were not seen before or are there again, and the pace after a poll.

    `watched`: indexes of the partitions that this agent read at the last poll.
    """
    after = dict(positions)
    pairs = [(positions[index].reading, one.reading) for index, one in seen.items() if index in positions]
    rebuild = find_rebuild(pairs, poll.now)
    known = rebuild or newest(one.rebuild for one in positions.values())
    reshard = known if known is not None and known.kind is RebuildKind.RESHARD else None
    for index, one in seen.items():
        old = positions.get(index)
        if old is None:
            opened = open_position(one.reading, poll.now, one.written_at, one.trims, one.known_to)
            after[index] = appear(opened, one.trims, left.get(index), reshard)
        else:
            its = poll if index in watched else poll._replace(is_watched=False)
            after[index], pace, _ = observe(old, one.reading, one.trims, pace, its, one.blame, one.known_to, rebuild)
    return after, pace


def _is_mended(position: Position, retention: Retention) -> bool:
    """Whether what took the rows can take no more of them."""
    loss = position.ledger.loss
    match None if loss is None else loss.cause:
        case LossCause.TTL:
            return retention.data_ttl is None
        case LossCause.VITAL_TRIMMING | LossCause.EXPORT_TRIMMING:
            return retention.is_vital
        case LossCause.QUARANTINE:
            return retention.released_at is None
        case LossCause.RECREATION:
            return position.rebuild is None
        case _:
            return False


def _has_lost(old: Position | None, new: Position) -> bool:
    return old is not None and new.ledger.counts.lost > old.ledger.counts.lost


def _deadline(position: Position, patience: Seconds | None, window: Seconds, now: Seconds) -> Seconds:
    due = next_deadline(position, patience, now)
    has_numbers = position.reading.drainable or position.recent.at(now, window).last is not None
    return min(due, now + REFRESH_PERIOD) if has_numbers else due


def without_poll(
    state: QueueState,
    verdict: Verdict,
    reason: str,
    now: Seconds,
    advice: Advice = NO_ADVICE,
    objective: Objective | None = None,
) -> QueueState:
    """The state while the position cannot be polled: it is `unreadable`, or `unknown`; counters stay."""
    seconds = count_without_poll(state.seconds, objective, now)
    state = state if seconds is state.seconds else replace(state, seconds=seconds)
    old = state.verdict
    since = old.whole.since if old is not None and old.verdict is verdict else now
    whole = PartitionVerdict(
        verdict=verdict,
        activity=verdict,
        since=since,
        reason=reason,
        confidence=Confidence.HIGH,
        drainable=0,
        counts=sum_of(state.counts.values()),
        loss=latest_loss(one.ledger.loss for one in state.positions.values()),
        time_to_catch_up=UNKNOWN_FORECAST,
        time_to_loss=UNKNOWN_FORECAST,
    )
    pace = _NO_PACE if old is None else old.pace
    status = None if old is None else old.objective
    verdict_now = QueueVerdict(
        whole, advice, pace, {}, None, len(state.positions), None, state.tablets, state.is_kept, objective=status
    )
    return state if verdict_now == old else replace(state, verdict=verdict_now, deadlines={})
