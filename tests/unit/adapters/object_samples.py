"""Snapshots with few figures, and what metrics show of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from queue_agent.adapters.metrics.compatible_families import COMPATIBLE_OBJECT_FAMILIES
from queue_agent.adapters.metrics.metric_families import OWN_OBJECT_FAMILIES
from queue_agent.adapters.metrics.metric_lines import render_families
from queue_agent.adapters.metrics.object_counters import ObjectCounters
from queue_agent.adapters.metrics.object_page import ObjectPage, Objects, PageParts
from queue_agent.config.serving import MetricsConfig
from queue_agent.core.queues.snapshots import (
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
from queue_agent.core.state.rows import ConsumerRow, QueueRow, Registration
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.rates import Counters
from queue_agent.core.values.refs import CrossClusterRef

NOW = datetime(2025, 1, 23, tzinfo=UTC)
QUEUE = CrossClusterRef("pythia", "//tmp/q")
CONSUMER = CrossClusterRef("hume", "//tmp/c")
REGISTRATION = Registration(QUEUE, CONSUMER, vital=True)
ERROR = ErrorInfo("it cannot be read")
QUEUE_LABELS = {"queue_cluster": "pythia", "queue_path": "//tmp/q", "queue_tag": "none"}
CONSUMER_LABELS = {"consumer_cluster": "hume", "consumer_path": "//tmp/c", "consumer_tag": "none", **QUEUE_LABELS}


def partition(lower: int, upper: int, weight: int | None = None, trimmed_weight: int | None = None) -> QueuePartition:
    return QueuePartition("t", "mounted", None, None, lower, upper, NOW, Counters(), weight, trimmed_weight)


def failed() -> FailedQueuePartition:
    return FailedQueuePartition("t", "unmounted", ERROR)


def queue(*partitions: QueuePartition | FailedQueuePartition, ref: CrossClusterRef = QUEUE) -> QueueSnapshot:
    view = QueueView(partitions, True, True, NOW, 1)
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

    def __init__(self, parts: PageParts) -> None:
        families = render_families(COMPATIBLE_OBJECT_FAMILIES + OWN_OBJECT_FAMILIES, parts.parts, as_open_metrics=False)
        self.text = b"".join(families).decode()
        self.shown = parts.shown
        self.shed = parts.shed
        self._samples = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            # The library would put `_total` behind the names of counters.
            for family in text_string_to_metric_families(self.text.replace(" counter\n", " untyped\n"))
            for sample in family.samples
        }

    def value(self, name: str, labels: Mapping[str, str], **more: str) -> float | None:
        """Of a series with the C++ agent's name."""
        return self._samples.get((f"yt_queue_agent_{name}", frozenset({**labels, **more}.items())))

    def own(self, name: str, labels: Mapping[str, str], **more: str) -> float | None:
        """Of a series of our own."""
        return self._samples.get((f"queue_agent_{name}", frozenset({**labels, **more}.items())))

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self._samples}


class ObjectMetrics:
    """Pages of metrics, and the counters behind them."""

    def __init__(self, **config: Any) -> None:
        self._counters = ObjectCounters()
        self._page = ObjectPage(MetricsConfig.model_validate({"partitions": "all", **config}))

    def publish(self, queues: Sequence[QueueSnapshot] = (), consumers: Sequence[ConsumerSnapshot] = ()) -> None:
        """The objects there are now."""
        self._counters.objects_kept([one.ref for one in queues], [one.ref for one in consumers])
        for queue_snapshot in queues:
            self._counters.queue_published(queue_snapshot)
        for consumer_snapshot in consumers:
            self._counters.consumer_published(consumer_snapshot)

    def collect(self, queues: Sequence[QueueSnapshot] = (), consumers: Sequence[ConsumerSnapshot] = ()) -> Page:
        by_ref = {one.ref: one for one in queues}
        led = {ref: one for ref, one in by_ref.items() if one.role is not Role.FOLLOWING}
        return Page(
            self._page.update(Objects(led, {one.ref: one for one in consumers}, by_ref, self._counters.values()))
        )


def collect(
    metrics: ObjectMetrics, queues: Sequence[QueueSnapshot] = (), consumers: Sequence[ConsumerSnapshot] = ()
) -> Page:
    """Publish, and look."""
    metrics.publish(queues, consumers)
    return metrics.collect(queues, consumers)
