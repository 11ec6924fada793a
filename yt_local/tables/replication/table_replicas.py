"""Replicas of replicated tables as objects of the meta-cluster: made and altered by commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from yt_local.base.clock import MIN_TIMESTAMP
from yt_local.cypress.nodes import new_node
from yt_local.cypress.resolver import Resolver
from yt_local.security.permissions import Access
from yt_local.store.replicated_types import REPLICATED_TABLE, TABLE_REPLICA, TableReplica
from yt_local.store.state import ClusterState
from yt_wire import yson
from yt_wire.error import ErrorCode, YtError

_MODES: Final = ("sync", "async")
_ATOMICITIES: Final = ("full", "none")


class TableReplicas:
    """Commands on replicas; whoever may write to a replicated table may change its replicas."""

    def __init__(self, state: ClusterState, resolver: Resolver) -> None:
        self._state = state
        self._resolver = resolver

    def create(self, access: Access, attributes: Mapping[str, Any]) -> str:
        """Make a replica and return its id; the table it stands for need not be there yet.

        Raises:
            YtError: 1705 if the replicated table has this replica; something is missing or makes no sense.
        """
        table = self._resolver.node(_text(attributes, "table_path"))
        if table.type != REPLICATED_TABLE:
            raise YtError(f"{self._resolver.path_of(table)} is not a replicated table but a {table.type}")
        access.check(table, "write")
        replica = TableReplica(
            id="",
            table_id=table.id,
            cluster_name=_text(attributes, "cluster_name"),
            replica_path=_text(attributes, "replica_path"),
            mode=_choice(attributes, "mode", _MODES, "async"),
            enabled=_boolean(attributes, "enabled", False),
            preserve_timestamps=_boolean(attributes, "preserve_timestamps", True),
            atomicity=_choice(attributes, "atomicity", _ATOMICITIES, "full"),
            tracked=_boolean(attributes, "enable_replicated_table_tracker", True),
            start_replication_timestamp=_timestamp(attributes, "start_replication_timestamp"),
        )
        _check(replica)
        for node in self._state.children(table.id):
            other = TableReplica.of(node)
            if (other.cluster_name, other.replica_path) == (replica.cluster_name, replica.replica_path):
                raise YtError(
                    f'Replica table {replica.replica_path} at cluster "{replica.cluster_name}" already exists',
                    ErrorCode.TABLE_REPLICA_ALREADY_EXISTS,
                )
        with self._state.change():
            node = new_node(self._state, TABLE_REPLICA, table.id, "")
            self._state.put_node(replace(node, name=node.id, value=replica.value))
            return node.id

    def alter(self, access: Access, replica_id: str, changes: Mapping[str, Any]) -> None:
        """Change members of a replica; those that are None stay as they are.

        Raises:
            YtError: 500 if there is no such replica; atomicity and timestamps do not go together.
        """
        node = self._resolver.node(f"#{replica_id}")
        if node.type != TABLE_REPLICA:
            raise YtError(f"#{replica_id} is not a table replica but a {node.type}")
        assert node.parent_id is not None
        access.check(self._state.node(node.parent_id), "write")
        given = {name: value for name, value in changes.items() if value is not None}
        replica = replace(TableReplica.of(node), **given)
        _check(replica)
        with self._state.change():
            self._state.put_node(replace(node, value=replica.value, revision=self._state.next_revision()))


def _check(replica: TableReplica) -> None:
    if replica.atomicity == "none" and not replica.preserve_timestamps:
        raise YtError(
            "Cannot create replica table: incompatible atomicity and preserve_timestamps",
            ErrorCode.INVALID_TABLET_STATE,
            {"atomicity": replica.atomicity, "preserve_timestamps": replica.preserve_timestamps},
        )


def _text(attributes: Mapping[str, Any], name: str) -> str:
    value = attributes.get(name)
    if value is None:
        raise YtError(f'Attribute "{name}" is not found', ErrorCode.RESOLVE)
    if not isinstance(value, str) or not value:
        raise YtError(
            f'Attribute "{name}" of a table replica must be a string that is not empty, got {yson.shown(value)}'
        )
    return str(value)


def _choice(attributes: Mapping[str, Any], name: str, choices: tuple[str, ...], default: str) -> Any:
    value = attributes.get(name, default)
    if value not in choices:
        raise YtError(
            f'Attribute "{name}" of a table replica must be one of {", ".join(choices)}, got {yson.shown(value)}'
        )
    return str(value)


def _boolean(attributes: Mapping[str, Any], name: str, default: bool) -> bool:
    value = yson.as_boolean(attributes.get(name, default))
    if not isinstance(value, bool):
        raise YtError(f'Attribute "{name}" of a table replica must be a boolean, got {yson.shown(value)}')
    return value


def _timestamp(attributes: Mapping[str, Any], name: str) -> int:
    value = attributes.get(name, MIN_TIMESTAMP)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise YtError(f'Attribute "{name}" of a table replica must be a timestamp, got {yson.shown(value)}')
    return int(value)
