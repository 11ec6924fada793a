"""`queue-agent register-addresses`: tells masters where the agents of a stage are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final

import typer

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.adapters.process.logs import configure_logging
from queue_agent.cli.names import did_you_mean
from queue_agent.cli.options import ConfigFile, DryRun, exit_codes
from queue_agent.config.agent import AgentConfig
from queue_agent.config.file import load_config
from queue_agent.errors import ConfigError, ObjectNotFound

_SECTION: Final = "queue_agent"
_RESOLVE_ERROR: Final = 500
"""YTsaurus's code of a path that does not exist."""


def command(
    config: ConfigFile,
    address: Annotated[list[str], typer.Option(metavar="HOST:PORT", help="RPC address of an agent; may be repeated.")],
    cluster: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLUSTER",
            help="Name of a cluster; may be repeated. All of the configuration by default.",
        ),
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Tell masters and proxies where the agents of a stage are. Safe to run again."""
    configure_logging("warning", "console")
    with exit_codes():
        asyncio.run(register_addresses(load_config(config), address, cluster or (), dry_run, typer.echo))


async def register_addresses(
    config: AgentConfig,
    addresses: Sequence[str],
    clusters: Sequence[str],
    dry_run: bool,
    tell: Callable[[str], None],
) -> None:
    """Write the addresses of the stage where masters and proxies look for them; all else there stays as it is.

    Args:
        config: of the agents.
        addresses: `host:port` of their RPC servers.
        clusters: on which; all of the configuration if empty.
        dry_run: only tell what would be done.
        tell: is given a line for every place before it is written.

    Raises:
        ConfigError: a cluster is not in the configuration.
        ClusterError: a cluster refused, or has no such place; what has been done before stays, and the other places
            of the others are still registered.
    """
    unknown = sorted(set(clusters) - set(config.clusters))
    if unknown:
        named = ", ".join(f"{name}{did_you_mean(name, config.clusters)}" for name in unknown)
        raise ConfigError(f"not in clusters of the configuration: {named}")
    missing: list[str] = []
    for name in clusters or config.clusters:
        async with YtCluster(name, config.clusters[name]) as cluster:
            for place in (f"//sys/clusters/{name}", "//sys/@cluster_connection"):
                try:
                    await _register(cluster, place, config.stage, list(addresses), dry_run, tell)
                except ObjectNotFound:
                    missing.append(f"{name}: {place}")
    if missing:
        raise ObjectNotFound(
            f"Cannot register agents of stage {config.stage} in {'; '.join(missing)}: the document does not exist. "
            "Add the cluster to //sys/clusters, then run this again",
            code=_RESOLVE_ERROR,
        )


async def _register(
    cluster: YtCluster, place: str, stage: str, addresses: list[str], dry_run: bool, tell: Callable[[str], None]
) -> None:
    # A section at a time: parts of documents and attributes cannot be made recursively.
    connection = await cluster.get(place)
    section: dict[str, Any] = dict(connection.get(_SECTION, {}))
    stages = dict(section.get("stages", {}))
    found = dict(stages.get(stage, {}))
    if list(found.get("addresses", ())) == addresses:
        tell(f"{cluster.name}: {place} knows them already")
        return
    tell(f"{cluster.name}: {'would set' if dry_run else 'setting'} addresses of stage {stage} in {place}")
    if not dry_run:
        value = {**section, "stages": {**stages, stage: {**found, "addresses": addresses}}}
        await cluster.execute("set", {"path": f"{place}/{_SECTION}"}, value)
