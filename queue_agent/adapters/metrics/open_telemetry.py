"""Our own metrics pushed to a collector by OTLP over HTTP; needs the extra `otel`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from queue_agent.adapters.metrics.agent_metrics import Sight
from queue_agent.adapters.metrics.metrics import Metrics, Page
from queue_agent.adapters.process.build import DISTRIBUTION, VERSION
from queue_agent.config.serving import OtlpConfig
from queue_agent.errors import TelemetryError
from queue_agent.ports.passes import Clock

_UNITS: Final = {"seconds": "s", "bytes": "By"}
_NANOSECONDS: Final = 1_000_000_000


class OpenTelemetryExport:
    """Pushes what `/metrics` shows; addresses, headers and attributes come from the variables `OTEL_...` as well.

    Args:
        metrics: what is pushed.
        config: where, if the variables do not say it.
        attributes: of the process, beside those of the variables, which win.
        clock: times are those of the latest look.
    """

    def __init__(self, metrics: Metrics, config: OtlpConfig, attributes: Mapping[str, str], clock: Clock) -> None:
        self._metrics = metrics
        self._clock = clock
        self._started = clock.now()
        self._exporter = OTLPMetricExporter(endpoint=config.endpoint)
        ours = {"service.name": DISTRIBUTION, "service.version": VERSION, **attributes}
        self._resource = Resource.create(ours).merge(OTELResourceDetector().detect())

    async def do_pass(self, pass_index: int) -> None:
        """Push all metrics as they are now.

        Raises:
            TelemetryError: the collector does not take them; the next pass pushes newer ones.
        """
        sight = self._metrics.look()
        times = tuple(int(at.timestamp() * _NANOSECONDS) for at in (self._started, self._clock.now()))
        if not await asyncio.to_thread(self._push, sight, (times[0], times[1])):
            raise TelemetryError("The collector did not take the metrics; the exporter's own log line says why")

    def close(self) -> None:
        """Let go of connections."""
        self._exporter.shutdown()

    def _push(self, sight: Sight, times: tuple[int, int]) -> bool:
        page = b"".join(self._metrics.make_pages(sight, [Page.OWN_OPEN])[Page.OWN_OPEN]).decode()
        families = text_string_to_metric_families(page)  # type: ignore[no-untyped-call] # the library leaves it so
        metrics = [
            _metric(family.name, family.documentation, family.type, family.samples, times) for family in families
        ]
        scope = ScopeMetrics(InstrumentationScope(DISTRIBUTION, VERSION), metrics, "")
        data = MetricsData([ResourceMetrics(self._resource, [scope], "")])
        return bool(self._exporter.export(data) is MetricExportResult.SUCCESS)


def _metric(name: str, text: str, kind: str, samples: Sequence[Sample], times: tuple[int, int]) -> Any:
    """A family; counts are cumulative from the start of the process."""
    data: Any
    if kind == "histogram":
        data = Histogram(list(_histogram_points(name, samples, times)), AggregationTemporality.CUMULATIVE)
    else:
        points = [NumberDataPoint(sample.labels, *times, sample.value) for sample in samples]
        is_counter = kind == "counter"
        data = Sum(points, AggregationTemporality.CUMULATIVE, True) if is_counter else Gauge(points)
    return Metric(name, text, _UNITS.get(name.rpartition("_")[2], ""), data)


def _histogram_points(name: str, samples: Sequence[Sample], times: tuple[int, int]) -> Iterator[Any]:
    """A point for each set of labels; buckets of Prometheus hold those below them too, these do not."""
    by_labels: dict[tuple[tuple[str, str], ...], dict[str, float]] = {}
    for sample in samples:
        labels = tuple((label, value) for label, value in sample.labels.items() if label != "le")
        key = sample.labels.get("le", sample.name.removeprefix(f"{name}_"))
        by_labels.setdefault(labels, {})[key] = sample.value
    for labels, values in by_labels.items():
        count, total = int(values.pop("count")), values.pop("sum")
        below = {float(key): int(value) for key, value in values.items() if key != "+Inf"}
        bounds = sorted(below)
        cumulative = [0, *(below[bound] for bound in bounds), count]
        counts = [after - before for before, after in pairwise(cumulative)]
        yield HistogramDataPoint(dict(labels), *times, count, total, counts, bounds, min=None, max=None)
