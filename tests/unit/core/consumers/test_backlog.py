"""Backlogs of consumers: the corner cases that lag monitors tend to get wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.consumers.backlog import SETTLED_AFTER, add_up
from queue_agent.core.consumers.consumer_snapshots import QueueRowAnswers, build_sub_snapshot, rows_to_read
from queue_agent.core.consumers.registrations import RegistrationStatus
from queue_agent.core.queues.snapshots import (
    ConsumerQueueView,
    ConsumerSnapshot,
    ConsumerView,
    FailedQueuePartition,
    OffsetsRead,
    QueueMissing,
    QueuePartition,
    QueueSnapshot,
    QueueView,
    Role,
    SubSnapshot,
)
from queue_agent.core.state.rows import ConsumerRow, QueueRow, Registration
from queue_agent.core.status.overview import consumer_overview, queue_overview
from queue_agent.core.status.published import consumer_partitions, queue_partitions
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.observed import ConsumerOffset
from queue_agent.core.values.rates import Counters
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.timestamps import timestamp_of
from queue_agent.core.verdicts.values import Verdict

NOW = datetime(2025, 1, 23, 13, 42, 21, tzinfo=UTC)
HOUR = timedelta(hours=1)
QUEUE = CrossClusterRef("pythia", "//tmp/q")
CONSUMER = CrossClusterRef("hume", "//tmp/c")
VITAL = Registration(QUEUE, CONSUMER, vital=True)
UNMOUNTED = FailedQueuePartition("t", "unmounted", ErrorInfo("Tablet t is not mounted or frozen"))


def rows(lower: int, upper: int, *, written: datetime = NOW, weight: int | None = None) -> QueuePartition:
    return QueuePartition(f"t{lower}", "mounted", None, None, lower, upper, written, Counters(), weight, 0)


def queue(*partitions: QueuePartition | FailedQueuePartition, columns: bool = True, now: datetime = NOW) -> QueueView:
    return QueueView(partitions, columns, columns, now, 1)


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
    return build_sub_snapshot(previous, view, [OffsetsRead(found, 0)], QueueRowAnswers(timestamps=stamps), view.seen_at)


def consumer(position: SubSnapshot | ErrorInfo, *, pass_index: int = 1, whole: bool = False) -> ConsumerSnapshot:
    content = position if whole and isinstance(position, ErrorInfo) else ConsumerView({QUEUE: position})
    return ConsumerSnapshot(ConsumerRow(CONSUMER), Role.LEADING, pass_index, NOW, content, (VITAL,))


def snapshot_of(view: QueueView | ErrorInfo) -> QueueSnapshot:
    return QueueSnapshot(QueueRow(QUEUE), Role.LEADING, 1, NOW, view, (VITAL,))


BROKEN = RegistrationStatus(Verdict.UNREADABLE, "x", ErrorInfo("x"))


@pytest.mark.parametrize("age", [timedelta(0), timedelta(days=400)])
def test_a_consumer_that_has_caught_up_has_no_lag_for_ever(age: timedelta) -> None:
    backlog = add_up(stand(queue(rows(0, 7, written=NOW - age)), {0: 7}, consumed=NOW - age))
    assert (backlog.unread_row_count, backlog.processing_lag) == (0, timedelta(0))


def test_the_lag_of_a_dead_consumer_grows_by_the_clock() -> None:
    died = NOW - 2 * HOUR
    first = stand(queue(rows(0, 9)), {0: 7}, consumed=died, committed=died)
    assert (add_up(first).unread_row_count, add_up(first).processing_lag) == (2, 2 * HOUR)
    # Nothing is written and nothing is read: only time goes on.
    later = stand(queue(*first.compared.queue.partitions, now=NOW + HOUR), {0: 7}, consumed=died, previous=first)  # type: ignore[union-attr] # a position made by a pass was compared
    assert add_up(later).processing_lag == 3 * HOUR


def test_unread_rows_are_those_that_can_be_read() -> None:
    assert add_up(stand(queue(rows(5, 9)), {})).unread_row_count == 4
    assert add_up(stand(queue(rows(5, 9)), {})).last_consume_time is None
    assert add_up(stand(queue(rows(10, 15), rows(0, 3)), {0: 4, 1: 1})).unread_row_count == 5 + 2


def test_a_consumer_past_the_end_does_not_hide_what_is_unread_elsewhere() -> None:
    position = stand(queue(rows(0, 3), rows(0, 5)), {0: 10, 1: 1}, consumed=NOW - SETTLED_AFTER)
    backlog = add_up(position)
    assert (backlog.ahead_row_count, backlog.unread_row_count) == (7, 4)
    published: Any = consumer_partitions(consumer(position), NOW)
    assert [one["unread_row_count"] for one in published[str(QUEUE)]] == [-7, 4]


def test_a_consumer_that_committed_after_the_end_was_read_is_not_ahead() -> None:
    for consumed in (NOW - timedelta(seconds=5), NOW, NOW + HOUR):
        backlog = add_up(stand(queue(rows(0, 7)), {0: 9}, consumed=consumed))
        assert (backlog.ahead_row_count, backlog.unread_row_count) == (0, 0)


def test_a_partition_that_fails_is_counted_and_does_not_poison_the_others() -> None:
    backlog = add_up(stand(queue(UNMOUNTED, rows(0, 5)), {0: 2, 1: 1}))
    assert (backlog.failed_partition_count, backlog.unread_row_count) == (1, 4)


def test_a_lag_that_is_not_known_is_not_zero() -> None:
    assert add_up(stand(queue(rows(0, 9), columns=False), {0: 7})).processing_lag is None
    [shown] = consumer_overview(consumer(stand(queue(rows(0, 9), columns=False), {0: 7})), NOW)
    assert shown["processing_lag"] is None
    # One row of unknown age makes the age of the oldest unknown.
    assert add_up(stand(queue(rows(0, 9), rows(0, 9)), {0: 7, 1: 7}, committed=None)).processing_lag is None


def test_ages_are_never_negative_under_a_clock_that_is_ahead() -> None:
    assert add_up(stand(queue(rows(0, 9)), {0: 7}, committed=NOW + HOUR)).processing_lag == timedelta(0)


def test_partitions_that_come_and_go_count_as_they_are() -> None:
    before = stand(queue(rows(0, 9)), {0: 9})
    assert add_up(stand(queue(rows(0, 9), rows(0, 4)), {0: 9}, previous=before)).unread_row_count == 4
    assert add_up(stand(queue(), {}, previous=before)).unread_row_count == 0


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 30)), max_size=7))
def test_unread_rows_are_there(cases: list[tuple[int, int, int]]) -> None:
    view = queue(*(rows(lower, lower + count) for lower, count, _ in cases))
    backlog = add_up(stand(view, {index: offset for index, (_, _, offset) in enumerate(cases)}))
    assert 0 <= backlog.unread_row_count <= sum(count for _, count, _ in cases)


def test_partitions_always_have_a_host_and_a_cell_by_which_the_web_interface_can_filter() -> None:
    for partition in queue_partitions(snapshot_of(queue(UNMOUNTED, rows(0, 9))), NOW):
        assert partition["meta"] == {"cell_id": "", "host": ""}


def test_figures_of_a_queue_leave_out_what_is_not_known() -> None:
    figures = queue_overview(snapshot_of(queue(UNMOUNTED, rows(2, 9, weight=70), rows(5, 5))), {}, NOW)
    assert (figures["partition_count"], figures["failed_partition_count"]) == (3, 1)
    assert (figures["row_count"], figures["data_weight"]) == (7, 70)  # an empty partition weighs nothing
    unknown = queue_overview(snapshot_of(queue(rows(2, 9))), {}, NOW)
    assert (unknown["row_count"], unknown["data_weight"]) == (7, None)
    unread = queue_overview(snapshot_of(queue(UNMOUNTED)), {CONSUMER: BROKEN}, NOW)
    assert (unread["row_count"], unread["data_weight"], unread["last_row_commit_time"]) == (None, None, None)
    assert (unread["vital_consumer_count"], unread["failing_consumer_count"]) == (1, 1)
    assert "partition_count" not in queue_overview(snapshot_of(ErrorInfo("x")), {}, NOW)


def test_figures_of_a_consumer_name_every_registration() -> None:
    other = Registration(CrossClusterRef("pythia", "//tmp/other"), CONSUMER, vital=False)
    snapshot = replace(consumer(stand(queue(rows(0, 9)), {0: 4})), registrations=(VITAL, other))
    figures = consumer_overview(snapshot, NOW)
    assert [(one["queue"], one["vital"], one["verdict"]) for one in figures] == [
        ("pythia://tmp/q", True, "unknown"),
        ("pythia://tmp/other", False, "unknown"),
    ]
    [missing] = consumer_overview(consumer(QueueMissing(ErrorInfo("Queue snapshot is missing"))), NOW)
    assert missing["error"]["message"] == "Queue snapshot is missing"
