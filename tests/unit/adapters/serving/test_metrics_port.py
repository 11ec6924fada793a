"""Metrics on a port of their own, where nothing else is, and which nobody has to be known for."""

from __future__ import annotations

import aiohttp
import pytest

from queue_agent.adapters.metrics.metrics import Metrics
from queue_agent.adapters.serving.http_api import HttpApi
from queue_agent.adapters.serving.metrics_port import MetricsPort
from queue_agent.adapters.serving.metrics_server import MetricsServer
from queue_agent.app.open_ports import new_gate
from queue_agent.config.serving import ServerLimitsConfig
from queue_agent.controllers.status.board import Board
from queue_agent.controllers.status.orchid_tree import OrchidTree, TreeFacts
from tests.unit.controllers.still_rounds import StoppedClock

PATHS = ("/metrics", "/solomon/all")
OTHERS = ("/health/live", "/health/ready", "/orchid/service", "/api/v1/queues", "/")


async def ask(port: int, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as response:
        return response.status, await response.text()


async def test_metrics_and_nothing_else_are_on_their_port() -> None:
    board = Board("agent-1", StoppedClock())
    async with (
        new_gate(ServerLimitsConfig()) as gate,
        MetricsPort(MetricsServer(Metrics(board)), "127.0.0.1", 0, gate) as server,
    ):
        for path in PATHS:
            status, text = await ask(server.port, path)
            assert (status, "queue_agent_info" in text or "queue_agent_build_info" in text) == (200, True)
        assert [await ask(server.port, path) for path in OTHERS] == [(404, "404: Not Found")] * len(OTHERS)


@pytest.mark.parametrize(("has_own_port", "status"), [(True, 404), (False, 200)])
async def test_the_http_port_has_metrics_unless_they_have_their_own(has_own_port: bool, status: int) -> None:
    board = Board("agent-1", clock := StoppedClock())
    metrics = None if has_own_port else MetricsServer(Metrics(board))
    tree = OrchidTree(board, TreeFacts("0.1", lambda: True, lambda: 10, lambda: True), clock)
    async with (
        new_gate(ServerLimitsConfig()) as gate,
        HttpApi(board, metrics, tree, clock, "127.0.0.1", 0, gate) as api,
    ):
        assert [(await ask(api.port, path))[0] for path in PATHS] == [status, status]
