"""Counters of what was written, trimmed and read."""

from __future__ import annotations

from datetime import UTC, datetime

from queue_agent.core.queues.growth import QueueGrowth
from queue_agent.core.queues.snapshots import QueuePartition, QueueView
from queue_agent.core.values.rates import Counters

NOW = datetime(2025, 1, 23, 13, 42, 21, tzinfo=UTC)


def view(*tablets: tuple[str, int]) -> QueueView:
    partitions = [
        QueuePartition(name, "mounted", None, None, rows, 2 * rows, NOW, Counters()) for name, rows in tablets
    ]
    return QueueView(partitions, True, True, NOW)


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
