"""Metrics of queues and consumers: under the names of the C++ agent, for dashboards made for it, and a few of our own.

Of every partitioned metric there is one series per partition, with the label `partition_index`, and one of all
partitions without it. What is not known has no series.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from prometheus_client.core import Metric

from queue_agent.adapters.object_counters import CounterValues
from queue_agent.core.growth import NO_CONSUMER_GROWTH, NO_QUEUE_GROWTH, Growth, registered_partitions
from queue_agent.core.lag import processing_lag
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.rows import Registration
from queue_agent.core.snapshots import (
    ConsumerPartition,
    ConsumerQueueView,
    ConsumerSnapshot,
    QueuePartition,
    QueueSnapshot,
    Role,
)

Labels = Mapping[str, str]

MAX_PATH_LABEL_BYTES: Final = 200

_NO_TAG: Final = "none"
_QUEUE: Final = "yt_queue_agent_queue"
_CONSUMER: Final = "yt_queue_agent_consumer"
_CONSTRAINT: Final = "queue_agent_partition_trim_constraint"
_HELD: Final = "queue_agent_trim_held_rows"

# The type `unknown`: the client library would add `_total` to the name of a counter, which dashboards do not expect.
_FAMILIES: Final[Sequence[tuple[str, Literal["gauge", "unknown"], str]]] = (
    (f"{_QUEUE}_partitions", "gauge", "Partitions of the queue."),
    (f"{_QUEUE}_consumers", "gauge", "Registrations with the queue; without the label vital: all of them."),
    (f"{_QUEUE}_partition_rows_written", "unknown", "Counter of rows written since the agent first saw the queue."),
    (f"{_QUEUE}_partition_rows_trimmed", "unknown", "Counter of rows trimmed since the agent first saw the queue."),
    (f"{_QUEUE}_partition_data_weight_written", "unknown", "Counter of bytes written since the agent saw the queue."),
    (f"{_QUEUE}_partition_row_count", "gauge", "Rows that are there."),
    (f"{_QUEUE}_partition_data_weight", "gauge", "Bytes that are there; absent if the queue does not tell."),
    (_CONSTRAINT, "gauge", "Partitions by what keeps them from being trimmed further; absent if there are none."),
    (_HELD, "gauge", "Rows that could be trimmed if it were not for what holds back their partitions."),
    (f"{_CONSUMER}_partition_rows_consumed", "unknown", "Counter of rows read since the agent first saw the consumer."),
    (f"{_CONSUMER}_partition_data_weight_consumed", "unknown", "Counter of bytes read; absent if not known."),
    (f"{_CONSUMER}_partition_offset_max", "gauge", "Index of the next row to read."),
    *(
        (f"{_CONSUMER}_partition_{name}_{aggregate}", "gauge", text)
        for name, text in (
            ("lag_rows", "Unread rows; negative if the consumer is ahead."),
            ("lag_data_weight", "Unread bytes; absent if not known."),
            ("lag_time", "Age of the next row to read in seconds; 0 if not known or nothing is to be read."),
        )
        for aggregate in ("sum", "max", "avg")
    ),
)


class _Page:
    """The families under construction."""

    def __init__(self) -> None:
        self._families = {name: Metric(name, text, kind) for name, kind, text in _FAMILIES}

    def add(self, name: str, labels: Labels, value: float) -> None:
        self._families[name].add_sample(name, dict(labels), value)

    def add_partitions(self, name: str, labels: Labels, values: Mapping[int, float], in_all: float) -> None:
        """A series per partition and one of all of them; nothing if no partition's value is known."""
        if not values:
            return
        self.add(name, labels, in_all)
        for partition_index, value in values.items():
            self.add(name, {**labels, "partition_index": str(partition_index)}, value)

    def add_sums(self, name: str, labels: Labels, values: Mapping[int, float]) -> None:
        self.add_partitions(name, labels, values, sum(values.values()))

    def add_growth(self, name: str, labels: Labels, growth: Growth) -> None:
        self.add_partitions(name, labels, growth.by_partition, growth.total)

    def add_aggregates(self, name: str, labels: Labels, values: Mapping[int, float]) -> None:
        """The three families `_sum`, `_max` and `_avg`; a single partition has its value in each of them."""
        if not values:
            return
        total = sum(values.values())
        self.add_partitions(f"{name}_sum", labels, values, total)
        self.add_partitions(f"{name}_max", labels, values, max(values.values()))
        self.add_partitions(f"{name}_avg", labels, values, total / len(values))

    def families(self) -> list[Metric]:
        return [family for family in self._families.values() if family.samples]


def collect(
    queues: Mapping[CrossClusterRef, QueueSnapshot],
    consumers: Mapping[CrossClusterRef, ConsumerSnapshot],
    counters: CounterValues,
) -> list[Metric]:
    """The families of all objects led here; while an object or a partition can not be looked at it has no gauges."""
    page = _Page()
    for queue in queues.values():
        if queue.role is Role.LEADING:
            _collect_queue(page, queue, counters)
    for consumer in consumers.values():
        if consumer.role is Role.LEADING:
            for registration in consumer.registrations:
                _collect_consumer(page, consumer, registration, queues.get(registration.queue), counters)
    return page.families()


def _collect_queue(page: _Page, snapshot: QueueSnapshot, counters: CounterValues) -> None:
    labels = _queue_labels(snapshot.ref, snapshot)
    view = snapshot.view
    known: dict[int, QueuePartition] = {}
    if view is not None:
        known = {i: partition for i, partition in enumerate(view.partitions) if isinstance(partition, QueuePartition)}
        page.add(f"{_QUEUE}_partitions", labels, len(view.partitions))
        vital = sum(registration.vital for registration in snapshot.registrations)
        page.add(f"{_QUEUE}_consumers", labels, len(snapshot.registrations))
        page.add(f"{_QUEUE}_consumers", {**labels, "vital": "true"}, vital)
        page.add(f"{_QUEUE}_consumers", {**labels, "vital": "false"}, len(snapshot.registrations) - vital)
    growth = counters.queues.get(snapshot.ref, NO_QUEUE_GROWTH)
    page.add_growth(f"{_QUEUE}_partition_rows_written", labels, growth.rows_written)
    page.add_growth(f"{_QUEUE}_partition_rows_trimmed", labels, growth.rows_trimmed)
    page.add_growth(f"{_QUEUE}_partition_data_weight_written", labels, growth.data_weight_written)
    page.add_sums(
        f"{_QUEUE}_partition_row_count", labels, {i: partition.available_row_count for i, partition in known.items()}
    )
    page.add_sums(
        f"{_QUEUE}_partition_data_weight",
        labels,
        _known({i: partition.available_data_weight for i, partition in known.items()}),
    )
    if snapshot.trims is not None:
        constraints = [trim.constraint for trim in snapshot.trims.values()]
        for kind, number in Counter(constraint.kind.value for constraint in constraints).items():
            page.add(_CONSTRAINT, {**labels, "kind": kind}, number)
        page.add(_HELD, labels, sum(constraint.held_row_count or 0 for constraint in constraints))


def _collect_consumer(
    page: _Page,
    snapshot: ConsumerSnapshot,
    registration: Registration,
    queue: QueueSnapshot | None,
    counters: CounterValues,
) -> None:
    labels = {
        "consumer_cluster": snapshot.ref.cluster,
        "consumer_path": _consumer_label(snapshot.ref),
        "consumer_tag": snapshot.row.queue_consumer_profiling_tag or _NO_TAG,
        **_queue_labels(registration.queue, queue),
    }
    sub = None if snapshot.view is None else snapshot.view.queues.get(registration.queue)
    known: Mapping[int, ConsumerPartition] = {}
    seen_at = snapshot.pass_instant
    if isinstance(sub, ConsumerQueueView):
        seen_at = sub.seen_at
        known = registered_partitions(sub, registration)
    growth = counters.consumers.get((snapshot.ref, registration.queue), NO_CONSUMER_GROWTH)
    page.add_growth(f"{_CONSUMER}_partition_rows_consumed", labels, growth.rows_consumed)
    page.add_growth(f"{_CONSUMER}_partition_data_weight_consumed", labels, growth.data_weight_consumed)
    offsets = {i: partition.next_row_index for i, partition in known.items()}
    page.add_partitions(f"{_CONSUMER}_partition_offset_max", labels, offsets, max(offsets.values(), default=0))
    page.add_aggregates(
        f"{_CONSUMER}_partition_lag_rows",
        labels,
        {i: partition.unread_row_count for i, partition in known.items()},
    )
    page.add_aggregates(
        f"{_CONSUMER}_partition_lag_data_weight",
        labels,
        _known({i: partition.unread_data_weight for i, partition in known.items()}),
    )
    page.add_aggregates(
        f"{_CONSUMER}_partition_lag_time",
        labels,
        {i: processing_lag(partition.next_row_commit_time, seen_at).total_seconds() for i, partition in known.items()},
    )


def _queue_labels(ref: CrossClusterRef, snapshot: QueueSnapshot | None) -> Labels:
    tag = None if snapshot is None else snapshot.row.queue_profiling_tag
    return {"queue_cluster": ref.cluster, "queue_path": _path_label(ref.path), "queue_tag": tag or _NO_TAG}


def _consumer_label(ref: CrossClusterRef) -> str:
    """Consumers of one table are told apart by their names."""
    path = _path_label(ref.path)
    return f"{path}:{_path_label(ref.name)}" if ref.name else path


def _path_label(path: str) -> str:
    return path.encode()[:MAX_PATH_LABEL_BYTES].decode(errors="ignore")


def _known(values: Mapping[int, int | None]) -> dict[int, float]:
    return {partition_index: value for partition_index, value in values.items() if value is not None}
