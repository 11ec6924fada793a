"""Gauges of the agent as a whole, and of the accounts that pay for its queues, from what is on the board."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from queue_agent.adapters.metrics.compatible_metrics import AllObjects, PassTotals
from queue_agent.adapters.metrics.export_metrics import ExportCounts, ExportKey
from queue_agent.adapters.metrics.metric_families import OWN_AGENT_FAMILIES
from queue_agent.adapters.metrics.metric_lines import cut
from queue_agent.adapters.metrics.object_page import Objects
from queue_agent.core.consumers.multi_consumers import MultiConsumerSnapshot
from queue_agent.core.queues.snapshots import ConsumerSnapshot, PassFacts, QueueSnapshot
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.quota import Quota
from queue_agent.isolation import contained_errors
from queue_agent.ports.passes import PassScope

AGENT_FAMILIES = {family.name: family for family in OWN_AGENT_FAMILIES}
"""By name."""


@dataclass(frozen=True, slots=True)
class Sight:
    """Everything the metrics are made from, as of one moment: nothing in it changes."""

    objects: Objects
    everything: AllObjects
    passes: Mapping[str, PassFacts]
    quotas: tuple[Quota, ...]
    alerts: tuple[str, ...]
    last_alerts: Mapping[str, datetime]
    own_totals: Mapping[str, PassTotals]
    object_totals: Mapping[str, Mapping[PassScope, PassTotals]]
    exports: Mapping[ExportKey, ExportCounts]
    is_member: bool | None
    keeps_tables: bool | None
    is_banned: bool | None


def agent_families(sight: Sight) -> Iterable[Metric]:
    """Gauges of the agent; one of which nothing is known is not there."""
    successes = _family("queue_agent_last_successful_pass_timestamp_seconds")
    for kind, facts in sight.passes.items():
        if facts.last_success_instant is not None:
            successes.add_metric([kind], facts.last_success_instant.timestamp())
    yield successes
    counts = _family("queue_agent_objects")
    kinds: Mapping[str, Mapping[CrossClusterRef, QueueSnapshot | ConsumerSnapshot | MultiConsumerSnapshot]] = {
        "queue": sight.objects.queues,
        "consumer": sight.objects.consumers,
        "multi_consumer": sight.everything.multi_consumers,
    }
    for kind, snapshots in kinds.items():
        errors = sum(snapshot.error is not None for snapshot in snapshots.values())
        counts.add_metric([kind, "ok"], len(snapshots) - errors)
        counts.add_metric([kind, "error"], errors)
    yield counts
    name = "queue_agent_contained_errors_total"
    contained = CounterMetricFamily(name, AGENT_FAMILIES[name].help, labels=AGENT_FAMILIES[name].labels)
    for place, number in contained_errors().items():
        contained.add_metric([place], number)
    yield contained
    yield from _account_families(sight.quotas)
    alerts = _family("queue_agent_alerts")
    for category in sight.alerts:
        alerts.add_metric([category], 1)
    yield alerts
    last = _family("queue_agent_alert_last_timestamp_seconds")
    for category, instant in sorted(sight.last_alerts.items()):
        last.add_metric([category], instant.timestamp())
    yield last
    for name, value in (
        ("queue_agent_group_member", sight.is_member),
        ("queue_agent_state_keeper", sight.keeps_tables),
    ):
        if value is not None:
            family = _family(name)
            family.add_metric([], int(value))
            yield family


def _family(name: str) -> GaugeMetricFamily:
    family = AGENT_FAMILIES[name]
    return GaugeMetricFamily(name, family.help, labels=family.labels)


def _account_families(quotas: Iterable[Quota]) -> Iterable[Metric]:
    left = _family("queue_agent_account_time_to_quota_seconds")
    used = _family("queue_agent_account_used_ratio")
    held = _family("queue_agent_account_held_growth_ratio")
    for one in quotas:
        labels = [one.account.cluster, one.account.name, *one.resource]
        if one.time_to_full.value is not None:
            left.add_metric(labels, one.time_to_full.value)
        if one.amount.limit:
            used.add_metric(labels, one.amount.used / one.amount.limit)
        if one.held_share is not None and one.holder is not None:
            held.add_metric([*labels, cut(one.holder.queue), cut(one.holder.subject)], one.held_share)
    yield from (left, used, held)
