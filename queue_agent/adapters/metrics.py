"""Metrics: of the agent's own work, kept here; of the objects, read from the board when scraped."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from queue_agent.adapters.build import VERSION
from queue_agent.adapters.object_counters import ObjectCounters
from queue_agent.adapters.object_metrics import collect
from queue_agent.core.snapshots import PassFacts
from queue_agent.ports import StatusSource

# Spares a second series for each counter, which nothing reads.
disable_created_metrics()  # type: ignore[no-untyped-call] # the library leaves it without types

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
"""The classic text format: counters named as YTsaurus names them are not allowed in OpenMetrics."""

_PASS_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_REQUEST_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20)


class Metrics:
    """`ports.PassObserver`, `RequestObserver`, `JournalObserver` and `HistoryObserver`, and the page of all metrics.

    Args:
        source: the objects served, and the agent's own passes.
    """

    def __init__(self, source: StatusSource) -> None:
        self._source = source
        self.counters = ObjectCounters()
        self._rendering = asyncio.Lock()
        registry = self._registry = CollectorRegistry()
        self._passes = Counter(
            "queue_agent_passes", "Finished passes, failed ones included.", ["kind"], registry=registry
        )
        self._pass_errors = Counter("queue_agent_pass_errors", "Failed passes.", ["kind"], registry=registry)
        self._pass_duration = Histogram(
            "queue_agent_pass_duration_seconds",
            "Duration of passes, failed ones included.",
            ["kind"],
            buckets=_PASS_SECONDS,
            registry=registry,
        )
        self._requests = Counter(
            "queue_agent_cluster_requests",
            "HTTP requests to clusters, each repeat on its own; a batch is one.",
            ["cluster", "command", "outcome"],
            registry=registry,
        )
        self._request_duration = Histogram(
            "queue_agent_cluster_request_duration_seconds",
            "Duration of HTTP requests to clusters, to the end of the answer.",
            ["cluster", "command"],
            buckets=_REQUEST_SECONDS,
            registry=registry,
        )
        self._journal_records = Counter(
            "queue_agent_trim_journal_records",
            "Records of trims: written to the journal, or dropped because that failed for too long.",
            ["outcome"],
            registry=registry,
        )
        self._journal_errors = Counter(
            "queue_agent_trim_journal_errors", "Failed attempts to write to the journal of trims.", registry=registry
        )
        self._history_rows = Counter(
            "queue_agent_history_rows",
            "Rows of the history: written, or dropped because that failed for too long.",
            ["outcome"],
            registry=registry,
        )
        self._history_errors = Counter(
            "queue_agent_history_errors", "Failed attempts to write to the history.", registry=registry
        )
        self._history_waiting = Gauge(
            "queue_agent_history_waiting_rows", "Rows of the history that wait to be written.", registry=registry
        )
        Gauge("queue_agent_build_info", "Always 1; the label tells the build.", ["version"], registry=registry).labels(
            VERSION
        ).set(1)

        # Finding a series by its labels costs more than counting, and there are passes of very many objects.
        self._pass_series: dict[str, tuple[Counter, Histogram]] = {}

    def pass_finished(self, kind: str, pass_index: int, seconds: float, error: Exception | None) -> None:
        """See `ports.PassObserver`."""
        known = self._pass_series.get(kind)
        if known is None:
            known = self._pass_series[kind] = self._passes.labels(kind), self._pass_duration.labels(kind)
        passes, duration = known
        passes.inc()
        duration.observe(seconds)
        if error is not None:
            self._pass_errors.labels(kind).inc()

    def request_finished(self, cluster: str, command: str, outcome: str, seconds: float) -> None:
        """See `ports.RequestObserver`."""
        self._requests.labels(cluster, command, outcome).inc()
        self._request_duration.labels(cluster, command).observe(seconds)

    def journal_written(self, count: int) -> None:
        """See `ports.JournalObserver`."""
        self._journal_records.labels("written").inc(count)

    def journal_dropped(self, count: int) -> None:
        """See `ports.JournalObserver`."""
        self._journal_records.labels("dropped").inc(count)

    def journal_failed(self) -> None:
        """See `ports.JournalObserver`."""
        self._journal_errors.inc()

    def history_written(self, row_count: int) -> None:
        """See `ports.HistoryObserver`."""
        self._history_rows.labels("written").inc(row_count)

    def history_dropped(self, row_count: int) -> None:
        """See `ports.HistoryObserver`."""
        self._history_rows.labels("dropped").inc(row_count)

    def history_failed(self) -> None:
        """See `ports.HistoryObserver`."""
        self._history_errors.inc()

    def history_waiting(self, row_count: int) -> None:
        """See `ports.HistoryObserver`."""
        self._history_waiting.set(row_count)

    async def render(self) -> bytes:
        """All metrics in Prometheus's text format; scrapes are served one after the other, in a thread."""
        async with self._rendering:
            # Snapshots are frozen, but the mappings they are in belong to this thread.
            queues, consumers = dict(self._source.queues()), dict(self._source.consumers())
            counters = self.counters.values()
            agent = {"agent": self._source.agent_pass(), "cypress_synchronizer": self._source.synchronizer_pass()}

            def render() -> bytes:
                families = [_last_successes(agent), *collect(queues, consumers, counters)]
                return generate_latest(self._registry) + generate_latest(_Collected(families))

            return await asyncio.to_thread(render)


class _Collected(Collector):
    """Families that are there already."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _last_successes(facts_by_kind: dict[str, PassFacts]) -> Metric:
    name = "queue_agent_last_successful_pass_timestamp_seconds"
    family = Metric(name, "When the last pass that succeeded began; absent before the first.", "gauge")
    for kind, facts in facts_by_kind.items():
        if facts.last_success_instant is not None:
            family.add_sample(name, {"kind": kind}, facts.last_success_instant.timestamp())
    return family
