"""Series of one queue or of one consumer of a queue: under our own names, and under those of the C++ agent.

What is not known has no series. Under the names of the C++ agent the series of all partitions has the name of that of
one, without the label `partition_index`; under our own it has another name.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Final

from queue_agent.adapters.metrics.metric_lines import Lines, cut, label_text
from queue_agent.core.consumers.lag import find_lag
from queue_agent.core.queues.growth import (
    ConsumerGrowth,
    Growth,
    QueueGrowth,
    registered_indexes,
    registered_partitions,
)
from queue_agent.core.queues.snapshots import (
    ConsumerPartition,
    ConsumerQueueView,
    ConsumerSnapshot,
    QueuePartition,
    QueueSnapshot,
    QueueView,
    Role,
    SubSnapshot,
)
from queue_agent.core.state.rows import Registration
from queue_agent.core.values.encoding import EPOCH
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.forecasts import NOT_READING
from queue_agent.core.verdicts.objectives import ObjectiveStatus
from queue_agent.core.verdicts.values import QueueVerdict

_NO_TAG: Final = "none"
_QUEUE: Final = "yt_queue_agent_queue"
_CONSUMER: Final = "yt_queue_agent_consumer_partition"
_OWN_QUEUE: Final = "queue_agent_queue"
_OWN_CONSUMER: Final = "queue_agent_consumer"

LAG_BOUNDS: Final = tuple(
    bound * 1000**power
    for power in range(4)
    for bound in (1, 2, 4, 8, 16, 32, 64, 125, 250, 500)
    if bound * 1000**power <= 125_000_000_000
)
"""Milliseconds; the C++ agent's."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which series of an object are wanted."""

    compatible: bool = True
    """Those under the names of the C++ agent as well."""

    partitions: Sequence[int] | None = ()
    """Single partitions, in order; None: all."""

    histogram: bool = False
    """The distribution of lag over the partitions."""


@dataclass(frozen=True, slots=True)
class ObjectSeries:
    """The series of an object; what comes first is the more important."""

    aggregates: Lines
    partitions: Lines
    histogram: Lines


def queue_labels(ref: CrossClusterRef, snapshot: QueueSnapshot | None) -> dict[str, str]:
    """Labels that identify a queue."""
    tag = None if snapshot is None else snapshot.row.queue_profiling_tag
    return {"queue_cluster": ref.cluster, "queue_path": cut(ref.path), "queue_tag": tag or _NO_TAG}


def consumer_labels(snapshot: ConsumerSnapshot) -> dict[str, str]:
    """Labels that identify a consumer; only one of several in a table has a name."""
    return {**_ref_labels(snapshot.ref), "consumer_tag": snapshot.row.queue_consumer_profiling_tag or _NO_TAG}


def _ref_labels(ref: CrossClusterRef) -> dict[str, str]:
    return {"consumer_cluster": ref.cluster, "consumer_path": cut(ref.path), "consumer_name": cut(ref.name)}


class _Object:
    """The series of one object under construction."""

    def __init__(self, labels: Mapping[str, str], choice: Choice) -> None:
        self._labels = labels
        self._choice = choice
        self._text = label_text(labels)
        self.series = ObjectSeries(Lines(), Lines(), Lines())

    def add(self, name: str, value: float | None, **more: str) -> None:
        """A series, if its value is known."""
        if value is not None:
            text = f"{self._text},{label_text(more)}" if more else self._text
            self.series.aggregates.add(name, text, value)

    def add_partitions(self, name: str, values: Mapping[int, float]) -> None:
        """A series for each partition that is wanted."""
        wanted = self._choice.partitions
        for index in values if wanted is None else wanted:
            value = values.get(index)
            if value is not None:
                self.series.partitions.add(name, f'{self._text},partition_index="{index}"', value)

    def add_compatible(self, name: str, values: Mapping[int, float], in_all: float) -> None:
        """One series of all partitions and those of single ones; none if no partition's value is known."""
        if self._choice.compatible and values:
            self.add(name, in_all)
            self.add_partitions(name, values)

    def add_aggregates(self, name: str, values: Mapping[int, float]) -> None:
        """The three families `_sum`, `_max` and `_avg`; a single partition has its value in each of them."""
        if values:
            total = sum(values.values())
            self.add_compatible(f"{name}_sum", values, total)
            self.add_compatible(f"{name}_max", values, max(values.values()))
            self.add_compatible(f"{name}_avg", values, total / len(values))

    def add_growth(self, compatible: str, own: str, growth: Growth, own_partitions: str | None = None) -> None:
        if growth.by_partition:
            self.add_compatible(compatible, growth.by_partition, growth.total)
            self.add(own, growth.total)
            if own_partitions is not None:
                self.add_partitions(own_partitions, growth.by_partition)

    def add_histogram(self, name: str, milliseconds: Collection[float]) -> None:
        if not (self._choice.histogram and self._choice.compatible):
            return
        counts = [0] * (len(LAG_BOUNDS) + 1)
        for value in milliseconds:
            counts[bisect_left(LAG_BOUNDS, value)] += 1
        bounds = (*map(str, LAG_BOUNDS), "+Inf")
        for bound, count in zip(bounds, accumulate(counts), strict=True):
            self.series.histogram.add(name, f'{self._text},le="{bound}"', count, f"{name}_bucket")
        self.series.histogram.add(name, self._text, len(milliseconds), f"{name}_count")


def queue_series(snapshot: QueueSnapshot, growth: QueueGrowth, choice: Choice) -> ObjectSeries:
    """The series of a queue led here; while it, or a partition, cannot be looked at it has no gauges."""
    page = _Object(queue_labels(snapshot.ref, snapshot), choice)
    view = snapshot.view
    page.add(f"{_OWN_QUEUE}_readable", int(view is not None))
    known: dict[int, QueuePartition] = {}
    if view is not None:
        known = _readable(view)
        _add_counts(page, snapshot, view, len(known), choice)
    page.add_growth(
        f"{_QUEUE}_partition_rows_written",
        f"{_OWN_QUEUE}_rows_written_total",
        growth.rows_written,
        f"{_OWN_QUEUE}_partition_rows_written_total",
    )
    page.add_growth(
        f"{_QUEUE}_partition_rows_trimmed",
        f"{_OWN_QUEUE}_rows_trimmed_total",
        growth.rows_trimmed,
        f"{_OWN_QUEUE}_partition_rows_trimmed_total",
    )
    page.add_growth(
        f"{_QUEUE}_partition_data_weight_written",
        f"{_OWN_QUEUE}_written_bytes_total",
        growth.data_weight_written,
    )
    rows = {index: partition.available_row_count for index, partition in known.items()}
    page.add_compatible(f"{_QUEUE}_partition_row_count", rows, sum(rows.values()))
    weights = _known({index: partition.available_data_weight for index, partition in known.items()})
    page.add_compatible(f"{_QUEUE}_partition_data_weight", weights, sum(weights.values()))
    if known:
        page.add(f"{_OWN_QUEUE}_rows", sum(rows.values()))
        page.add_partitions(f"{_OWN_QUEUE}_partition_rows", rows)
        _add_time(page, f"{_OWN_QUEUE}_last_write_timestamp_seconds", (p.last_row_commit_time for p in known.values()))
    if weights or (view is not None and _is_known_empty(view, rows)):
        page.add(f"{_OWN_QUEUE}_bytes", sum(weights.values()))
    _add_trims(page, snapshot)
    for one in snapshot.quarantines:
        page.add(f"{_OWN_QUEUE}_quarantine", 1, **_ref_labels(one.consumer), state=one.state)
    for category in snapshot.all_alerts:
        page.add(f"{_OWN_QUEUE}_alerts", 1, category=category)
    return page.series


def missing_consumers(queue: QueueSnapshot, known: Container[CrossClusterRef] | None) -> Lines:
    """A series for each consumer that is registered and does not exist: nobody leads it, so only its queue can tell.

    Args:
        queue: one that is not led here has no metrics.
        known: the consumers that exist; None: not known.
    """
    lines = Lines()
    if known is None or queue.role is not Role.LEADING or queue.banned_since is not None:
        return lines
    for one in queue.registrations:
        if one.consumer not in known:
            labels = {**_ref_labels(one.consumer), "consumer_tag": _NO_TAG, **queue_labels(queue.ref, queue)}
            lines.add("queue_agent_registration_broken", label_text({**labels, "reason": "consumer_missing"}), 1)
    return lines


def find_break(snapshot: ConsumerSnapshot, queue: QueueSnapshot | None) -> str:
    """Why a consumer that exists cannot be compared with a queue."""
    if snapshot.error is not None or (queue is not None and queue.is_whole):
        return "consumer_error"
    return "queue_missing" if queue is None else "queue_error"


def _is_known_empty(view: QueueView, rows: Mapping[int, int]) -> bool:
    """Whether a queue that would tell its data weight has none: nobody says what rows weighed that are gone."""
    return view.has_cumulative_data_weight_column and bool(rows) and not any(rows.values())


def _add_counts(page: _Object, snapshot: QueueSnapshot, view: QueueView, readable: int, choice: Choice) -> None:
    page.add(f"{_OWN_QUEUE}_partitions", readable, state="ok")
    page.add(f"{_OWN_QUEUE}_partitions", len(view.partitions) - readable, state="error")
    vital = sum(registration.vital for registration in snapshot.registrations)
    other = len(snapshot.registrations) - vital
    page.add(f"{_OWN_QUEUE}_registrations", vital, vital="true")
    page.add(f"{_OWN_QUEUE}_registrations", other, vital="false")
    if choice.compatible:
        page.add(f"{_QUEUE}_partitions", len(view.partitions))
        page.add(f"{_QUEUE}_consumers", vital + other)
        page.add(f"{_QUEUE}_consumers", vital, vital="true")
        page.add(f"{_QUEUE}_consumers", other, vital="false")


def _add_trims(page: _Object, snapshot: QueueSnapshot) -> None:
    if snapshot.trims is None:
        return
    constraints = [trim.constraint for trim in snapshot.trims.values()]
    for kind, number in Counter(constraint.kind.value for constraint in constraints).items():
        page.add(f"{_OWN_QUEUE}_trim_constraint_partitions", number, kind=kind)
    held: dict[str, int] = {}
    for constraint in constraints:
        if constraint.held_row_count is not None:
            held[constraint.kind.value] = held.get(constraint.kind.value, 0) + constraint.held_row_count
    for kind, rows in held.items():
        page.add(f"{_OWN_QUEUE}_trim_held_rows", rows, kind=kind)


def pair_series(
    snapshot: ConsumerSnapshot,
    registration: Registration,
    queue: QueueSnapshot | None,
    growth: ConsumerGrowth,
    choice: Choice,
) -> ObjectSeries:
    """The series of a consumer led here, of one of its queues; what cannot be looked at has no gauges."""
    page = _Object({**consumer_labels(snapshot), **queue_labels(registration.queue, queue)}, choice)
    position = find_position(snapshot, registration)
    page.add(f"{_OWN_CONSUMER}_vital", int(registration.vital))
    page.add(f"{_OWN_CONSUMER}_registration_ok", int(isinstance(position, ConsumerQueueView)))
    if not isinstance(position, ConsumerQueueView):
        page.add("queue_agent_registration_broken", 1, reason=find_break(snapshot, queue))
    passed = growth.rows_consumed
    page.add_compatible(f"{_CONSUMER}_rows_consumed", passed.by_partition, passed.total)
    page.add_growth(
        f"{_CONSUMER}_data_weight_consumed", f"{_OWN_CONSUMER}_read_bytes_total", growth.data_weight_consumed
    )
    verdict = snapshot.verdicts.get(registration.queue)
    if verdict is not None:
        _add_verdict(page, verdict)
    if isinstance(position, ConsumerQueueView):
        _add_position(page, position, registration, None if queue is None else queue.view)
    return page.series


def _add_verdict(page: _Object, verdict: QueueVerdict) -> None:
    whole = verdict.whole
    page.add(f"{_OWN_CONSUMER}_verdict", 1, verdict=whole.verdict.value)
    page.add(f"{_OWN_CONSUMER}_verdict_since_timestamp_seconds", whole.since)
    page.add(f"{_OWN_CONSUMER}_rows_read_total", whole.counts.read)
    page.add(f"{_OWN_CONSUMER}_trimmed_uncommitted_rows_total", whole.counts.trimmed_uncommitted)
    page.add(f"{_OWN_CONSUMER}_lost_rows_total", whole.counts.lost)
    page.add(f"{_OWN_CONSUMER}_possibly_lost_rows_total", whole.counts.possibly_lost)
    page.add(f"{_OWN_CONSUMER}_skipped_rows_total", whole.counts.skipped)
    if verdict.objective is not None:
        _add_objective(page, verdict.objective)
    if whole.loss is not None:
        page.add(f"{_OWN_CONSUMER}_last_loss_timestamp_seconds", whole.loss.until)
    if whole.loss is not None and verdict.loses:
        labels = {"cause": whole.loss.cause.value, "subject": cut(whole.loss.subject or "")}
        page.add(f"{_OWN_CONSUMER}_lost_rows_per_second", whole.loss.rows_per_second, **labels)
    if verdict.price is not None:
        page.add(f"{_OWN_CONSUMER}_dead", int(verdict.price.is_dead))
        page.add(f"{_OWN_CONSUMER}_held_rows", verdict.price.held_rows)
        page.add(f"{_OWN_CONSUMER}_held_bytes", verdict.price.held_bytes)
    if not verdict.partitions:
        return
    page.add(f"{_OWN_CONSUMER}_drainable_rows", whole.drainable)
    page.add(
        f"{_OWN_CONSUMER}_stopped_partitions",
        sum(one.verdict in NOT_READING for one in verdict.partitions.values()) or None,
    )
    page.add(f"{_OWN_CONSUMER}_pace_seconds", verdict.pace.usual)
    page.add(f"{_OWN_CONSUMER}_patience_seconds", verdict.pace.patience)
    page.add(f"{_OWN_CONSUMER}_time_to_catch_up_seconds", whole.time_to_catch_up.value)
    page.add(f"{_OWN_CONSUMER}_time_to_loss_earliest_seconds", whole.time_to_loss.earliest)
    page.add(f"{_OWN_CONSUMER}_time_to_loss_seconds", whole.time_to_loss.value, cause=whole.time_to_loss.cause)


def _add_objective(page: _Object, status: ObjectiveStatus) -> None:
    objective, seconds = status.objective, status.seconds
    if status.error is not None:
        page.add("queue_agent_registration_broken", 1, reason="objective_error")
    if objective is None or objective.max_lag is None or objective.target is None or seconds is None:
        return
    page.add(f"{_OWN_CONSUMER}_objective_target_ratio", objective.target)
    for outcome, value in (("good", seconds.good), ("bad", seconds.bad), ("unknown", seconds.unknown)):
        page.add(f"{_OWN_CONSUMER}_objective_seconds_total", value, outcome=outcome)


def find_position(snapshot: ConsumerSnapshot, registration: Registration) -> SubSnapshot | None:
    """What the latest pass of a consumer saw of one of its queues; None: it could not look at anything."""
    return None if snapshot.view is None else snapshot.view.queues.get(registration.queue)


def lag_seconds(partition: ConsumerPartition, seen_at: datetime) -> float | None:
    """Age of the next row to read; 0 if there is none, None if it is not known."""
    lag = find_lag(partition.unread_row_count, partition.next_row_commit_time, seen_at)
    return None if lag is None else lag.total_seconds()


def _add_position(
    page: _Object, position: ConsumerQueueView, registration: Registration, queue: QueueView | None
) -> None:
    known = registered_partitions(position, registration)
    dispositions = Counter(partition.disposition.value for partition in known.values())
    dispositions["error"] = len(registered_indexes(position, registration)) - len(known)
    for disposition, number in dispositions.items():
        if number:
            page.add(f"{_OWN_CONSUMER}_partitions", number, disposition=disposition)
    if not known:
        return
    offsets = {index: partition.next_row_index for index, partition in known.items()}
    unread = {index: partition.unread_row_count for index, partition in known.items()}
    weights = _known({index: partition.unread_data_weight for index, partition in known.items()})
    lags = _known({index: lag_seconds(partition, position.seen_at) for index, partition in known.items()})
    page.add_compatible(f"{_CONSUMER}_offset_max", offsets, max(offsets.values()))
    page.add_aggregates(f"{_CONSUMER}_lag_rows", unread)
    page.add_aggregates(f"{_CONSUMER}_lag_data_weight", weights)
    page.add_aggregates(f"{_CONSUMER}_lag_time", lags)
    page.add_histogram(f"{_CONSUMER}_lag_time_histogram", [seconds * 1000 for seconds in lags.values()])

    page.add(f"{_OWN_CONSUMER}_lag_rows", sum(max(0, rows) for rows in unread.values()))
    page.add_partitions(f"{_OWN_CONSUMER}_partition_lag_rows", unread)
    page.add_partitions(f"{_OWN_CONSUMER}_partition_next_row_index", offsets)
    if weights:
        page.add(f"{_OWN_CONSUMER}_lag_bytes", sum(max(0, weight) for weight in weights.values()))
    if lags and (len(lags) == len(known) or max(lags.values()) > 0):
        page.add(f"{_OWN_CONSUMER}_lag_seconds", max(lags.values()))
    page.add(f"{_OWN_CONSUMER}_lag_unknown_partitions", len(known) - len(lags))
    page.add_partitions(f"{_OWN_CONSUMER}_partition_lag_seconds", lags)
    commits = (partition.last_consume_time for partition in known.values())
    _add_time(page, f"{_OWN_CONSUMER}_last_commit_timestamp_seconds", commits)
    if queue is not None:
        _add_losses(page, known, _readable(queue))


def _add_losses(
    page: _Object, known: Mapping[int, ConsumerPartition], queue_partitions: Mapping[int, QueuePartition]
) -> None:
    """How far the rows to be read are from those that are trimmed."""
    both = [
        (partition, queue_partitions[index])
        for index, partition in known.items()
        if index in queue_partitions and partition.unread_row_count > 0
    ]
    distances = [mine.next_row_index - one.lower_row_index for mine, one in both]
    page.add(f"{_OWN_CONSUMER}_expired_rows", sum(max(0, -distance) for distance in distances))
    if distances:
        page.add(f"{_OWN_CONSUMER}_headroom_rows", max(0, min(distances)))


def _readable(view: QueueView) -> dict[int, QueuePartition]:
    return {index: one for index, one in enumerate(view.partitions) if isinstance(one, QueuePartition)}


def _add_time(page: _Object, name: str, instants: Iterable[datetime]) -> None:
    latest = max(instants)
    if latest > EPOCH:
        page.add(name, latest.timestamp())


def _known(values: Mapping[int, float | None]) -> dict[int, float]:
    return {index: value for index, value in values.items() if value is not None}
