"""What takes part in replication: types of objects, and what is known of one replica."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, Self, TypeAlias

from yt_local.store.model import Node
from yt_wire.error import YtError
from yt_wire.guid import NULL_GUID

REPLICATED_TABLE: Final = "replicated_table"
CHAOS_REPLICATED_TABLE: Final = "chaos_replicated_table"
TABLE_REPLICA: Final = "table_replica"

UPSTREAM_REPLICA_ID: Final = "upstream_replica_id"
"""Attribute of a table by which it is a replica: writes come through the replicated table alone."""

NO_REPLICA: Final = str(NULL_GUID)

Mode: TypeAlias = Literal["sync", "async"]


@dataclass(frozen=True, slots=True)
class TableReplica:
    """One replica of a replicated table."""

    id: str
    table_id: str
    cluster_name: str
    replica_path: str
    mode: Mode
    enabled: bool
    preserve_timestamps: bool
    """Whether rows have the timestamps of the transactions that wrote them to the replicated table."""

    atomicity: str
    tracked: bool
    """Whether the tracker may change the mode."""

    start_replication_timestamp: int
    """Rows that are older are not replicated."""

    @property
    def state(self) -> str:
        return "enabled" if self.enabled else "disabled"

    @classmethod
    def of(cls, node: Node) -> Self:
        assert node.type == TABLE_REPLICA and node.parent_id is not None
        return cls(node.id, node.parent_id, **node.value)

    @property
    def value(self) -> dict[str, Any]:
        """As it is kept in its node."""
        return {name: getattr(self, name) for name in self.__slots__ if name not in ("id", "table_id")}


def refuse_chaos(node: Node, path: str) -> None:
    """YtError if somebody wants rows or tablets of a chaos replicated table, which is here but a node."""
    if node.type == CHAOS_REPLICATED_TABLE:
        raise YtError(f"{path} is a chaos replicated table: the local cluster has no chaos cells to serve its rows")
