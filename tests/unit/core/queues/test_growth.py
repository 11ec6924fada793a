"""Counters of what was written, trimmed and read."""

from __future__ import annotations

from datetime import UTC, datetime

from queue_agent.core.queues.growth import NO_CONSUMER_GROWTH, Growth, QueueGrowth, registered_indexes
from queue_agent.core.queues.snapshots import (
    ConsumerPartition,
    ConsumerQueueView,
    Disposition,
    FailedConsumerPartition,
    QueuePartition,
    QueueRowValues,
    QueueView,
)
from queue_agent.core.state.rows import Registration
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.rates import Counters
from queue_agent.core.values.refs import CrossClusterRef

NOW = datetime(2025, 1, 23, 13, 42, 21, tzinfo=UTC)
QUEUE = CrossClusterRef("pythia", "//tmp/q")


def view(*tablets: tuple[str, int]) -> QueueView:
    partitions = [
        QueuePartition(name, "mounted", None, None, rows, 2 * rows, NOW, Counters()) for name, rows in tablets
    ]
    return QueueView(partitions, True, True, NOW, 1)


def test_rows_that_came_since_the_last_time_are_counted() -> None:
    growth = QueueGrowth().after(view(("1", 10))).after(view(("1", 15)))
    assert (growth.rows_written.total, growth.rows_trimmed.total) == (10, 5)


def test_an_old_queue_that_is_moved_to_a_path_counts_from_its_present_end() -> None:
    growth = QueueGrowth().after(view(("1", 10), ("2", 10))).after(view(("1", 11), ("3", 10_000)))
    assert (growth.rows_written.total, growth.rows_trimmed.total) == (2, 1)
    growth = growth.after(view(("1", 11), ("3", 10_002)))
    assert (growth.rows_written.total, growth.rows_trimmed.total) == (6, 3)


def test_what_was_counted_stays_when_a_tablet_is_replaced() -> None:
    growth = QueueGrowth().after(view(("1", 10))).after(view(("1", 15))).after(view(("2", 3)))
    assert (growth.rows_written.total, growth.rows_written.by_partition) == (10, {0: 10})


def test_partitions_that_are_gone_are_forgotten_but_what_they_had_is_counted() -> None:
    growth = QueueGrowth().after(view(("1", 10), ("2", 10))).after(view(("1", 10), ("2", 14))).after(view(("1", 10)))
    assert (growth.rows_written.total, growth.rows_written.by_partition) == (8, {0: 0})
    assert growth.after(view(("1", 10), ("2", 90))).rows_written.total == 8


def test_a_count_that_is_not_known_now_goes_on_from_where_it_was() -> None:
    growth = Growth().after({0: 10}, 1).after({0: None}, 1).after({}, 1).after({0: 15}, 1)
    assert (growth.total, growth.by_partition) == (5, {0: 5})


def test_a_consumer_grows_in_the_readable_partitions_it_is_registered_for() -> None:
    def at(*offsets: int) -> ConsumerQueueView:
        reading = [
            ConsumerPartition(
                one, NOW, Disposition.UP_TO_DATE, 0, None, None, 10 * one, Counters(), QueueRowValues("t", one)
            )
            for one in offsets
        ]
        return ConsumerQueueView([*reading, FailedConsumerPartition(ErrorInfo("broken"), 99, NOW, Counters())], NOW)

    def growth(partitions: tuple[int, ...] | None) -> tuple[int, int]:
        registration = Registration(QUEUE, QUEUE, True, partitions)
        seen = NO_CONSUMER_GROWTH.after(at(1, 1), registration).after(at(3, 6), registration)
        return seen.rows_consumed.total, seen.data_weight_consumed.total

    assert (growth(None), growth((1,)), growth((1, 2)), growth((2,))) == ((7, 70), (5, 50), (5, 50), (0, 0))


def test_partitions_that_a_queue_does_not_have_are_not_registered() -> None:
    failed = FailedConsumerPartition(ErrorInfo("broken"), 99, NOW, Counters())
    position = ConsumerQueueView([failed, failed], NOW)
    assert list(registered_indexes(position, Registration(QUEUE, QUEUE, True))) == [0, 1]
    assert registered_indexes(position, Registration(QUEUE, QUEUE, True, (1, 1, 7))) == {1}
