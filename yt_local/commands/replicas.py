"""Commands on the replicas of replicated tables."""

from __future__ import annotations

from typing import Any, Final, Literal

from yt_local.cluster import Cluster
from yt_local.commands.command import Body, Command, Int64, Parameters, PathParameter, light, volatile
from yt_local.security.permissions import UNCHECKED
from yt_local.session import Session
from yt_local.store.replicated_types import REPLICATED_TABLE
from yt_local.tables.tablet_keys import key_to_yson
from yt_wire.error import YtError


class _Alter(Parameters):
    replica_id: str
    enabled: bool | None = None
    mode: Literal["sync", "async"] | None = None
    preserve_timestamps: bool | None = None
    atomicity: Literal["full", "none"] | None = None
    enable_replicated_table_tracker: bool | None = None


class _InSync(Parameters):
    path: PathParameter
    timestamp: Int64
    all_keys: bool = False


class _PivotKeys(Parameters):
    path: PathParameter


async def _alter_table_replica(cluster: Cluster, session: Session, parameters: _Alter, _: Body) -> Any:
    cluster.replicas.alter(
        session.access,
        parameters.replica_id,
        {
            "enabled": parameters.enabled,
            "mode": parameters.mode,
            "preserve_timestamps": parameters.preserve_timestamps,
            "atomicity": parameters.atomicity,
            "tracked": parameters.enable_replicated_table_tracker,
        },
    )
    return {}


async def _get_in_sync_replicas(cluster: Cluster, session: Session, parameters: _InSync, body: Body) -> Any:
    table = cluster.tables.open(parameters.path, UNCHECKED)
    if table.node.type != REPLICATED_TABLE:
        raise YtError(f"Table {parameters.path} is not replicated")
    if not parameters.all_keys:
        for row in body.rows_for(lambda: table.schema.columns):
            table.codec.parse_key(row)
    replication = cluster.replication
    return [
        replica.id
        for replica in replication.replicas(table.node.id)
        if replica.enabled and replication.is_up_to_date(replica, parameters.timestamp)
    ]


async def _get_table_pivot_keys(cluster: Cluster, session: Session, parameters: _PivotKeys, _: Body) -> Any:
    table = cluster.tables.open_sorted(parameters.path, UNCHECKED)
    return [key_to_yson(table.schema.key_columns, tablet.pivot_key) for tablet in cluster.state.tablets(table.node.id)]


COMMANDS: Final[tuple[Command, ...]] = (
    volatile("alter_table_replica", _Alter, _alter_table_replica, transactions="ignored"),
    volatile("get_in_sync_replicas", _InSync, _get_in_sync_replicas, input_type="tabular", changes=False),
    light("get_table_pivot_keys", _PivotKeys, _get_table_pivot_keys),
)
