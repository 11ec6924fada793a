"""Replicated tables with replicas on two clusters, for tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from yt.wrapper import YtClient

from tests.conformance.harness import rows_of

ROWS = [{"key": 1, "value": "one", "views": 1}, {"key": 2, "value": "two", "views": 2}]
SCHEMA = [
    {"name": "hash", "type": "uint64", "sort_order": "ascending", "expression": "farm_hash(key)"},
    {"name": "key", "type": "int64", "sort_order": "ascending"},
    {"name": "value", "type": "string"},
    {"name": "views", "type": "int64", "aggregate": "sum"},
]
ENDS = {"hume": "sync", "pythia": "async"}


@dataclass(frozen=True)
class Replicated:
    """A replicated table on pythia, and its replicas."""

    meta: YtClient
    clusters: dict[str, YtClient]
    path: str
    ids: dict[str, str]

    def copy(self, name: str) -> str:
        """Path of the replica on a cluster."""
        return f"{self.path}_on_{name}"

    def replica(self, name: str, attribute: str) -> Any:
        return self.meta.get(f"#{self.ids[name]}/@{attribute}")

    def rows(self, name: str, columns: str = "key, value, views") -> list[dict[str, Any]]:
        """What a replica has."""
        return rows_of(self.clusters[name], f"{columns} from [{self.copy(name)}]")

    def alter(self, name: str, **changes: Any) -> None:
        self.meta.alter_table_replica(self.ids[name], **changes)


def make(meta: YtClient, other: YtClient, path: str, modes: dict[str, str] = ENDS, **attributes: Any) -> Replicated:
    """A replicated table and its replicas, mounted and enabled."""
    schema = attributes.pop("schema", SCHEMA)
    meta.create("replicated_table", path, attributes={"dynamic": True, "schema": schema, **attributes})
    table = Replicated(meta, {"pythia": meta, "hume": other}, path, {})
    for name, mode in modes.items():
        replica = {"table_path": path, "cluster_name": name, "replica_path": table.copy(name), "mode": mode}
        table.ids[name] = meta.create("table_replica", attributes=replica)
        table.clusters[name].create(
            "table",
            table.copy(name),
            attributes={"dynamic": True, "schema": schema, "upstream_replica_id": table.ids[name]},
        )
        table.clusters[name].mount_table(table.copy(name), sync=True)
        table.alter(name, enabled=True)
    meta.mount_table(path, sync=True)
    return table
