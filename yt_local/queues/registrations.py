"""Which consumers are registered with which queues, on all clusters together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from yt_local.cypress.resolver import Resolver
from yt_local.schema.column_types import text_of
from yt_local.security.permissions import UNCHECKED, UNLIMITED, Access
from yt_local.store.model import Node
from yt_local.tables.replication.directory import ClusterDirectory
from yt_wire import yson
from yt_wire.error import ErrorCode, YtError
from yt_wire.ypath import RichPath

TABLE_PATH: Final = "//sys/queue_agents/consumer_registrations"

CONSUMER_NAME: Final = "queue_consumer_name"
"""Attribute of a path that says which of the consumers of a table is meant."""

_CLUSTER_SUFFIX: Final = ".yt.yandex.net"
"""Cut from names of clusters: queue-api.md, section 2."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A table on a cluster, links resolved, or one consumer of several in it."""

    cluster: str
    path: str
    consumer_name: str | None = None
    """Of one of several consumers that share the table; None for a table of one consumer, or none."""

    def __str__(self) -> str:
        return f"{self.cluster}:{self.path}"

    @property
    def rich_path(self) -> yson.Yson:
        """`<cluster=hume>"//tmp/c"`, with the attribute `queue_consumer_name` if there is a name."""
        name = {} if self.consumer_name is None else {CONSUMER_NAME: self.consumer_name}
        return yson.with_attributes(self.path, {"cluster": self.cluster, **name})


class Registrations:
    """What the proxies of one cluster do with registrations; the rows live in a table of the home cluster."""

    def __init__(self, cluster_name: str, resolver: Resolver, directory: ClusterDirectory) -> None:
        self._cluster_name = cluster_name
        self._resolver = resolver
        self._directory = directory

    def register(
        self,
        access: Access,
        queue_path: RichPath,
        consumer_path: RichPath,
        *,
        vital: bool,
        partitions: Sequence[int] | None,
    ) -> None:
        """Add a registration, or replace the one there is.

        Raises:
            YtError: one of the paths leads to no table; 901 if the queue is not the user's to register with.
        """
        queue, consumer = self.existing_table(queue_path), self.existing_table(consumer_path)
        access, node = self._access_to(access, queue)
        access.check(node, "register_queue_consumer", vital=vital)
        row = _key(queue, consumer)
        row[b"vital"] = vital
        row[b"partitions"] = None if partitions is None else list(partitions)
        self._directory.home.writer.insert_rows(UNLIMITED, TABLE_PATH, [row])

    def unregister(self, access: Access, queue_path: RichPath, consumer_path: RichPath) -> None:
        """Remove a registration; objects may be gone, and so may the registration."""
        queue, consumer = self.reference(queue_path), self.reference(consumer_path)
        self._check_removable(access, queue, consumer)
        self._directory.home.writer.delete_rows(UNLIMITED, TABLE_PATH, [_key(queue, consumer)])

    def list(self, queue_path: RichPath | None, consumer_path: RichPath | None) -> list[dict[str, Any]]:
        """Registrations of a queue, of a consumer, of both, or all of them."""
        conditions = []
        for path, role in ((queue_path, "queue"), (consumer_path, "consumer")):
            if path is not None:
                reference = self.reference(path)
                conditions.append(
                    f"[{role}_cluster] = {_literal(reference.cluster)} and [{role}_path] = {_literal(reference.path)}"
                )
                if role == "consumer" and reference.consumer_name is not None:
                    conditions.append(f"[consumer_name] = {_literal(reference.consumer_name)}")
        where = f" where {' and '.join(conditions)}" if conditions else ""
        rows = self._directory.home.tables.select_rows(UNLIMITED, f"* from [{TABLE_PATH}]{where}")
        return [
            {
                "queue_path": _reference_of(row, "queue").rich_path,
                "consumer_path": _reference_of(row, "consumer").rich_path,
                "vital": bool(row["vital"]),
                "partitions": row["partitions"],
            }
            for row in rows
        ]

    def check(self, queue: Reference, consumer: Reference, queue_path: RichPath, consumer_path: RichPath) -> None:
        """YtError 901 unless the consumer is registered with the queue."""
        tables = self._directory.home.tables
        key = tuple(_key(queue, consumer).values())
        if tables.find_row(tables.open_sorted(TABLE_PATH, UNCHECKED), key) is None:
            raise YtError(
                f"Consumer {consumer} is not registered for queue {queue}",
                ErrorCode.AUTHORIZATION,
                {"raw_queue": queue_path.path, "raw_consumer": consumer_path.path},
            )

    def _check_removable(self, access: Access, queue: Reference, consumer: Reference) -> None:
        """YtError 901 if both tables are there, and the user may remove neither."""
        try:
            found = [self._access_to(access, reference) for reference in (queue, consumer)]
        except YtError as error:
            if error.code != ErrorCode.RESOLVE:
                raise
            return
        if not any(access.allows(node, "remove") for access, node in found):
            access, node = found[0]
            access.check(node, "remove")

    def _access_to(self, access: Access, reference: Reference) -> tuple[Access, Node]:
        """What the user may do on a table's cluster, and the table; YtError 500 if it is not there."""
        cluster = self._directory.find(reference.cluster)
        if cluster is None:
            return access, self._resolver.node(reference.path)
        return cluster.permissions.access(access.user), cluster.resolver.node(reference.path)

    def reference(self, path: RichPath) -> Reference:
        """The table a path means; a path that leads nowhere is taken as it is."""
        reference, node = self._resolve(path)
        if isinstance(node, YtError) and node.code != ErrorCode.RESOLVE:
            raise node
        return reference

    def existing_table(self, path: RichPath) -> Reference:
        """The table a path means; YtError if there is none."""
        reference, node = self._resolve(path)
        if isinstance(node, Node) and node.table is not None:
            return reference
        raise YtError(
            f'Failed to get table mount info to perform registration manager resolutions for object "{reference}"',
            inner_errors=[YtError(f"{reference} is not a table") if isinstance(node, Node) else node],
        )

    def _resolve(self, path: RichPath) -> tuple[Reference, Node | YtError]:
        """What a path means, and the node there or why there is none."""
        cluster_name = (path.cluster or self._cluster_name).removesuffix(_CLUSTER_SUFFIX)
        cluster = self._directory.find(cluster_name)
        resolver = cluster.resolver if cluster else self._resolver
        name = path.attributes.get(CONSUMER_NAME)
        consumer_name = None if yson.is_null(name) else text_of(name, CONSUMER_NAME)
        try:
            node = resolver.node(path.bare)
        except YtError as error:
            return Reference(cluster_name, path.bare, consumer_name), error
        return Reference(cluster_name, resolver.path_of(node), consumer_name), node


def _key(queue: Reference, consumer: Reference) -> dict[bytes, Any]:
    """Of a registration, in the order of the key columns; a consumer that is alone in its table has no name."""
    return {
        b"queue_cluster": queue.cluster.encode(),
        b"queue_path": queue.path.encode(),
        b"consumer_cluster": consumer.cluster.encode(),
        b"consumer_path": consumer.path.encode(),
        b"consumer_name": None if consumer.consumer_name is None else consumer.consumer_name.encode(),
    }


def _reference_of(row: dict[str, Any], role: str) -> Reference:
    name = row["consumer_name"] if role == "consumer" else None
    return Reference(row[f"{role}_cluster"].decode(), row[f"{role}_path"].decode(), name.decode() if name else None)


def _literal(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
