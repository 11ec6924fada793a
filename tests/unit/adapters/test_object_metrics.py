from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from prometheus_client import generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from queue_agent.adapters.object_counters import ObjectCounters
from queue_agent.adapters.object_metrics import MAX_PATH_LABEL_BYTES
from queue_agent.adapters.object_metrics import collect as collect_families
from queue_agent.core.error_info import ErrorInfo
from queue_agent.core.rates import Counters
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.rows import ConsumerRow, QueueRow, Registration
from queue_agent.core.snapshots import (
    ConsumerPartition,
    ConsumerQueueView,
    ConsumerSnapshot,
    ConsumerView,
    Disposition,
    FailedConsumerPartition,
    FailedQueuePartition,
    QueuePartition,
    QueueRowValues,
    QueueSnapshot,
    QueueView,
    Role,
)
from queue_agent.core.trim_constraints import ConstraintKind, PartitionTrim, TrimConstraint

NOW = datetime(2025, 1, 23, tzinfo=UTC)
QUEUE = CrossClusterRef("pythia", "//tmp/q")
CONSUMER = CrossClusterRef("hume", "//tmp/c")
REGISTRATION = Registration(QUEUE, CONSUMER, vital=True)
ERROR = ErrorInfo("it can not be read")
QUEUE_LABELS = {"queue_cluster": "pythia", "queue_path": "//tmp/q", "queue_tag": "none"}
CONSUMER_LABELS = {"consumer_cluster": "hume", "consumer_path": "//tmp/c", "consumer_tag": "none", **QUEUE_LABELS}


def partition(lower: int, upper: int, weight: int | None = None, trimmed_weight: int | None = None) -> QueuePartition:
    return QueuePartition("t", "mounted", None, None, lower, upper, NOW, Counters(), weight, trimmed_weight)


def failed() -> FailedQueuePartition:
    return FailedQueuePartition("t", "unmounted", ERROR)


def queue(*partitions: QueuePartition | FailedQueuePartition, ref: CrossClusterRef = QUEUE) -> QueueSnapshot:
    view = QueueView(partitions, True, True, NOW)
    return QueueSnapshot(QueueRow(ref), Role.LEADING, 1, NOW, view, registrations=[REGISTRATION])


def reading(next_row_index: int, unread: int, weight: int | None = None, lag_seconds: float = 0) -> ConsumerPartition:
    return ConsumerPartition(
        next_row_index=next_row_index,
        last_consume_time=NOW,
        disposition=Disposition.PENDING_CONSUMPTION,
        unread_row_count=unread,
        unread_data_weight=None if weight is None else 10 * unread,
        next_row_commit_time=NOW - timedelta(seconds=lag_seconds),
        cumulative_data_weight=weight,
        counters=Counters(),
        queue_row_values=QueueRowValues("t", next_row_index),
    )


def consumer(
    *partitions: ConsumerPartition | FailedConsumerPartition, registration: Registration = REGISTRATION
) -> ConsumerSnapshot:
    view = ConsumerView({QUEUE: ConsumerQueueView(partitions, NOW)})
    return ConsumerSnapshot(ConsumerRow(CONSUMER), Role.LEADING, 1, NOW, view, registrations=[registration])


class Page:
    """One page of metrics."""

    def __init__(self, families: Sequence[Metric]) -> None:
        self._samples = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in families
            for sample in family.samples
        }

    def value(self, name: str, labels: Mapping[str, str], **more: str) -> float | None:
        return self._samples.get((f"yt_queue_agent_{name}", frozenset({**labels, **more}.items())))

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self._samples}


class ObjectMetrics:
    """Pages of metrics, and the counters behind them."""

    def __init__(self) -> None:
        self._counters = ObjectCounters()

    def publish(self, queues: Sequence[QueueSnapshot] = (), consumers: Sequence[ConsumerSnapshot] = ()) -> None:
        """The objects there are now."""
        self._counters.objects_kept([one.ref for one in queues], [one.ref for one in consumers])
        for queue_snapshot in queues:
            self._counters.queue_published(queue_snapshot)
        for consumer_snapshot in consumers:
            self._counters.consumer_published(consumer_snapshot)

    def collect(self, queues: Sequence[QueueSnapshot] = (), consumers: Sequence[ConsumerSnapshot] = ()) -> list[Metric]:
        return collect_families(
            {one.ref: one for one in queues}, {one.ref: one for one in consumers}, self._counters.values()
        )


def collect(
    metrics: ObjectMetrics, queues: Sequence[QueueSnapshot] = (), consumers: Sequence[ConsumerSnapshot] = ()
) -> Page:
    """Publish, and look."""
    metrics.publish(queues, consumers)
    return Page(metrics.collect(queues, consumers))


def test_gauges_of_a_queue_are_those_of_its_snapshot() -> None:
    page = collect(ObjectMetrics(), [queue(partition(2, 5, 100, 30), partition(0, 1), failed())])
    assert page.value("queue_partitions", QUEUE_LABELS) == 3
    assert page.value("queue_consumers", QUEUE_LABELS) == 1
    assert page.value("queue_consumers", QUEUE_LABELS, vital="true") == 1
    assert page.value("queue_consumers", QUEUE_LABELS, vital="false") == 0
    assert page.value("queue_partition_row_count", QUEUE_LABELS) == 4
    assert page.value("queue_partition_row_count", QUEUE_LABELS, partition_index="0") == 3
    assert page.value("queue_partition_data_weight", QUEUE_LABELS) == 70


def test_what_is_not_known_has_no_series() -> None:
    page = collect(ObjectMetrics(), [queue(partition(0, 1), failed())])
    assert page.value("queue_partition_row_count", QUEUE_LABELS, partition_index="1") is None
    assert not {name for name in page.names if "data_weight" in name}


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
    page = Page(metrics.collect([queue(partition(0, 12))], [consumer(reading(12, 0))]))
    assert page.value("queue_partition_rows_written", QUEUE_LABELS) == 7
    assert page.value("consumer_partition_rows_consumed", CONSUMER_LABELS) == 7


def test_nothing_is_lost_or_counted_twice_between_pages_however_many_there_are() -> None:
    metrics = ObjectMetrics()
    for upper in (5, 9, 2, 4):
        metrics.publish([queue(partition(0, upper))])
    pages = [Page(metrics.collect([queue(partition(0, 4))])) for _ in range(3)]
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


def test_objects_that_others_lead_or_nobody_can_have_no_series() -> None:
    for role in (Role.FOLLOWING, Role.ERROR):
        assert not collect(ObjectMetrics(), [replace(queue(partition(0, 1)), role=role)]).names


def test_gauges_of_a_consumer_come_per_partition_and_over_all() -> None:
    snapshot = consumer(reading(10, 6, 100, 2.5), reading(20, 2, 200))
    page = collect(ObjectMetrics(), [queue(partition(0, 16), partition(0, 22))], [snapshot])
    expected = {
        "offset_max": 20,
        "lag_rows_sum": 8,
        "lag_rows_max": 6,
        "lag_rows_avg": 4,
        "lag_data_weight_sum": 80,
        "lag_time_max": 2.5,
        "lag_time_avg": 1.25,
    }
    for name, value in expected.items():
        assert page.value(f"consumer_partition_{name}", CONSUMER_LABELS) == value
    for name in ("lag_rows_sum", "lag_rows_max", "lag_rows_avg"):
        assert page.value(f"consumer_partition_{name}", CONSUMER_LABELS, partition_index="1") == 2


def test_rows_read_are_counted_and_an_offset_set_back_is_no_reading() -> None:
    metrics = ObjectMetrics()
    for next_row_index, weight in ((10, 100), (15, 150), (5, 50), (6, 60)):
        page = collect(metrics, [], [consumer(reading(next_row_index, 1, weight))])
    assert page.value("consumer_partition_rows_consumed", CONSUMER_LABELS) == 6
    assert page.value("consumer_partition_data_weight_consumed", CONSUMER_LABELS) == 60


def test_only_registered_partitions_of_a_consumer_are_shown() -> None:
    some = replace(REGISTRATION, partitions=(1, 7))
    page = collect(ObjectMetrics(), [], [consumer(reading(1, 5), reading(1, 6), registration=some)])
    assert page.value("consumer_partition_lag_rows_sum", CONSUMER_LABELS) == 6
    assert page.value("consumer_partition_lag_rows_sum", CONSUMER_LABELS, partition_index="0") is None


def test_a_consumer_partition_or_queue_in_error_has_no_gauges() -> None:
    failed_partition = FailedConsumerPartition(ERROR, 5, NOW, Counters())
    page = collect(ObjectMetrics(), [], [consumer(failed_partition)])
    assert not page.names
    page = collect(ObjectMetrics(), [], [replace(consumer(), content=ConsumerView({QUEUE: ERROR}))])
    assert not page.names


def test_tags_are_labels() -> None:
    tagged = replace(queue(partition(0, 1)), row=QueueRow(QUEUE, queue_profiling_tag="blue"))
    reader = consumer(reading(1, 0))
    reader = replace(reader, row=replace(reader.row, queue_consumer_profiling_tag="red"))
    page = collect(ObjectMetrics(), [tagged], [reader])
    assert page.value("queue_partitions", {**QUEUE_LABELS, "queue_tag": "blue"}) == 1
    labels = {**CONSUMER_LABELS, "queue_tag": "blue", "consumer_tag": "red"}
    assert page.value("consumer_partition_offset_max", labels) == 1


def test_long_paths_are_cut_between_characters() -> None:
    ref = CrossClusterRef("pythia", "//" + "я" * 150)
    page = collect(ObjectMetrics(), [queue(partition(0, 1), ref=ref)])
    label = "//" + "я" * ((MAX_PATH_LABEL_BYTES - 2) // 2)
    assert page.value("queue_partitions", {**QUEUE_LABELS, "queue_path": label}) == 1


class Shown(Collector):
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


def test_counters_are_rendered_without_a_suffix() -> None:
    metrics = ObjectMetrics()
    metrics.publish([queue(partition(0, 1))])
    families = metrics.collect([queue(partition(0, 1))])
    lines = generate_latest(Shown(families)).decode().splitlines()
    name = "yt_queue_agent_queue_partition_rows_written"
    assert f"# TYPE {name} untyped" in lines
    assert f'{name}{{queue_cluster="pythia",queue_path="//tmp/q",queue_tag="none"}} 0.0' in lines


def test_partitions_are_counted_by_what_holds_them_back() -> None:
    def held(kind: ConstraintKind, row_count: int | None) -> PartitionTrim:
        return PartitionTrim(None, TrimConstraint(kind, held_row_count=row_count))

    trims = {
        0: held(ConstraintKind.RETAINED_ROWS, 5),
        1: held(ConstraintKind.RETAINED_ROWS, 6),
        2: held(ConstraintKind.NOT_MOUNTED, None),
    }
    snapshot = replace(queue(partition(0, 9), partition(0, 9), failed()), trims=trims)
    samples = {
        (sample.name, sample.labels.get("kind")): sample.value
        for family in ObjectMetrics().collect([snapshot])
        for sample in family.samples
        if "_trim_" in sample.name
    }
    assert samples == {
        ("queue_agent_partition_trim_constraint", "retained_rows"): 2,
        ("queue_agent_partition_trim_constraint", "not_mounted"): 1,
        ("queue_agent_trim_held_rows", None): 11,
    }
    assert not [name for name in collect(ObjectMetrics(), [queue(partition(0, 9))]).names if "_trim_" in name]
