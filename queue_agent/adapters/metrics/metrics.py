"""Metrics: of the agent's own work, counted here; of the objects, from what is on the board."""

from __future__ import annotations

import enum
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import Metric
from prometheus_client.openmetrics.exposition import generate_latest as generate_open_metrics
from prometheus_client.registry import Collector

from queue_agent.adapters.metrics.agent_metrics import AGENT_FAMILIES, Sight, agent_families
from queue_agent.adapters.metrics.compatible_families import COMPATIBLE_AGENT_FAMILIES, COMPATIBLE_OBJECT_FAMILIES
from queue_agent.adapters.metrics.compatible_metrics import (
    AlertMemory,
    AllObjects,
    PassStatistics,
    PassTotals,
    controller_lines,
    count_lines,
    pass_lines,
)
from queue_agent.adapters.metrics.export_metrics import ExportCounters, export_lines
from queue_agent.adapters.metrics.metric_families import OWN_OBJECT_FAMILIES
from queue_agent.adapters.metrics.metric_lines import Lines, label_text, render_families
from queue_agent.adapters.metrics.object_counters import ObjectCounters
from queue_agent.adapters.metrics.object_page import ObjectPage, Objects, PageParts
from queue_agent.adapters.process.build import VERSION
from queue_agent.config.serving import MetricsConfig
from queue_agent.ports.acts import LoginOutcome
from queue_agent.ports.passes import PassScope
from queue_agent.ports.status import MetricsSource

# Spares a second series for each counter, which nothing reads.
disable_created_metrics()  # type: ignore[no-untyped-call] # the library leaves it without types

_PASS_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_REQUEST_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20)
_RENDER_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


AGENT_PASSES: Final = ("agent", "queue_agent_sharding_manager", "cypress_synchronizer")
"""Kinds of the passes that the C++ agent has metrics of its own for."""

_END: Final = b"# EOF\n"


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """Current metrics of the agent."""

    host: str
    is_member: Callable[[], bool]
    keeps_tables: Callable[[], bool | None]
    """None: agents like this one leave that to others."""

    is_banned: Callable[[], bool]


class Page(enum.Enum):
    """The forms in which metrics are served."""

    OWN = "own"
    """Our own family in the classic text format."""

    OWN_OPEN = "own_open"
    """The same in OpenMetrics."""

    ALL = "all"
    """Ours and the C++ agent's in the classic text format: its counters are not allowed in OpenMetrics."""


class Metrics:
    """`ports.PassObserver`, `RequestObserver`, `JournalObserver` and `HistoryObserver`, and what is made of it.

    Args:
        source: the objects served, and the agent's own passes.
        config: what is wanted.
        facts: of the agent; None: there are no series of what it would tell.
    """

    def __init__(
        self, source: MetricsSource, config: MetricsConfig | None = None, facts: AgentFacts | None = None
    ) -> None:
        self._source = source
        self._config = config or MetricsConfig()
        self._facts = facts
        self.counters = ObjectCounters()
        self.exports = ExportCounters()
        self._page = ObjectPage(self._config)
        self._alerts = AlertMemory()
        self._own_passes: dict[str, PassStatistics] = {}
        self._object_passes: dict[str, dict[PassScope, PassStatistics]] = {}
        self._making = threading.Lock()
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._passes = self._counter("queue_agent_passes_total")
        self._pass_errors = self._counter("queue_agent_pass_errors_total")
        self._pass_duration = self._histogram("queue_agent_pass_duration_seconds", _PASS_SECONDS)
        self._requests = self._counter("queue_agent_cluster_requests_total")
        self._request_duration = self._histogram("queue_agent_cluster_request_duration_seconds", _REQUEST_SECONDS)
        self._journal_records = self._counter("queue_agent_trim_journal_records_total")
        self._journal_errors = self._counter("queue_agent_trim_journal_errors_total")
        self._ledger_rows = self._counter("queue_agent_consumer_ledger_rows_total")
        self._ledger_errors = self._counter("queue_agent_consumer_ledger_errors_total")
        self._ledger_waiting = self._gauge("queue_agent_consumer_ledger_waiting")
        self._events = self._counter("queue_agent_events_total")
        self._event_errors = self._counter("queue_agent_event_errors_total")
        self._history_rows = self._counter("queue_agent_history_rows_total")
        self._history_errors = self._counter("queue_agent_history_errors_total")
        self._history_waiting = self._gauge("queue_agent_history_waiting_rows")
        self._logins = self._counter("queue_agent_logins_total")
        self._series = self._gauge("queue_agent_series")
        self._series_shed = self._counter("queue_agent_series_shed_total")
        self._render_duration = self._histogram("queue_agent_metrics_render_duration_seconds", _RENDER_SECONDS)
        self._gauge("queue_agent_build_info").labels(VERSION).set(1)
        # A counter that is first seen above zero has not grown, for Prometheus: what is lost first would alert nobody.
        for counter in (self._journal_records, self._events, self._history_rows):
            for outcome in ("written", "dropped"):
                counter.labels(outcome)
        for ending in get_args(LoginOutcome):
            self._logins.labels(ending)
        self._pass_series: dict[str, tuple[Counter, Histogram]] = {}  # finding one by labels costs more than counting

    def _counter(self, name: str) -> Counter:
        family = AGENT_FAMILIES[name]
        return Counter(family.open_name, family.help, family.labels, registry=self._registry)

    def _gauge(self, name: str) -> Gauge:
        family = AGENT_FAMILIES[name]
        return Gauge(name, family.help, family.labels, registry=self._registry)

    def _histogram(self, name: str, buckets: tuple[float, ...]) -> Histogram:
        family = AGENT_FAMILIES[name]
        return Histogram(name, family.help, family.labels, buckets=buckets, registry=self._registry)

    def pass_finished(
        self, kind: str, pass_index: int, seconds: float, error: Exception | None, scope: PassScope | None = None
    ) -> None:
        """See `ports.PassObserver`."""
        known = self._pass_series.get(kind)
        if known is None:
            known = self._pass_series[kind] = self._passes.labels(kind), self._pass_duration.labels(kind)
            self._pass_errors.labels(kind)
        passes, duration = known
        passes.inc()
        duration.observe(seconds)
        if error is not None:
            self._pass_errors.labels(kind).inc()
        if scope is not None:
            by_scope = self._object_passes.setdefault(kind, {})
            by_scope.setdefault(scope, PassStatistics()).finished(seconds, error)
        elif kind in AGENT_PASSES:
            self._own_passes.setdefault(kind, PassStatistics()).finished(seconds, error)

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

    def ledger_written(self, count: int) -> None:
        """See `ports.LedgerObserver`."""
        self._ledger_rows.inc(count)

    def ledger_waiting(self, count: int) -> None:
        """See `ports.LedgerObserver`."""
        self._ledger_waiting.set(count)

    def ledger_failed(self) -> None:
        """See `ports.LedgerObserver`."""
        self._ledger_errors.inc()

    def events_written(self, count: int) -> None:
        """See `ports.EventObserver`."""
        self._events.labels("written").inc(count)

    def events_dropped(self, count: int) -> None:
        """See `ports.EventObserver`."""
        self._events.labels("dropped").inc(count)

    def events_failed(self) -> None:
        """See `ports.EventObserver`."""
        self._event_errors.inc()

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

    def login_ended(self, outcome: LoginOutcome) -> None:
        """See `ports.LoginObserver`."""
        self._logins.labels(outcome).inc()

    def look(self) -> Sight:
        """What there is now; for the thread of the event loop, whose the mappings on the board are."""
        source, facts = self._source, self._facts
        return Sight(
            Objects(
                dict(source.queues()),
                dict(source.consumers()),
                dict(source.all_queues),
                self.counters.values(),
                source.known_consumers,
            ),
            AllObjects(dict(source.all_queues), dict(source.all_consumers), dict(source.multi_consumers())),
            dict(
                zip(
                    AGENT_PASSES, (source.agent_pass(), source.sharding_pass(), source.synchronizer_pass()), strict=True
                )
            ),
            tuple(chain.from_iterable(source.quotas().values())),
            tuple(source.alerts()),
            source.last_alerts(),
            {kind: _totals(statistics) for kind, statistics in self._own_passes.items()},
            {
                kind: {scope: _totals(statistics) for scope, statistics in by_scope.items()}
                for kind, by_scope in self._object_passes.items()
            },
            self.exports.values(),
            None if facts is None else facts.is_member(),
            None if facts is None else facts.keeps_tables(),
            None if facts is None else facts.is_banned(),
        )

    def make_pages(self, sight: Sight, wanted: Collection[Page]) -> Mapping[Page, Sequence[bytes]]:
        """The pages that are wanted, in pieces; for any thread, one at a time."""
        with self._making:
            started = time.perf_counter()
            objects = self._page.update(sight.objects)
            exports = self._exports(sight, self._config.max_series - objects.shown)
            compatible = self._compatible_objects(sight, self._config.max_series - objects.shown - exports.shown)
            shed = objects.shed + exports.shed + compatible.shed
            self._series.labels("shown").set(objects.shown + exports.shown + compatible.shown)
            self._series.labels("shed").set(shed)
            self._series_shed.inc(shed)
            # The next page says what it took.
            parts = [*objects.parts, *exports.parts]
            pages = {page: list(self._pieces(page, sight, parts, compatible.parts)) for page in wanted}
            self._render_duration.observe(time.perf_counter() - started)
            return pages

    def _pieces(self, page: Page, sight: Sight, parts: Sequence[Lines], compatible: Sequence[Lines]) -> Iterable[bytes]:
        agent = _Collected(list(agent_families(sight)))
        is_open = page is Page.OWN_OPEN
        generate = generate_open_metrics if is_open else generate_latest
        for collector in (self._registry, agent):
            yield generate(collector).removesuffix(_END)
        yield from render_families(OWN_OBJECT_FAMILIES, parts, as_open_metrics=is_open)
        if page is Page.ALL and self._config.compatible:
            yield from render_families(COMPATIBLE_AGENT_FAMILIES, self._compatible_agent(sight), as_open_metrics=False)
            yield from render_families(COMPATIBLE_OBJECT_FAMILIES, [*parts, *compatible], as_open_metrics=False)
        if is_open:
            yield _END

    def _compatible_agent(self, sight: Sight) -> Iterable[Lines]:
        host = "" if self._facts is None else self._facts.host
        build = Lines()
        build.add("yt_build_version", label_text({"version": VERSION}), 1)
        yield build
        yield count_lines(sight.everything, host)
        for kind, facts in sight.passes.items():
            yield pass_lines("" if kind == "agent" else f"{kind}_", facts, sight.own_totals.get(kind), host)
        if sight.is_banned is not None:
            banned = Lines()
            banned.add("yt_queue_agent_banned", label_text({"host": host}), int(sight.is_banned))
            yield banned

    def _compatible_objects(self, sight: Sight, room: int) -> PageParts:
        """Passes over objects, if there is room for all of them, and alerts."""
        if not self._config.compatible:
            return PageParts([], 0, 0)
        parts = [self._alerts.lines(sight.everything), *controller_lines(sight.everything, sight.object_totals)]
        return _all_or_none(parts, room)

    def _exports(self, sight: Sight, room: int) -> PageParts:
        compatible = self._config.compatible
        lines = export_lines(sight.everything.queues, sight.exports, compatible=compatible)
        return _all_or_none(list(lines), room)


def _all_or_none(parts: list[Lines], room: int) -> PageParts:
    count = sum(part.count for part in parts)
    return PageParts(parts, count, 0) if count <= room else PageParts([], 0, count)


def _totals(statistics: PassStatistics) -> PassTotals:
    return PassTotals(statistics.errors, statistics.take_longest())


class _Collected(Collector):
    """Families that are there already."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families
