"""What metrics tell of verdicts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.verdicts.incidents import Blame
from queue_agent.core.verdicts.ledger import Reading
from queue_agent.core.verdicts.objectives import Objective, ObjectiveSeconds, ObjectiveStatus
from queue_agent.core.verdicts.price import Price
from queue_agent.core.verdicts.queue_poll import observe_queue, without_poll
from queue_agent.core.verdicts.queue_state import Pair, PartitionReading, QueueState
from queue_agent.core.verdicts.values import LossCause, QueueVerdict, Verdict
from tests.unit.adapters.object_samples import (
    CONSUMER,
    CONSUMER_LABELS,
    QUEUE,
    ObjectMetrics,
    collect,
    consumer,
    partition,
    queue,
    reading,
)

START = 1_750_000_000.0


def _judged(starts: list[int]) -> QueueVerdict:
    """A reader of ten rows a second that dies at row 100, while somebody trims."""
    state = QueueState(Pair(QUEUE, CONSUMER))
    for second in range(10):
        rows = 10 * (second + 1)
        one = PartitionReading(Reading(0, rows, rows, START + second, "t"))
        state = observe_queue(state, {0: one}, range(1), START + second, 1.0)
    for second, start in enumerate(starts, 10):
        one = PartitionReading(
            Reading(start, 1000, 100, START + 9, "t", None, START + 9), Blame(LossCause.VITAL_TRIMMING, "a://v")
        )
        state = observe_queue(state, {0: one}, range(1), START + second, 1.0)
    assert state.verdict is not None
    return state.verdict


def test_a_verdict_that_has_changed_is_told_though_nothing_else_has() -> None:
    page, led, reader = ObjectMetrics(), queue(partition(0, 5)), consumer(reading(5, 0))
    state = without_poll(QueueState(Pair(QUEUE, CONSUMER)), Verdict.UNKNOWN, "Not polled yet", START)
    assert state.verdict is not None
    before = collect(page, [led], [replace(reader, verdicts={QUEUE: state.verdict})])
    assert before.own("consumer_verdict", CONSUMER_LABELS, verdict="unknown") == 1
    after = collect(page, [led], [replace(reader, verdicts={QUEUE: _judged([0, 600, 600, 600])})])
    assert after.own("consumer_verdict", CONSUMER_LABELS, verdict="unknown") is None
    assert after.own("consumer_verdict", CONSUMER_LABELS, verdict="losing") == 1


def test_losses_are_told_with_their_cause_and_the_culprit() -> None:
    verdict = _judged([0, 600, 600, 600])
    page = collect(ObjectMetrics(), [], [replace(consumer(reading(100, 900)), verdicts={QUEUE: verdict})])
    assert page.own("consumer_verdict", CONSUMER_LABELS, verdict="losing") == 1
    assert page.own("consumer_rows_read_total", CONSUMER_LABELS) == 90
    assert page.own("consumer_trimmed_uncommitted_rows_total", CONSUMER_LABELS) == 500
    assert page.own("consumer_lost_rows_total", CONSUMER_LABELS) == 480
    assert page.own("consumer_possibly_lost_rows_total", CONSUMER_LABELS) == 20
    assert page.own("consumer_lost_rows_per_second", CONSUMER_LABELS, cause="vital_trimming", subject="a://v") == 500
    assert page.own("consumer_last_loss_timestamp_seconds", CONSUMER_LABELS) == START + 11
    assert page.own("consumer_drainable_rows", CONSUMER_LABELS) == 400
    assert page.own("consumer_pace_seconds", CONSUMER_LABELS) == 1
    assert page.own("consumer_patience_seconds", CONSUMER_LABELS) == 120
    assert page.own("consumer_time_to_loss_seconds", CONSUMER_LABELS, cause="losing") == 0
    assert page.own("consumer_time_to_catch_up_seconds", CONSUMER_LABELS) is None


def test_partitions_that_nobody_reads_are_counted_whatever_the_verdict() -> None:
    verdict = _judged([0])
    [one] = verdict.partitions.values()
    partitions = {
        index: one._replace(verdict=found)
        for index, found in enumerate((Verdict.LOSING, Verdict.STOPPED, Verdict.OK, Verdict.STALLED))
    }
    verdict = replace(verdict, whole=one._replace(verdict=Verdict.LOSING), partitions=partitions)
    page = collect(ObjectMetrics(), [], [replace(consumer(reading(100, 900)), verdicts={QUEUE: verdict})])
    assert page.own("consumer_stopped_partitions", CONSUMER_LABELS) == 2


def test_what_a_silent_vital_consumer_holds_is_told_as_far_as_it_is_known() -> None:
    price = Price(5, 700, 8, 9, None, 90000.0, is_dead=True)
    for one, held_bytes in ((price, 700), (replace(price, held_bytes=None, is_dead=False), None)):
        verdict = replace(_judged([0]), price=one)
        page = collect(ObjectMetrics(), [], [replace(consumer(reading(100, 900)), verdicts={QUEUE: verdict})])
        assert page.own("consumer_dead", CONSUMER_LABELS) == one.is_dead
        assert page.own("consumer_held_rows", CONSUMER_LABELS) == 5
        assert page.own("consumer_held_bytes", CONSUMER_LABELS) == held_bytes


def test_what_is_not_known_has_no_series() -> None:
    without = collect(ObjectMetrics(), [], [replace(consumer(reading(100, 900)), verdicts={QUEUE: _judged([0])})])
    assert without.own("consumer_dead", CONSUMER_LABELS) is None
    verdict = _judged([0])
    page = collect(ObjectMetrics(), [], [replace(consumer(reading(100, 900)), verdicts={QUEUE: verdict})])
    assert page.own("consumer_verdict", CONSUMER_LABELS, verdict="ok") == 1
    assert page.own("consumer_lost_rows_total", CONSUMER_LABELS) == 0
    missing = {"last_loss_timestamp_seconds", "lost_rows_per_second", "time_to_loss_seconds", "stopped_partitions"}
    assert not page.names & {f"queue_agent_consumer_{name}" for name in missing}


def test_every_outcome_of_an_objective_has_a_series() -> None:
    seconds = ObjectiveSeconds(good=5.0, unknown=1.5)
    status = ObjectiveStatus(Objective(300.0, 0.99), None, seconds)
    verdict = replace(_judged([0]), objective=status)
    page = collect(ObjectMetrics(), [], [replace(consumer(reading(100, 900)), verdicts={QUEUE: verdict})])
    assert page.own("consumer_objective_target_ratio", CONSUMER_LABELS) == 0.99
    for outcome, value in (("good", 5.0), ("bad", 0.0), ("unknown", 1.5)):
        assert page.own("consumer_objective_seconds_total", CONSUMER_LABELS, outcome=outcome) == value


@pytest.mark.parametrize(
    "status",
    [
        None,
        ObjectiveStatus(Objective(max_gap=60.0)),
        ObjectiveStatus(Objective(300.0, 0.99)),
        ObjectiveStatus(None, ErrorInfo("no map")),
    ],
    ids=["none", "pace only", "seconds not known", "error"],
)
def test_what_is_not_counted_has_no_series(status: ObjectiveStatus | None) -> None:
    verdict = replace(_judged([0]), objective=status)
    page = collect(ObjectMetrics(), [], [replace(consumer(reading(100, 900)), verdicts={QUEUE: verdict})])
    assert not page.names & {f"queue_agent_consumer_objective_{name}" for name in ("target_ratio", "seconds_total")}
    broken = page.own("registration_broken", CONSUMER_LABELS, reason="objective_error")
    assert broken == (1 if status is not None and status.error is not None else None)


def test_an_unreadable_consumer_has_a_verdict_and_counters_alone() -> None:
    state = without_poll(QueueState(Pair(QUEUE, CONSUMER)), Verdict.UNREADABLE, "no such tablet", START)
    assert state.verdict is not None
    page = collect(ObjectMetrics(), [], [replace(consumer(reading(100, 900)), verdicts={QUEUE: state.verdict})])
    assert page.own("consumer_verdict", CONSUMER_LABELS, verdict="unreadable") == 1
    assert page.own("consumer_verdict_since_timestamp_seconds", CONSUMER_LABELS) == START
    assert page.own("consumer_drainable_rows", CONSUMER_LABELS) is None
