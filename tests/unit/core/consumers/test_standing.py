"""Verdicts on consumers, and the errors of registrations: the corner cases that lag monitors tend to get wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.consumers.consumer_snapshots import QueueRowAnswers, build_sub_snapshot, rows_to_read
from queue_agent.core.consumers.standing import PATIENCE, SETTLED_AFTER, Verdict, find_registration_errors, judge
from queue_agent.core.queues.snapshots import (
    ConsumerQueueView,
    ConsumerSnapshot,
    ConsumerView,
    FailedQueuePartition,
    QueueMissing,
    QueuePartition,
    QueueSnapshot,
    QueueView,
    Role,
    SubSnapshot,
)
from queue_agent.core.state.rows import ConsumerRow, QueueRow, Registration
from queue_agent.core.status.overview import consumer_overview, queue_overview
from queue_agent.core.status.published import consumer_partitions, queue_partitions, queue_status
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.observed import ConsumerOffset
from queue_agent.core.values.rates import Counters
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.timestamps import timestamp_of

NOW = datetime(2025, 1, 23, 13, 42, 21, tzinfo=UTC)
HOUR = timedelta(hours=1)
QUEUE = CrossClusterRef("pythia", "//tmp/q")
CONSUMER = CrossClusterRef("hume", "//tmp/c")
VITAL = Registration(QUEUE, CONSUMER, vital=True)
UNMOUNTED = FailedQueuePartition("t", "unmounted", ErrorInfo("Tablet t is not mounted or frozen"))


def rows(lower: int, upper: int, *, written: datetime = NOW, weight: int | None = None) -> QueuePartition:
    return QueuePartition(f"t{lower}", "mounted", None, None, lower, upper, written, Counters(), weight, 0)


def queue(*partitions: QueuePartition | FailedQueuePartition, columns: bool = True, now: datetime = NOW) -> QueueView:
    return QueueView(partitions, columns, columns, now)


def stand(
    view: QueueView,
    offsets: Mapping[int, int],
    *,
    consumed: datetime = NOW,
    committed: datetime | None = NOW,
    previous: SubSnapshot | None = None,
) -> ConsumerQueueView:
    """A consumer with these offsets; the rows it is to read next were committed at a time."""
    found = {index: ConsumerOffset(index, offset, timestamp_of(consumed)) for index, offset in offsets.items()}
    asked = rows_to_read(previous, view, found).timestamps
    stamps = {} if committed is None else dict.fromkeys(asked, timestamp_of(committed))
    return build_sub_snapshot(previous, view, found, QueueRowAnswers(timestamps=stamps), view.seen_at)


def consumer(position: SubSnapshot | ErrorInfo, *, pass_index: int = 1, whole: bool = False) -> ConsumerSnapshot:
    content = position if whole and isinstance(position, ErrorInfo) else ConsumerView({QUEUE: position})
    return ConsumerSnapshot(ConsumerRow(CONSUMER), Role.LEADING, pass_index, NOW, content, (VITAL,))


def snapshot_of(view: QueueView | ErrorInfo) -> QueueSnapshot:
    return QueueSnapshot(QueueRow(QUEUE), Role.LEADING, 1, NOW, view, (VITAL,))


@pytest.mark.parametrize("age", [timedelta(0), timedelta(days=400)])
def test_a_consumer_that_has_caught_up_is_fine_for_ever(age: timedelta) -> None:
    judged = judge(stand(queue(rows(0, 7, written=NOW - age)), {0: 7}, consumed=NOW - age))
    assert (judged.verdict, judged.unread_row_count, judged.processing_lag) == (Verdict.UP_TO_DATE, 0, timedelta(0))


def test_a_consumer_that_is_dead_while_rows_wait_has_stopped_and_its_lag_grows_by_the_clock() -> None:
    died = NOW - 2 * PATIENCE
    first = stand(queue(rows(0, 9)), {0: 7}, consumed=died, committed=died)
    judged = judge(first)
    assert (judged.verdict, judged.unread_row_count, judged.processing_lag) == (Verdict.STOPPED, 2, 2 * PATIENCE)
    assert judged.reason is not None
    assert "nothing since 2025-01-23T11:42:21.000000Z, while 2 rows in partition 0 wait" in judged.reason
    # Nothing is written and nothing is read: only time goes on.
    later = stand(queue(*first.compared.queue.partitions, now=NOW + HOUR), {0: 7}, consumed=died, previous=first)  # type: ignore[union-attr] # a position made by a pass was compared
    assert judge(later).processing_lag == 2 * PATIENCE + HOUR


def test_a_consumer_has_not_stopped_while_its_rows_are_young_or_it_reads_elsewhere() -> None:
    long_ago = NOW - 2 * PATIENCE
    assert judge(stand(queue(rows(0, 9)), {0: 7}, consumed=long_ago)).verdict is Verdict.READING
    assert judge(stand(queue(rows(0, 9)), {0: 7}, committed=long_ago)).verdict is Verdict.READING


def test_a_consumer_that_never_committed_has_not_started_and_has_lost_nothing() -> None:
    judged = judge(stand(queue(rows(5, 9)), {}))
    assert (judged.verdict, judged.lost_row_count, judged.last_consume_time) == (Verdict.NOT_STARTED, 0, None)
    assert judged.unread_row_count == 4  # those that can be read, not the whole history
    assert judge(stand(queue(rows(0, 0)), {})).verdict is Verdict.UP_TO_DATE


def test_trimmed_rows_are_lost_once_and_are_no_lag() -> None:
    judged = judge(stand(queue(rows(10, 15), rows(0, 3)), {0: 4, 1: 1}))
    assert (judged.verdict, judged.lost_row_count, judged.unread_row_count) == (Verdict.EXPIRED, 6, 5 + 2)
    assert judged.reason == "Consumer has lost 6 rows in partition 0: trimmed before they were read"


def test_a_consumer_beyond_the_end_is_ahead_and_does_not_hide_what_waits_elsewhere() -> None:
    position = stand(queue(rows(0, 3), rows(0, 5)), {0: 10, 1: 1}, consumed=NOW - SETTLED_AFTER)
    judged = judge(position)
    assert (judged.verdict, judged.ahead_row_count, judged.unread_row_count) == (Verdict.AHEAD, 7, 4)
    published: Any = consumer_partitions(consumer(position), NOW)
    assert [one["unread_row_count"] for one in published[str(QUEUE)]] == [-7, 4]


def test_a_consumer_that_committed_after_the_end_was_looked_at_is_not_ahead() -> None:
    for consumed in (NOW - timedelta(seconds=5), NOW, NOW + HOUR):
        judged = judge(stand(queue(rows(0, 7)), {0: 9}, consumed=consumed))
        assert (judged.verdict, judged.ahead_row_count, judged.unread_row_count) == (Verdict.UP_TO_DATE, 0, 0)


def test_a_partition_that_fails_does_not_poison_the_others_and_is_counted() -> None:
    judged = judge(stand(queue(UNMOUNTED, rows(0, 5)), {0: 2, 1: 1}))
    assert (judged.verdict, judged.failed_partition_count, judged.unread_row_count) == (Verdict.READING, 1, 4)
    assert judge(stand(queue(UNMOUNTED), {0: 2})).verdict is Verdict.UNKNOWN


def test_a_consumer_that_went_back_is_reading() -> None:
    before = stand(queue(rows(0, 9)), {0: 8})
    assert judge(stand(queue(rows(0, 9)), {0: 2}, previous=before)).verdict is Verdict.READING


def test_a_lag_that_is_not_known_is_not_zero_and_stops_nobody() -> None:
    long_ago = NOW - 2 * PATIENCE
    judged = judge(stand(queue(rows(0, 9), columns=False), {0: 7}, consumed=long_ago))
    assert (judged.verdict, judged.processing_lag) == (Verdict.READING, None)
    [shown] = consumer_overview(consumer(stand(queue(rows(0, 9), columns=False), {0: 7})), NOW)
    assert shown["processing_lag"] is None
    # One row of unknown age makes the age of the oldest unknown.
    assert judge(stand(queue(rows(0, 9), rows(0, 9)), {0: 7, 1: 7}, committed=None)).processing_lag is None


def test_ages_are_never_negative_under_a_clock_that_is_ahead() -> None:
    judged = judge(stand(queue(rows(0, 9)), {0: 7}, committed=NOW + HOUR, consumed=NOW + HOUR))
    assert (judged.verdict, judged.processing_lag) == (Verdict.READING, timedelta(0))


def test_partitions_that_come_and_go_are_judged_as_they_are() -> None:
    before = stand(queue(rows(0, 9)), {0: 9})
    assert judge(stand(queue(rows(0, 9), rows(0, 4)), {0: 9}, previous=before)).unread_row_count == 4
    assert judge(stand(queue(), {}, previous=before)).verdict is Verdict.UP_TO_DATE


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 30)), max_size=7))
def test_rows_that_wait_are_there_and_verdicts_agree_with_the_counts(cases: list[tuple[int, int, int]]) -> None:
    view = queue(*(rows(lower, lower + count) for lower, count, _ in cases))
    judged = judge(stand(view, {index: offset for index, (_, _, offset) in enumerate(cases)}))
    assert 0 <= judged.unread_row_count <= sum(count for _, count, _ in cases)
    assert (judged.verdict is Verdict.EXPIRED) <= (judged.lost_row_count > 0)
    assert (judged.verdict is Verdict.UP_TO_DATE) <= (judged.unread_row_count == 0)
    assert (judged.reason is not None) == (judged.verdict in (Verdict.EXPIRED, Verdict.AHEAD, Verdict.STOPPED))


def test_registrations_of_troubled_consumers_have_an_error() -> None:
    banned = consumer(ErrorInfo("Consumer is banned"), whole=True)
    expired = consumer(stand(queue(rows(10, 15)), {0: 4}))
    for snapshot, words in ((banned, "banned"), (expired, "lost 6 rows")):
        errors = find_registration_errors([VITAL], {CONSUMER}, {CONSUMER: snapshot})
        status = queue_status(snapshot_of(queue(rows(0, 9))), "agent-1", NOW, errors)
        [registration] = status["registrations"]
        assert words in registration["error"]["message"]
        assert registration["error"].keys() >= {"code", "message", "attributes"}


def test_a_registration_of_a_consumer_that_does_not_exist_has_an_error() -> None:
    errors = find_registration_errors([VITAL], set(), {})
    assert (errors[CONSUMER].code, "hume://tmp/c" in errors[CONSUMER].message) == (500, True)


@pytest.mark.parametrize(
    "snapshot",
    [
        None,
        consumer(ErrorInfo("Consumer is not processed yet"), pass_index=0, whole=True),
        consumer(stand(queue(rows(0, 9)), {0: 4})),
        consumer(QueueMissing(ErrorInfo("Queue snapshot is missing"))),
    ],
    ids=["led by another agent", "not polled yet", "reading", "its queue can not be read"],
)
def test_a_registration_has_no_error_if_nothing_is_known_to_be_wrong(snapshot: ConsumerSnapshot | None) -> None:
    snapshots = {} if snapshot is None else {CONSUMER: snapshot}
    errors = find_registration_errors([VITAL], {CONSUMER}, snapshots)
    [registration] = queue_status(snapshot_of(queue(rows(0, 9))), "agent-1", NOW, errors)["registrations"]
    assert registration == {"queue": str(QUEUE), "consumer": str(CONSUMER), "vital": True}


def test_partitions_always_have_a_host_and_a_cell_by_which_the_web_interface_can_filter() -> None:
    for partition in queue_partitions(snapshot_of(queue(UNMOUNTED, rows(0, 9))), NOW):
        assert partition["meta"] == {"cell_id": "", "host": ""}


def test_figures_of_a_queue_leave_out_what_is_not_known() -> None:
    figures = queue_overview(snapshot_of(queue(UNMOUNTED, rows(2, 9, weight=70), rows(5, 5))), {}, NOW)
    assert (figures["partition_count"], figures["failed_partition_count"]) == (3, 1)
    assert (figures["row_count"], figures["data_weight"]) == (7, 70)  # an empty partition weighs nothing
    unknown = queue_overview(snapshot_of(queue(rows(2, 9))), {}, NOW)
    assert (unknown["row_count"], unknown["data_weight"]) == (7, None)
    unread = queue_overview(snapshot_of(queue(UNMOUNTED)), {CONSUMER: ErrorInfo("x")}, NOW)
    assert (unread["row_count"], unread["data_weight"], unread["last_row_commit_time"]) == (None, None, None)
    assert (unread["vital_consumer_count"], unread["failing_consumer_count"]) == (1, 1)
    assert "partition_count" not in queue_overview(snapshot_of(ErrorInfo("x")), {}, NOW)


def test_figures_of_a_consumer_name_every_registration() -> None:
    other = Registration(CrossClusterRef("pythia", "//tmp/other"), CONSUMER, vital=False)
    snapshot = replace(consumer(stand(queue(rows(0, 9)), {0: 4})), registrations=(VITAL, other))
    figures = consumer_overview(snapshot, NOW)
    assert [(one["queue"], one["vital"], one["verdict"]) for one in figures] == [
        ("pythia://tmp/q", True, "reading"),
        ("pythia://tmp/other", False, "unknown"),
    ]
    [missing] = consumer_overview(consumer(QueueMissing(ErrorInfo("Queue snapshot is missing"))), NOW)
    assert missing["error"]["message"] == "Queue snapshot is missing"
