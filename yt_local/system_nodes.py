"""Nodes of `//sys` that show masters, nodes, schedulers and quotas: a local cluster has one master and no others.

Values are those with which the pages of the web UI are free of errors: foreign-clients.md §10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from yt_local.base.version import VERSION
from yt_local.cypress.account_attributes import resource_usage
from yt_local.cypress.account_limits import resource_limits
from yt_local.cypress.cypress import Cypress
from yt_local.security.permissions import UNLIMITED
from yt_local.store.charges import Usage

_MEDIUM: Final = "default"
_POOL_TREE: Final = "default"
_MASTER_CELL_ID: Final = "1-2-3e90259-4d"
"""Its third part is the master's tag, 1001, and the type of cells, 601."""

_QUOTA: Final = 2**50
"""Of bytes and of objects; nobody is refused for want of it."""

_RESOURCES: Final = {"cpu": 0.0, "user_memory": 0, "gpu": 0, "user_slots": 0, "network": 0}
_POOLS: Final = {
    "resource_usage": _RESOURCES,
    "resource_limits": _RESOURCES,
    "config": {},
    "resource_distribution_info": {},
    "pools": {},
}
_SCHEDULER: Final = {
    "scheduler": {
        "cluster": {"resource_limits": _RESOURCES, "resource_usage": _RESOURCES},
        "default_pool_tree": _POOL_TREE,
        "pool_trees": {_POOL_TREE: _POOLS},
        "scheduling_info_per_pool_tree": {_POOL_TREE: _POOLS},
    }
}
_CHUNK_MAPS: Final = (
    "chunks",
    *(
        f"{kind}_chunks"
        for kind in (
            "foreign",
            "overreplicated",
            "underreplicated",
            "quorum_missing",
            "data_missing",
            "parity_missing",
            "lost",
            "lost_vital",
            "unsafely_placed",
        )
    ),
)


@dataclass(frozen=True, slots=True)
class _SystemNode:
    """A node of `//sys`: a document if it has a value, else a map."""

    path: str
    attributes: Mapping[str, Any]
    value: Any = None


_NODES: Final = (
    _SystemNode("media", {}),
    _SystemNode("secondary_masters", {}),
    _SystemNode("timestamp_providers", {}),
    _SystemNode("discovery_servers", {}),
    _SystemNode("cypress_proxies", {}),
    *(_SystemNode(name, {"multicell_count": {"1001": 0}}) for name in _CHUNK_MAPS),
    _SystemNode(
        "cluster_nodes",
        {
            "available_space_per_medium": {_MEDIUM: _QUOTA},
            "used_space_per_medium": {_MEDIUM: 0},
            "io_statistics_per_medium": {},
            "full_node_count": 0,
            "online_node_count": 0,
        },
    ),
    *(
        _SystemNode(name, {})
        for name in ("data_nodes", "exec_nodes", "tablet_nodes", "chaos_nodes", "racks", "data_centers", "hosts")
    ),
    _SystemNode("scheduler", {"alerts": []}),
    _SystemNode("scheduler/instances", {}),
    _SystemNode("scheduler/orchid", {}, _SCHEDULER),
    _SystemNode("controller_agents", {}),
    _SystemNode("controller_agents/instances", {}),
    _SystemNode("pool_trees", {"default_tree": _POOL_TREE}),
    _SystemNode(f"pool_trees/{_POOL_TREE}", {}),
    _SystemNode("chaos_cells", {}),
    _SystemNode("chaos_cell_bundles", {}),
)

_OF_THE_CLUSTER: Final[Mapping[str, Any]] = {
    "master_alerts": [],
    "chunk_replicator_enabled": True,
    "chunk_sealer_enabled": True,
    "chunk_refresh_enabled": True,
    "chunk_requisition_update_enabled": True,
}


def create_system_nodes(cypress: Cypress) -> None:
    """Create what is not there yet; the caller has begun a change."""
    for node in _NODES:
        path = f"//sys/{node.path}"
        if cypress.exists(UNLIMITED, path):
            continue
        cypress.create(UNLIMITED, path, "map_node" if node.value is None else "document", dict(node.attributes))
        if node.value is not None:
            cypress.set(UNLIMITED, path, node.value)
    if not cypress.exists(UNLIMITED, f"//sys/media/{_MEDIUM}"):
        cypress.create_object("//sys/media", "medium", {"name": _MEDIUM})
    for name, value in _OF_THE_CLUSTER.items():
        cypress.set(UNLIMITED, f"//sys/@{name}", value)
    for name in ("total_resource_limits", "total_resource_usage"):
        value = resource_limits([_MEDIUM]) if name.endswith("limits") else resource_usage(Usage())
        cypress.set(UNLIMITED, f"//sys/accounts/@{name}", value)


def show_servers(cypress: Cypress, address: str, rpc_address: str, started: str) -> None:
    """Show the cluster's own master and proxies, which have other addresses after a restart.

    Args:
        cypress: of the cluster, within a change.
        address: `host:port` of the HTTP proxy, which stands for the master as well.
        rpc_address: `host:port` of the RPC proxy.
        started: an instant.
    """
    told = {"role": "default", "banned": False, "version": VERSION, "start_time": started}
    for directory, shown in (("//sys/http_proxies", address), ("//sys/rpc_proxies", rpc_address)):
        cypress.create(UNLIMITED, directory, "map_node", {}, force=True)
        cypress.create(UNLIMITED, f"{directory}/{shown}", "map_node", told)
        cypress.create(UNLIMITED, f"{directory}/{shown}/alive", "map_node", {})
    cypress.create(UNLIMITED, "//sys/primary_masters", "map_node", {}, force=True)
    cypress.create(UNLIMITED, f"//sys/primary_masters/{address}", "map_node", {})
    path = f"//sys/primary_masters/{address}/orchid"
    cypress.create(UNLIMITED, path, "document", {})
    orchid = {
        "service": {"version": VERSION, "start_time": started},
        "config": {"primary_master": {"cell_id": _MASTER_CELL_ID}},
        "monitoring": {
            "hydra": {
                "state": "leading",
                "active": True,
                "active_leader": True,
                "active_follower": False,
                "read_only": False,
            }
        },
    }
    cypress.set(UNLIMITED, path, orchid)
