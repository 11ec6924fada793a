"""Attributes that tell of replicas: `@replicas` of a replicated table, and those of the replicas themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from yt_local.cypress.resolver import Resolver
from yt_local.cypress.transaction_attributes import Computed
from yt_local.store.model import Node, Tablet
from yt_local.store.replicated_types import TableReplica
from yt_local.store.state import ClusterState
from yt_local.tables.replication.replication import Replication
from yt_wire import yson


def describe_replicas(replication: Replication, table: Node) -> dict[str, dict[str, Any]]:
    """`@replicas` of a replicated table: by id."""
    return {
        replica.id: {
            "cluster_name": replica.cluster_name,
            "replica_path": replica.replica_path,
            "state": replica.state,
            "mode": replica.mode,
            "replication_lag_time": replication.table_lag(replica),
            "error_count": len(replication.errors(replica)),
            "replicated_table_tracker_enabled": replica.tracked,
        }
        for replica in replication.replicas(table.id)
    }


def replica_attributes(state: ClusterState, replication: Replication, resolver: Resolver) -> Mapping[str, Computed]:
    """Attributes of table replicas."""

    def of(read: Callable[[TableReplica], Any]) -> Computed:
        return _always, lambda node: read(TableReplica.of(node))

    return {
        "table_path": of(lambda replica: resolver.path_of(state.node(replica.table_id))),
        "cluster_name": of(lambda replica: replica.cluster_name),
        "replica_path": of(lambda replica: replica.replica_path),
        "state": of(lambda replica: replica.state),
        "mode": of(lambda replica: replica.mode),
        "preserve_timestamps": of(lambda replica: replica.preserve_timestamps),
        "atomicity": of(lambda replica: replica.atomicity),
        "start_replication_timestamp": of(lambda replica: yson.Uint64(replica.start_replication_timestamp)),
        "replicated_table_tracker_enabled": of(lambda replica: replica.tracked),
        "enable_replicated_table_tracker": of(lambda replica: replica.tracked),
        "replication_lag_time": of(replication.table_lag),
        "errors": of(lambda replica: [error.to_map() for error in replication.errors(replica)]),
        "error_count": of(lambda replica: len(replication.errors(replica))),
        "tablets": of(
            lambda replica: [_tablet(replication, replica, tablet) for tablet in state.tablets.of(replica.table_id)]
        ),
    }


def _tablet(replication: Replication, replica: TableReplica, tablet: Tablet) -> dict[str, Any]:
    """How far a replica is with one tablet."""
    error = replication.error(replica, tablet)
    return {
        "tablet_id": tablet.id,
        "state": replica.state if tablet.readable else "none",
        "current_replication_row_index": replication.position(replica, tablet),
        "current_replication_timestamp": yson.Uint64(replication.position_timestamp(replica, tablet)),
        "replication_lag_time": replication.lag(replica, tablet),
        **({} if error is None else {"replication_error": error.to_map()}),
        "trimmed_row_count": tablet.trimmed_row_count,
        "flushed_row_count": tablet.flushed_row_count,
    }


def _always(_: Node) -> bool:
    return True
