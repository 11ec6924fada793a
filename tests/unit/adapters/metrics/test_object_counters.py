"""Counters of objects: what they count, what they do not, and how long they are there."""

from __future__ import annotations

from dataclasses import replace

from queue_agent.core.queues.snapshots import ConsumerView, Role
from tests.unit.adapters.object_samples import (
    CONSUMER_LABELS,
    ERROR,
    QUEUE_LABELS,
    ObjectMetrics,
    collect,
    consumer,
    failed,
    partition,
    queue,
    reading,
)


def test_counters_start_at_zero_and_add_up_what_was_written_and_trimmed() -> None:
    metrics = ObjectMetrics()
    first = collect(metrics, [queue(partition(2, 5, 50), partition(0, 10, 100))])
    assert first.value("queue_partition_rows_written", QUEUE_LABELS) == 0
    page = collect(metrics, [queue(partition(4, 8, 80), partition(0, 11, 111))])
    assert page.value("queue_partition_rows_written", QUEUE_LABELS) == 4
    assert page.value("queue_partition_rows_written", QUEUE_LABELS, partition_index="0") == 3
    assert page.value("queue_partition_rows_trimmed", QUEUE_LABELS) == 2
    assert page.value("queue_partition_data_weight_written", QUEUE_LABELS) == 41


def test_counters_begin_with_the_first_snapshot_and_not_with_the_first_page() -> None:
    metrics = ObjectMetrics()
    for upper in (5, 9, 12):
        metrics.publish([queue(partition(0, upper))], [consumer(reading(upper, 0))])
    page = metrics.collect([queue(partition(0, 12))], [consumer(reading(12, 0))])
    assert page.value("queue_partition_rows_written", QUEUE_LABELS) == 7
    assert page.value("consumer_partition_rows_consumed", CONSUMER_LABELS) == 7


def test_nothing_is_lost_or_counted_twice_between_pages_however_many_there_are() -> None:
    metrics = ObjectMetrics()
    for upper in (5, 9, 2, 4):
        metrics.publish([queue(partition(0, upper))])
    pages = [metrics.collect([queue(partition(0, 4))]) for _ in range(3)]
    assert [page.value("queue_partition_rows_written", QUEUE_LABELS) for page in pages] == [6, 6, 6]


def test_an_object_in_error_for_a_while_keeps_its_counters() -> None:
    metrics = ObjectMetrics()
    collect(metrics, [queue(partition(0, 5))])
    collect(metrics, [replace(queue(), role=Role.ERROR, content=ERROR)])
    page = collect(metrics, [queue(partition(0, 8))])
    assert page.value("queue_partition_rows_written", QUEUE_LABELS) == 3


def test_counters_never_fall() -> None:
    metrics = ObjectMetrics()
    for upper in (5, 9, 1, 3):
        page = collect(metrics, [queue(partition(0, upper))])
    assert page.value("queue_partition_rows_written", QUEUE_LABELS) == 6


def test_counters_stand_still_while_a_partition_or_the_queue_can_not_be_read() -> None:
    metrics = ObjectMetrics()
    collect(metrics, [queue(partition(0, 5), partition(0, 5))])
    page = collect(metrics, [queue(partition(0, 6), failed())])
    assert page.value("queue_partition_rows_written", QUEUE_LABELS) == 1
    assert page.value("queue_partition_rows_written", QUEUE_LABELS, partition_index="1") == 0
    page = collect(metrics, [replace(queue(), content=ERROR)])
    assert page.value("queue_partition_rows_written", QUEUE_LABELS) == 1
    assert page.value("queue_partition_row_count", QUEUE_LABELS) is None
    page = collect(metrics, [queue(partition(0, 6), partition(0, 8))])
    assert page.value("queue_partition_rows_written", QUEUE_LABELS) == 4


def test_series_of_partitions_that_are_no_more_vanish_and_the_total_stays() -> None:
    metrics = ObjectMetrics()
    collect(metrics, [queue(partition(0, 0), partition(0, 0))])
    collect(metrics, [queue(partition(0, 0), partition(0, 7))])
    page = collect(metrics, [queue(partition(0, 0))])
    assert page.value("queue_partition_rows_written", QUEUE_LABELS, partition_index="1") is None
    assert page.value("queue_partition_rows_written", QUEUE_LABELS) == 7


def test_series_vanish_with_their_object_and_start_anew() -> None:
    metrics = ObjectMetrics()
    collect(metrics, [queue(partition(0, 0))])
    collect(metrics, [queue(partition(0, 7))])
    assert not collect(metrics).names
    assert collect(metrics, [queue(partition(0, 9))]).value("queue_partition_rows_written", QUEUE_LABELS) == 0


def test_counters_of_a_consumer_start_anew_with_another_registration() -> None:
    metrics = ObjectMetrics()
    for row in (3, 5):
        metrics.publish([queue(partition(0, 90))], [consumer(reading(row, 1))])
    unregistered = replace(consumer(), content=ConsumerView({}), registrations=[])
    metrics.publish([queue(partition(0, 90))], [unregistered])
    page = collect(metrics, [queue(partition(0, 90))], [consumer(reading(80, 1))])
    assert page.value("consumer_partition_rows_consumed", CONSUMER_LABELS) == 0


def test_rows_read_are_counted_and_an_offset_set_back_is_no_reading() -> None:
    metrics = ObjectMetrics()
    for next_row_index, weight in ((10, 100), (15, 150), (5, 50), (6, 60)):
        page = collect(metrics, [], [consumer(reading(next_row_index, 1, weight))])
    assert page.value("consumer_partition_rows_consumed", CONSUMER_LABELS) == 6
    assert page.value("consumer_partition_data_weight_consumed", CONSUMER_LABELS) == 60
