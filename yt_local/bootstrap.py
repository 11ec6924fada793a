"""What a cluster holds before its first user: system nodes, a tablet cell, the state tables of queue agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from yt_local.base.clock import format_instant
from yt_local.cypress.cypress import Cypress
from yt_local.identity.access_bootstrap import create_access_control
from yt_local.identity.objects import Security
from yt_local.queues.registrations import TABLE_PATH as REGISTRATIONS_PATH
from yt_local.security.permissions import UNLIMITED
from yt_local.security.subjects import ROOT_ACCOUNT
from yt_local.store.state import ClusterState
from yt_local.store.transaction_objects import OBJECT_MAPS
from yt_local.system_nodes import create_system_nodes, show_servers
from yt_local.tables.dynamic.tablets import Tablets
from yt_wire import yson

CLUSTERS: Final = "//sys/clusters"
STATE_ROOT: Final = "//sys/queue_agents"
STATE_VERSION: Final = 8
"""Version of the state tables' schemas, as the reference numbers its migrations."""

_SYSTEM_ACCOUNT: Final = "sys"
_DIRECTORIES: Final = (
    "//sys/tablet_cells",
    "//sys/tablet_cell_bundles",
    "//sys/users",
    "//sys/groups",
    f"{STATE_ROOT}/instances",
    "//tmp",
    "//home",
)


@dataclass(frozen=True, slots=True)
class Connection:
    """How the clusters of one process and their agents are reached."""

    proxies: Mapping[str, str]
    """HTTP address, `host:port`, by cluster name; the first is home to shared tables."""

    rpc_proxies: Mapping[str, str]
    """RPC address, `host:port`, by cluster name."""

    agents: Sequence[str] = ()
    """RPC addresses of the queue agents."""

    stage: str = "production"

    def of_cluster(self, name: str) -> dict[str, Any]:
        """Content of `//sys/@cluster_connection`."""
        home = next(iter(self.proxies))
        registrations = yson.with_attributes(REGISTRATIONS_PATH, {"cluster": home})
        return {
            "cluster_name": name,
            "primary_master": {"addresses": [self.proxies[name]]},
            "queue_agent": {
                "stages": {self.stage: {"addresses": list(self.agents)}} if self.agents else {},
                "queue_consumer_registration_manager": {
                    "state_read_path": registrations,
                    "state_write_path": registrations,
                    "resolve_symlinks": True,
                    "bypass_caching": True,
                },
            },
        }


def create_first_nodes(
    state: ClusterState, cypress: Cypress, tablets: Tablets, security: Security, name: str, address: str
) -> None:
    """Fill a new cluster; to one that has been started before only what it lacks is added."""
    with state.change():
        if state.root is None:
            _create_nodes(cypress, tablets, name, address)
        if not cypress.exists(UNLIMITED, f"//sys/accounts/{ROOT_ACCOUNT}"):
            cypress.create_object("//sys/accounts", "account", {"name": ROOT_ACCOUNT})
        create_access_control(state, cypress, security)
        _create_directory(state, cypress)
        create_system_nodes(cypress)
        for map_name, map_type in OBJECT_MAPS.items():
            if not cypress.exists(UNLIMITED, f"//sys/{map_name}"):
                cypress.create_object("//sys", map_type, {"name": map_name})


def _create_directory(state: ClusterState, cypress: Cypress) -> None:
    """Make the document of all clusters; clusters of earlier versions have a map node with documents."""
    known: dict[str, Any] = {}
    if cypress.exists(UNLIMITED, CLUSTERS):
        node = state.node(cypress.get(UNLIMITED, f"{CLUSTERS}/@id"))
        if node.type == "document":
            return
        known = {child.name: child.value for child in state.children(node.id)}
        state.remove_node(node)
    cypress.create(UNLIMITED, CLUSTERS, "document", {"value": known})


def _create_nodes(cypress: Cypress, tablets: Tablets, name: str, address: str) -> None:
    cypress.create_root()
    cypress.create(UNLIMITED, "//sys/accounts", "map_node", {}, recursive=True)
    for account in (_SYSTEM_ACCOUNT, "tmp"):
        cypress.create_object("//sys/accounts", "account", {"name": account})
    for path in ("//sys", "//sys/accounts"):  # what is made below has the account of its parent
        cypress.set(UNLIMITED, f"{path}/@account", _SYSTEM_ACCOUNT)
    for path in _DIRECTORIES:
        cypress.create(UNLIMITED, path, "map_node", {}, recursive=True)
    cypress.set(UNLIMITED, "//sys/@cluster_name", name)
    cypress.create_object("//sys/tablet_cell_bundles", "tablet_cell_bundle", {"name": "default", "health": "good"})
    cypress.create_object(
        "//sys/tablet_cells",
        "tablet_cell",
        {
            "tablet_cell_bundle": "default",
            "health": "good",
            "peers": [{"address": address, "state": "leading"}],
        },
    )
    for table, schema in STATE_TABLES.items():
        path = f"{STATE_ROOT}/{table}"
        attributes = {"dynamic": True, "optimize_for": "lookup", "schema": schema, **_LIFETIMES.get(table, {})}
        cypress.create(UNLIMITED, path, "table", attributes)
        tablets.mount(UNLIMITED, path)
    cypress.set(UNLIMITED, f"{STATE_ROOT}/@version", STATE_VERSION)


def publish_connection(state: ClusterState, cypress: Cypress, name: str, connection: Connection) -> None:
    """Tell a cluster where it, its neighbours and the agents listen now; done at every start.

    Without agents that are started with it, a cluster keeps those that were registered with it.
    """

    def publish(path: str, document: dict[str, Any]) -> None:
        stages = f"{path}/queue_agent/stages"
        if not connection.agents and cypress.exists(UNLIMITED, stages):
            document["queue_agent"]["stages"] = cypress.get(UNLIMITED, stages)
        cypress.set(UNLIMITED, path, document)

    with state.change():
        publish("//sys/@cluster_connection", connection.of_cluster(name))
        started = format_instant(state.clock.now())
        show_servers(cypress, connection.proxies[name], connection.rpc_proxies[name], started)
        for other in connection.proxies:
            publish(f"{CLUSTERS}/{other}", connection.of_cluster(other))


def _schema(keys: Mapping[str, str], values: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        *({"name": name, "type": column_type, "sort_order": "ascending"} for name, column_type in keys.items()),
        *({"name": name, "type": column_type} for name, column_type in values.items()),
    ]


_OBJECT: Final = {"cluster": "string", "path": "string"}

STATE_TABLES: Final[Mapping[str, list[dict[str, Any]]]] = {
    "queues": _schema(
        _OBJECT,
        {
            "row_revision": "uint64",
            "revision": "uint64",
            "object_type": "string",
            "dynamic": "boolean",
            "sorted": "boolean",
            "auto_trim_config": "any",
            "static_export_config": "any",
            "queue_agent_stage": "string",
            "object_id": "string",
            "queue_agent_banned": "boolean",
            "synchronization_error": "any",
            "queue_profiling_tag": "string",
        },
    ),
    "consumers": _schema(
        _OBJECT,
        {
            "row_revision": "uint64",
            "revision": "uint64",
            "object_type": "string",
            "treat_as_queue_consumer": "boolean",
            "schema": "any",
            "queue_agent_stage": "string",
            "queue_agent_banned": "boolean",
            "synchronization_error": "any",
            "queue_consumer_profiling_tag": "string",
        },
    ),
    "queue_agent_object_mapping": _schema({"object": "string"}, {"host": "string"}),
    "consumer_registrations": _schema(
        {
            "queue_cluster": "string",
            "queue_path": "string",
            "consumer_cluster": "string",
            "consumer_path": "string",
            "consumer_name": "string",
        },
        {"vital": "boolean", "partitions": "any"},
    ),
    "replicated_table_mapping": [
        *_schema(
            _OBJECT,
            {
                "revision": "uint64",
                "object_type": "string",
                "meta": "any",
                "synchronization_error": "any",
            },
        ),
        {
            "name": "replica_list",
            "type_v3": {"type_name": "optional", "item": {"type_name": "list", "item": "string"}},
        },
    ],
    "multi_consumer_names": _schema({**_OBJECT, "name": "string"}, {"queue_agent_stage": "string"}),
    "trim_journal": _schema(
        {
            "queue_cluster": "string",
            "queue_path": "string",
            "instant": "string",
            "partition_index": "int64",
            "agent": "string",
        },
        {
            "object_id": "string",
            "lower_row_index": "int64",
            "trimmed_row_count": "int64",
            "constraint": "any",
            "losers": "any",
            "tablet_id": "string",
        },
    ),
    "audit_journal": _schema(
        {"instant": "string", "id": "string"},
        {
            "user": "string",
            "login": "string",
            "peer": "string",
            "agent": "string",
            "act": "string",
            "subject": "string",
            "plan": "any",
            "outcome": "string",
            "finished": "string",
            "error": "string",
            "queue": "string",
            "consumer": "string",
        },
    ),
    "consumer_ledger": _schema(
        {
            "queue_cluster": "string",
            "queue_path": "string",
            "consumer_cluster": "string",
            "consumer_path": "string",
            "consumer_name": "string",
            "partition_index": "int64",
        },
        {"written_at": "string", "verdict": "string", "lost_rows": "int64", "state": "any"},
    ),
    "consumer_events": _schema(
        {"instant": "string", "event_id": "string"},
        {
            "kind": "string",
            "queue_cluster": "string",
            "queue_path": "string",
            "consumer_cluster": "string",
            "consumer_path": "string",
            "consumer_name": "string",
            "actor": "string",
            "subject": "string",
            "reason": "string",
            "details": "any",
        },
    ),
    "consumer_quarantines": _schema(
        {
            "queue_cluster": "string",
            "queue_path": "string",
            "consumer_cluster": "string",
            "consumer_path": "string",
            "consumer_name": "string",
        },
        {
            "object_id": "string",
            "announced_at": "string",
            "renewed_at": "string",
            "notice_seconds": "double",
            "waited_seconds": "double",
            "is_started": "boolean",
            "commits": "any",
        },
    ),
}

_ONE_VERSION: Final[Mapping[str, int]] = {"min_data_versions": 0, "max_data_versions": 1, "min_data_ttl": 0}

_DAY: Final = 24 * 60 * 60 * 1000


def _kept(days: int) -> dict[str, int]:
    return {**_ONE_VERSION, "max_data_ttl": days * _DAY, "auto_compaction_period": _DAY}


_LIFETIMES: Final[Mapping[str, Mapping[str, int]]] = {
    "trim_journal": _kept(days=30),
    "audit_journal": _kept(days=365),
    "consumer_ledger": _ONE_VERSION,
    "consumer_events": _kept(days=90),
    "consumer_quarantines": _ONE_VERSION,
}
"""Attributes, in milliseconds, by which a table drops old rows."""
