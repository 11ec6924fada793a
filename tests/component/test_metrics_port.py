"""An agent whose metrics have a port of their own."""

from __future__ import annotations

import aiohttp

from tests.component.running_agent import running_agent
from tests.ports import reserved_port
from yt_local.runner import LocalClusters


async def test_an_agent_serves_its_metrics_at_their_own_port_alone() -> None:
    port = reserved_port()
    metrics = {"listen": {"host": "127.0.0.1", "port": port}}
    async with (
        LocalClusters({"hume": 0}) as clusters,
        aiohttp.ClientSession() as session,
        running_agent(session, clusters.addresses, metrics=metrics) as agent,
        session.get(f"http://127.0.0.1:{port}/solomon/all") as there,
        session.get(f"{agent.origin}/solomon/all") as elsewhere,
    ):
        assert (there.status, elsewhere.status) == (200, 404)
        assert "# TYPE queue_agent_" in await there.text()
