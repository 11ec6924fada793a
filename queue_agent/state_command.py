"""`queue-agent init-state`: makes the state tables, or brings older ones to a newer version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from queue_agent.adapters.state_setup import StateSetup
from queue_agent.adapters.yt_cluster import YtCluster
from queue_agent.config import ClusterConfig, load_config
from queue_agent.core.state_migration import notes_on, plan_migration

CLUSTER_NAME = "cluster"
"""How messages call a cluster whose name nobody has told."""


@dataclass(frozen=True, slots=True)
class StateLocation:
    """Where the state tables are, or are to be."""

    name: str
    cluster: ClusterConfig
    root: str


def location_in(config_file: Path, root: str | None) -> StateLocation:
    """The one an agent with this configuration uses, but for the root if one is given. See `load_config`."""
    config = load_config(config_file)
    return StateLocation(config.state.cluster, config.clusters[config.state.cluster], root or config.state.root)


async def init_state(location: StateLocation, target: int, dry_run: bool, tell: Callable[[str], None]) -> None:
    """Bring the state tables to a version; there is nothing to do if they are there already.

    Args:
        location: of the tables.
        target: the version.
        dry_run: only tell what would be done.
        tell: is given a line for every step before it is done, and for what people should know.

    Raises:
        MigrationError: the version can not be reached.
        ClusterError: a step failed; what has been done before stays, and another run goes on from there.
    """
    async with YtCluster(location.name, location.cluster) as cluster:
        setup = StateSetup(cluster, location.root)
        found = await setup.look()
        plan = plan_migration(found, target)
        for note in notes_on(found, target):
            tell(f"note: {note}")
        for step in plan:
            tell(str(step))
            if not dry_run:
                await setup.do(step)
        if not plan:
            tell(f"nothing to do: {location.root} is at version {target}")
        elif dry_run:
            tell("nothing of this was done")
        else:
            tell(f"{location.root} is at version {target}")
