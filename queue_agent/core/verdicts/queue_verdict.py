"""The verdict on a consumer in one queue, made of what is known of its partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from queue_agent.core.verdicts.advice import NO_ADVICE
from queue_agent.core.verdicts.counts import sum_of
from queue_agent.core.verdicts.forecasts import (
    NOT_READING,
    UNKNOWN_FORECAST,
    Backlog,
    slowest,
    soonest,
    time_to_catch_up,
)
from queue_agent.core.verdicts.position import Position
from queue_agent.core.verdicts.queue_state import PartitionReading, QueueState
from queue_agent.core.verdicts.rebuilding import newest
from queue_agent.core.verdicts.recent import Rates
from queue_agent.core.verdicts.sentences import Facts, advise, make_sentence
from queue_agent.core.verdicts.time_to_loss import Retention, time_to_loss
from queue_agent.core.verdicts.values import Loss, PaceView, PartitionVerdict, QueueVerdict, Rate, Seconds, Verdict

_FOREIGN_TRIMS_FOR: Final = 86400.0
"""Seconds for which somebody else who has trimmed is expected to do so again."""

_STANDING: Final = Rate(0.0, 0.0, 0.0)


def fold(
    state: QueueState,
    seen: Mapping[int, PartitionReading],
    readable: Mapping[int, Position],
    partition_count: int,
    now: Seconds,
    pace: PaceView,
) -> QueueVerdict:
    """Fold the verdicts of partitions: the worst one speaks for all.

    Args:
        state: after the poll, but for the verdict, which is still the one before.
        seen: what the poll tells of the partitions whose verdicts are made again; the others keep theirs.
        readable: of all partitions that could be read, in order of their indexes.
        partition_count: of those that the consumer is registered for.
        now: of the poll.
        pace: of the consumer.
    """
    old = state.verdict
    confidence, window = pace.confidence, state.pace.window
    partitions: dict[int, PartitionVerdict] = {}
    for index, position in readable.items():
        one = seen.get(index)
        if one is None:
            assert old is not None, "of a partition that is as it was there is a verdict"
            partitions[index] = old.partitions[index]
            continue
        rates = position.recent.rates(now, window)
        facts = _facts(state, index, one, rates, now, pace, is_only=partition_count == 1)
        partitions[index] = _partition_verdict(position, facts, rates, one.retention, pace)
    counts = sum_of(state.counts.values())
    if not partitions:
        verdict = Verdict.IDLE if partition_count == 0 else Verdict.UNREADABLE
        whole = PartitionVerdict(
            verdict, verdict, now, None, confidence, 0, counts, None, UNKNOWN_FORECAST, UNKNOWN_FORECAST
        )
        return QueueVerdict(whole, NO_ADVICE, pace, {}, None, partition_count, None, state.tablets, state.is_kept)
    worst = min(partitions, key=lambda index: (partitions[index].verdict.severity, -partitions[index].drainable))
    speaker = partitions[worst]
    activity = min((one.activity for one in partitions.values()), key=lambda one: one.severity)
    since = old.whole.since if old is not None and old.verdict is speaker.verdict else speaker.since
    whole = PartitionVerdict(
        speaker.verdict,
        activity,
        since,
        speaker.reason,
        confidence,
        sum(one.drainable for one in partitions.values()),
        counts,
        latest_loss(one.loss for one in partitions.values()),
        slowest(one.time_to_catch_up for one in partitions.values()),
        soonest(one.time_to_loss for one in partitions.values()),
        rebuild=newest(one.open_rebuild for one in state.positions.values()),
    )
    known = [one.read.mean for one in partitions.values() if one.read is not None]
    read_rate = sum(known) if known else None
    unreadable = partition_count - len(readable)
    advice = speaker.advice
    return QueueVerdict(whole, advice, pace, partitions, worst, unreadable, read_rate, state.tablets, state.is_kept)


def latest_loss(losses: Iterable[Loss | None]) -> Loss | None:
    """The one that ended last; None: nothing was lost."""
    return max((loss for loss in losses if loss is not None), key=lambda loss: loss.until, default=None)


def _facts(
    state: QueueState,
    index: int,
    seen: PartitionReading,
    rates: Rates,
    now: Seconds,
    pace: PaceView,
    *,
    is_only: bool,
) -> Facts:
    position = state.positions[index]
    reading = position.reading
    read, written = rates
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
        usual=pace.usual,
        max_gap=pace.max_gap,
        loss=position.ledger.loss,
        read=None if read is None else read.mean,
        written=None if written is None else written.mean,
        held_rows=seen.held_rows,
        is_vital=seen.retention.is_vital,
        chosen=seen.chosen,
        rebuild=position.open_rebuild,
        was_unwatched=position.ledger.counts.unwatched_recreations > 0,
    )


def _partition_verdict(
    position: Position, facts: Facts, rates: Rates, retention: Retention, pace: PaceView
) -> PartitionVerdict:
    reading = position.reading
    now = facts.now
    read = _STANDING if position.activity in NOT_READING else rates.read
    if not retention.is_ours and (position.trimmed_at is None or now - position.trimmed_at > _FOREIGN_TRIMS_FOR):
        retention = replace(retention, trims=False)
    backlog = Backlog(
        now=now,
        offset=reading.offset,
        end=reading.end,
        drainable=reading.drainable,
        age=facts.age,
        activity=position.activity,
        is_losing=position.verdict is Verdict.LOSING,
        read=read,
        written=rates.written,
        patience=pace.patience,
    )
    return PartitionVerdict(
        position.verdict,
        position.activity,
        position.since,
        make_sentence(facts),
        pace.confidence,
        reading.drainable,
        position.ledger.counts,
        position.ledger.loss,
        time_to_catch_up(backlog),
        time_to_loss(backlog, retention),
        read,
        position.open_rebuild,
        advise(facts),
    )
