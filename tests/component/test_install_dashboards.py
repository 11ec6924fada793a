"""`queue-agent install-dashboards` on a local cluster."""

from __future__ import annotations

import json

from queue_agent.cli.install_dashboards import install_dashboards
from queue_agent.cli.reach import Reach
from queue_agent.config.clusters import ClusterConfig
from queue_agent.dashboards.ui_documents import DIRECTORY, ui_documents
from yt_local.testing import LocalCluster


async def test_documents_are_installed_once_and_replaced_when_they_are_others(yt_cluster: LocalCluster) -> None:
    config = ClusterConfig(proxy=yt_cluster.url, discover_proxies=False)
    client = yt_cluster.client
    told: list[str] = []
    await install_dashboards("here", Reach(config), DIRECTORY, True, told.append)
    assert told[-1] == "nothing of this was done"
    assert not client.exists(DIRECTORY)

    told.clear()
    await install_dashboards("here", Reach(config), DIRECTORY, False, told.append)
    assert told == [f"here: create {DIRECTORY}/{name}" for name in ui_documents()]
    for name, document in ui_documents().items():
        assert client.get(f"{DIRECTORY}/{name}/@type") == "document"
        assert json.loads(client.get(f"{DIRECTORY}/{name}", format="json")) == document

    client.set(f"{DIRECTORY}/queue-metrics", {"panels": []})
    told.clear()
    await install_dashboards("here", Reach(config), DIRECTORY, False, told.append)
    assert told == [
        f"here: replace {DIRECTORY}/queue-metrics",
        f"here: {DIRECTORY}/queue-consumer-metrics is as it should be",
    ]
