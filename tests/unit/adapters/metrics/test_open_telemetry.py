from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from aiohttp import web

from queue_agent.adapters.metrics.metrics import Metrics
from queue_agent.config.serving import OtlpConfig
from queue_agent.controllers.status.board import Board
from queue_agent.core.queues.snapshots import QueueSnapshot, QueueView, Role
from queue_agent.core.state.rows import QueueRow
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import TelemetryError

pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")

START = datetime(2025, 1, 23, 13, 42, 21, tzinfo=UTC)


class StoppedClock:
    """`ports.Clock` that never moves."""

    def now(self) -> datetime:
        return START


class Collector:
    """Takes what is pushed, or refuses it."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.status = 200
        self.url = ""

    async def take(self, request: web.Request) -> web.Response:
        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

        self.requests.append(ExportMetricsServiceRequest.FromString(await request.read()))
        return web.Response(status=self.status)


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    collector = Collector()
    application = web.Application()
    application.add_routes([web.post("/v1/metrics", collector.take)])
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    collector.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1/metrics"
    yield collector
    await runner.cleanup()


async def test_a_collector_gets_counters_gauges_and_histograms(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    from queue_agent.adapters.metrics.open_telemetry import OpenTelemetryExport

    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
    board = Board("agent-1", StoppedClock())
    metrics = Metrics(board)
    metrics.pass_finished("agent", 0, 0.03, None)
    metrics.pass_finished("agent", 1, 3, None)
    view = QueueView([], False, False, START, 1)
    board.put_queue(QueueSnapshot(QueueRow(CrossClusterRef("pythia", "//tmp/q")), Role.LEADING, 1, START, view))
    export = OpenTelemetryExport(
        metrics, OtlpConfig(endpoint=collector.url), {"service.instance.id": "agent-1"}, StoppedClock()
    )
    await export.do_pass(0)
    export.close()

    [pushed] = collector.requests[0].resource_metrics
    attributes = {one.key: one.value.string_value for one in pushed.resource.attributes}
    assert attributes["service.name"] == "yt-queue-agent"
    assert attributes["service.instance.id"] == "agent-1"
    assert attributes["deployment.environment"] == "test"
    found = {metric.name: metric for metric in pushed.scope_metrics[0].metrics}
    passes = found["queue_agent_passes"].sum
    assert (passes.is_monotonic, passes.aggregation_temporality, passes.data_points[0].as_double) == (True, 2, 2)
    assert passes.data_points[0].time_unix_nano == START.timestamp() * 1e9
    [queue] = found["queue_agent_queue_readable"].gauge.data_points
    assert {one.key: one.value.string_value for one in queue.attributes}["queue_path"] == "//tmp/q"
    durations = found["queue_agent_pass_duration_seconds"]
    [point] = durations.histogram.data_points
    assert (durations.unit, point.count, point.sum) == ("s", 2, 3.03)
    counts = dict(zip([*point.explicit_bounds, "more"], point.bucket_counts, strict=True))
    assert {bound: count for bound, count in counts.items() if count} == {0.05: 1, 5: 1}
    assert not [name for name in found if name.startswith("yt_")]


async def test_a_collector_that_refuses_is_an_error_of_the_pass(collector: Collector) -> None:
    from queue_agent.adapters.metrics.open_telemetry import OpenTelemetryExport

    collector.status = 400
    metrics = Metrics(Board("agent-1", StoppedClock()))
    export = OpenTelemetryExport(metrics, OtlpConfig(endpoint=collector.url), {}, StoppedClock())
    with pytest.raises(TelemetryError):
        await export.do_pass(0)
    export.close()
