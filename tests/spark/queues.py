"""Queues, consumers and tables of tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from yt_local.testing import LocalCluster

DATA = [{"name": "data", "type": "string"}]


def create_queue(cluster: LocalCluster, path: str, schema: Sequence[Any] = DATA, tablets: int = 1) -> None:
    """An ordered table, mounted."""
    attributes = {"dynamic": True, "schema": list(schema), "tablet_count": tablets}
    cluster.client.create("table", path, attributes=attributes)
    cluster.client.mount_table(path, sync=True)


def create_consumer(cluster: LocalCluster, path: str, queue: str) -> None:
    """A consumer, mounted, registered for a queue."""
    cluster.client.create("queue_consumer", path)
    cluster.client.mount_table(path, sync=True)
    cluster.client.register_queue_consumer(queue, path, vital=True)


def create_sorted(cluster: LocalCluster, path: str, keys: Sequence[Any], values: Sequence[Any]) -> None:
    """A sorted table, mounted."""
    schema = [*({**key, "sort_order": "ascending"} for key in keys), *values]
    cluster.client.create("table", path, attributes={"dynamic": True, "schema": schema})
    cluster.client.mount_table(path, sync=True)


def rows_of(cluster: LocalCluster, path: str) -> list[dict[str, Any]]:
    """All rows of a dynamic table, in its order."""
    return list(cluster.client.select_rows(f"* from [{path}]"))


def offsets(cluster: LocalCluster, consumer: str) -> dict[int, int]:
    """Next row of every partition."""
    return {int(row["partition_index"]): int(row["offset"]) for row in rows_of(cluster, consumer)}
