"""`queue-agent install-dashboards`: puts dashboards where the UI of YTsaurus looks for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.config.clusters import ClusterConfig
from queue_agent.config.file import load_config
from queue_agent.dashboards.ui_documents import ui_documents
from queue_agent.errors import ObjectNotFound


def clusters_in(config_file: Path) -> dict[str, ClusterConfig]:
    """Those of an agent with this configuration, by name. See `load_config`."""
    return dict(load_config(config_file).clusters)


async def install_dashboards(
    name: str, config: ClusterConfig, directory: str, dry_run: bool, tell: Callable[[str], None]
) -> None:
    """Create or replace the documents of one cluster; one that is there already as it is to be stays untouched.

    Args:
        name: of the cluster, for messages.
        config: how to reach it.
        directory: where its UI looks.
        dry_run: only tell what would be done.
        tell: is given a line for every document.

    Raises:
        ClusterError: a step failed; what has been done before stays, and another run goes on from there.
    """
    async with YtCluster(name, config) as cluster:
        for document, content in ui_documents().items():
            path = f"{directory}/{document}"
            try:
                found = await cluster.get(path)
            except ObjectNotFound:
                found = None
            if found == content:
                tell(f"{name}: {path} is as it should be")
                continue
            tell(f"{name}: {'create' if found is None else 'replace'} {path}")
            if dry_run:
                continue
            if found is None:
                await cluster.execute(
                    "create", {"path": path, "type": "document", "recursive": True, "ignore_existing": True}
                )
            await cluster.execute("set", {"path": path}, content)
        if dry_run:
            tell("nothing of this was done")
