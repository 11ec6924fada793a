"""What the C++ agent tells of itself, under its names: how many objects there are, its passes, alerts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Final

from queue_agent.adapters.metrics.compatible_families import COUNT_LABELS
from queue_agent.adapters.metrics.metric_lines import Lines, cut, label_text
from queue_agent.adapters.metrics.object_metrics import consumer_labels, queue_labels
from queue_agent.core.consumers.multi_consumers import MultiConsumerSnapshot
from queue_agent.core.queues.snapshots import ConsumerQueueView, ConsumerSnapshot, PassFacts, QueueSnapshot, Role
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.ports.passes import PassScope

_PREFIX: Final = "yt_queue_agent_"
_NONE: Final = "none"
_MASKS: Final = tuple(product((True, False), repeat=len(COUNT_LABELS)))

_Tags = tuple[str, str, str, str]
"""Values of `COUNT_LABELS`."""


@dataclass(frozen=True, slots=True)
class AllObjects:
    """Latest snapshots, those of objects only followed included."""

    queues: Mapping[CrossClusterRef, QueueSnapshot] = field(default_factory=dict)
    consumers: Mapping[CrossClusterRef, ConsumerSnapshot] = field(default_factory=dict)
    multi_consumers: Mapping[CrossClusterRef, MultiConsumerSnapshot] = field(default_factory=dict)


def count_lines(objects: AllObjects, host: str) -> Lines:
    """How many objects of which kind there are; each label may be missing, for the sum over all of its values."""
    counts: dict[str, Counter[_Tags]] = {}

    def add(name: str, tags: _Tags, number: int) -> None:
        counts.setdefault(name, Counter())[tags] += number

    for queue in objects.queues.values():
        tags = _tags(queue.ref.cluster, queue.role, queue.row.queue_agent_stage, queue.row.object_type)
        trim_config = queue.row.auto_trim_config or {}
        add("queues", tags, 1)
        add("partitions", tags, 0 if queue.view is None else len(queue.view.partitions))
        add("trimmed_queues", tags, int(trim_config.get("enable") in (True, "true")))
        add("erroneous_queues", tags, int(queue.error is not None))
    for consumer in objects.consumers.values():
        tags = _tags(consumer.ref.cluster, consumer.role, consumer.row.queue_agent_stage, consumer.row.object_type)
        views = () if consumer.view is None else consumer.view.queues.values()
        add("consumers", tags, 1)
        add("partitions", tags, sum(len(view.partitions) for view in views if isinstance(view, ConsumerQueueView)))
        add("erroneous_consumers", tags, int(consumer.error is not None))
    for table in objects.multi_consumers.values():
        tags = _tags(table.ref.cluster, table.role, table.row.queue_agent_stage, table.row.object_type)
        add("multi_consumers", tags, 1)
        add("multi_consumer_names", tags, len(table.names))
        add("erroneous_multi_consumers", tags, int(table.error is not None))
    lines = Lines()
    for name, of_tags in counts.items():
        for mask in _MASKS:
            projected: Counter[tuple[str, ...]] = Counter()
            for tags, number in of_tags.items():
                projected[tuple(tag if kept else "" for tag, kept in zip(tags, mask, strict=True))] += number
            for values, number in projected.items():
                labels = {"host": host, **dict(zip(COUNT_LABELS, values, strict=True))}
                lines.add(f"{_PREFIX}{name}", label_text(labels), number)
    return lines


def _tags(cluster: str, role: Role, stage: str | None, object_type: str | None) -> _Tags:
    return cluster, "follower" if role is Role.FOLLOWING else "leader", stage or _NONE, object_type or _NONE


@dataclass(slots=True)
class PassStatistics:
    """Of all passes of one kind, over objects of one cluster."""

    errors: int = 0
    longest: float = 0.0
    """Seconds, since it was looked at last."""

    longest_before: float = 0.0
    """In the time before that."""

    def finished(self, seconds: float, error: Exception | None) -> None:
        self.longest = max(self.longest, seconds)
        self.errors += error is not None

    def take_longest(self) -> float:
        """The longest recent one; what was seen twice is forgotten."""
        longest = max(self.longest, self.longest_before)
        self.longest_before, self.longest = self.longest, 0.0
        return longest


@dataclass(frozen=True, slots=True)
class PassTotals:
    """`PassStatistics` at one time."""

    errors: int
    longest: float


def pass_lines(kind: str, facts: PassFacts, totals: PassTotals | None, host: str) -> Lines:
    """A pass of the agent itself; nothing before the first."""
    lines = Lines()
    labels = label_text({"host": host})
    prefix = f"{_PREFIX}{kind}pass_"
    if facts.pass_instant is not None:
        lines.add(f"{prefix}index", labels, facts.pass_index)
        lines.add(f"{prefix}start_time", labels, facts.pass_instant.timestamp())
    if totals is not None:
        _add_totals(lines, prefix, labels, totals)
    return lines


def controller_lines(objects: AllObjects, totals: Mapping[str, Mapping[PassScope, PassTotals]]) -> Iterator[Lines]:
    """Passes over objects: which and when of each; for how long, and how many failed, of all of a cluster.

    Args:
        objects: those there are now.
        totals: by kind of the passes.
    """
    for queue in objects.queues.values():
        yield _object_pass("queue_controller", queue_labels(queue.ref, queue), queue)
    for consumer in objects.consumers.values():
        yield _object_pass("consumer_controller", consumer_labels(consumer), consumer)
    for table in objects.multi_consumers.values():
        yield _object_pass("multi_consumer_controller", _table_labels(table), table)
        names = Lines()
        names.add(f"{_PREFIX}multi_consumer_consumers", label_text(_table_labels(table)), len(table.names))
        yield names
    for kind, by_scope in totals.items():
        lines = Lines()
        for scope, of_scope in by_scope.items():
            labels = {f"{kind.removesuffix('_controller')}_cluster": scope.cluster, "leading": _boolean(scope.leading)}
            _add_totals(lines, f"{_PREFIX}{kind}_pass_", label_text(labels), of_scope)
        yield lines


def _object_pass(
    kind: str, labels: Mapping[str, str], snapshot: QueueSnapshot | ConsumerSnapshot | MultiConsumerSnapshot
) -> Lines:
    lines = Lines()
    if snapshot.pass_index > 0:
        leading = _boolean(snapshot.role is Role.LEADING)
        text = label_text({**labels, "leading": leading, "object_type": snapshot.row.object_type or _NONE})
        lines.add(f"{_PREFIX}{kind}_pass_index", text, snapshot.pass_index - 1)
        lines.add(f"{_PREFIX}{kind}_pass_start_time", text, snapshot.pass_instant.timestamp())
    return lines


def _add_totals(lines: Lines, prefix: str, labels: str, totals: PassTotals) -> None:
    lines.add(f"{prefix}duration_max", labels, totals.longest)
    lines.add(f"{prefix}errors", labels, totals.errors)


class AlertMemory:
    """Alerts of objects: 1 while there is one, and 0 from then on until the object is no more."""

    def __init__(self) -> None:
        self._seen: dict[CrossClusterRef, set[str]] = {}

    def lines(self, objects: AllObjects) -> Lines:
        """A series for each alert of each object, and one for all queues of a cluster together."""
        lines = Lines()
        seen: dict[CrossClusterRef, set[str]] = {}
        in_clusters: Counter[tuple[str, str]] = Counter()
        snapshots: list[QueueSnapshot | MultiConsumerSnapshot] = [
            *objects.queues.values(),
            *objects.multi_consumers.values(),
        ]
        for snapshot in snapshots:
            if snapshot.role is not Role.LEADING:
                continue
            alerts = snapshot.all_alerts if isinstance(snapshot, QueueSnapshot) else snapshot.alerts
            categories = self._seen.get(snapshot.ref, set()) | set(alerts)
            if not categories:
                continue
            seen[snapshot.ref] = categories
            for category in sorted(categories):
                active = int(category in alerts)
                camel = {"category": "".join(word.capitalize() for word in category.split("_"))}
                if isinstance(snapshot, QueueSnapshot):
                    labels = {**queue_labels(snapshot.ref, snapshot), **camel}
                    lines.add(f"{_PREFIX}queue_controller_alerts", label_text(labels), active)
                    in_clusters[snapshot.ref.cluster, camel["category"]] += active
                else:
                    labels = {**_table_labels(snapshot), **camel}
                    lines.add(f"{_PREFIX}multi_consumer_controller_alerts", label_text(labels), active)
        for (cluster, category), active in in_clusters.items():
            labels = {"queue_cluster": cluster, "category": category}
            lines.add(f"{_PREFIX}queue_controller_alerts", label_text(labels), active)
        self._seen = seen
        return lines


def _table_labels(snapshot: MultiConsumerSnapshot) -> dict[str, str]:
    return {
        "multi_consumer_cluster": snapshot.ref.cluster,
        "multi_consumer_path": cut(snapshot.ref.path),
        "multi_consumer_tag": snapshot.row.queue_consumer_profiling_tag or _NONE,
    }


def _boolean(value: bool) -> str:
    return "true" if value else "false"
