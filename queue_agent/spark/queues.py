"""What the driver asks of a queue and of its consumer, and how it moves the consumer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from yt.wrapper import YtClient
from yt.wrapper.driver import make_request
from yt.wrapper.errors import YtResponseError, create_response_error
from yt.wrapper.ypath import TablePath

from queue_agent.spark.connection import client_of, cluster_name, cluster_of, tablet_transaction, with_proxy
from queue_agent.spark.errors import ConsumerMoved, OptionError, QueueUnavailable
from queue_agent.spark.offsets import PartitionBounds
from queue_agent.spark.options import ConnectionOptions, OnUnmounted, ReadOptions
from queue_agent.spark.types import Column, columns_of
from yt_wire import yson

_READABLE: Final = ("mounted", "frozen")

_NOT_MOUNTED: Final = 1702
_OFFSET_CONFLICT: Final = 3100
_LOCK_CONFLICT: Final = 1700

_COMMIT_TIMEOUT: Final = 60.0
"""Seconds that a transaction that moves a consumer may take."""

_COMMIT_ATTEMPTS: Final = 3


@dataclass(frozen=True, slots=True)
class TableInfo:
    """What a table is."""

    object_id: str
    columns: Sequence[Column]
    dynamic: bool
    sorted: bool
    tablet_count: int
    """0 for a static table."""

    row_count: int
    """0 for a dynamic table."""


def table_info(client: YtClient, path: str) -> TableInfo:
    """Look at a table; OptionError if it is not there, or is none."""
    info = find_table_info(client, path)
    if info is None:
        raise OptionError(f'option "path": the table {path} is not there')
    return info


def find_table_info(client: YtClient, path: str) -> TableInfo | None:
    """Look at a table, None if there is nothing at the path; OptionError if it is no table."""
    names = ("id", "schema", "dynamic", "sorted", "tablet_count", "row_count", "type")
    try:
        attributes = client.get(f"{path}/@", attributes=names)
    except YtResponseError as error:
        if error.is_resolve_error():
            return None
        raise
    if attributes["type"] not in ("table", "replicated_table", "chaos_replicated_table"):
        raise OptionError(f'option "path": {path} is no table but a {attributes["type"]}')
    return TableInfo(
        object_id=str(attributes["id"]),
        columns=columns_of(attributes["schema"]),
        dynamic=bool(attributes.get("dynamic", False)),
        sorted=bool(attributes.get("sorted", False)),
        tablet_count=int(attributes.get("tablet_count", 0)),
        row_count=int(attributes.get("row_count", 0)),
    )


@dataclass(frozen=True, slots=True)
class QueueName:
    """A queue as consumers know it."""

    cluster: str
    path: str

    @property
    def rich_path(self) -> TablePath:
        """The path with the cluster, which any cluster understands."""
        return TablePath(self.path, attributes={"cluster": self.cluster})


def queue_name(path: str, connection: ConnectionOptions) -> QueueName:
    """The name of a queue; a path without a cluster means the one that is connected to."""
    cluster, plain = cluster_of(path)
    return QueueName(cluster or cluster_name(connection), plain)


class Queue:
    """A queue as the driver sees it; asks again at every call, except for names.

    Args:
        options: whose path is the queue's.
    """

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self.path = cluster_of(options.path)[1]

    @cached_property
    def name(self) -> QueueName:
        """As consumers know it."""
        return queue_name(self._options.path, queue_connection(self._options))

    def info(self) -> TableInfo:
        """Look at the table itself; OptionError if it is no ordered dynamic one."""
        info = table_info(self._client, self.path)
        if not info.dynamic or info.sorted:
            raise OptionError(f'option "path": {self.path} is not an ordered dynamic table, so it is no queue')
        return info

    def find_object_id(self) -> str | None:
        """Of the queue that is there now; None if there is none."""
        try:
            return str(self._client.get(f"{self.path}/@id"))
        except YtResponseError as error:
            if error.is_resolve_error():
                return None
            raise

    def bounds(self, tablet_count: int, on_unmounted: OnUnmounted) -> dict[int, PartitionBounds | None]:
        """Rows of all partitions; None for one that is not mounted.

        Raises:
            QueueUnavailable: one is not mounted, and that is not to be waited for.
        """
        try:
            return dict(self._bounds(range(tablet_count)))
        except YtResponseError as error:
            if not error.contains_code(_NOT_MOUNTED):
                raise
            states = [str(tablet["state"]) for tablet in self._client.get(f"{self.path}/@tablets")]
            unmounted = [index for index, state in enumerate(states) if state not in _READABLE]
            if on_unmounted == "fail":
                raise QueueUnavailable(
                    f"partitions {unmounted} of {self.path} are not mounted; on_unmounted=wait goes on without them"
                ) from error
            mounted = [index for index in range(tablet_count) if index not in unmounted]
            return {**dict.fromkeys(unmounted), **(self._bounds(mounted) if mounted else {})}

    def bound(self, partition_index: int) -> PartitionBounds:
        """Rows of one partition; YtResponseError if it is not mounted."""
        return self._bounds([partition_index])[partition_index]

    def _bounds(self, indexes: Sequence[int]) -> dict[int, PartitionBounds]:
        if not indexes:
            return {}
        tablets = self._client.get_tablet_infos(self.path, list(indexes))["tablets"]
        return {
            index: PartitionBounds(int(tablet["trimmed_row_count"]), int(tablet["total_row_count"]))
            for index, tablet in zip(indexes, tablets, strict=True)
        }

    @cached_property
    def _client(self) -> YtClient:
        return client_of(queue_connection(self._options))


def queue_connection(options: ReadOptions) -> ConnectionOptions:
    """How the cluster of the queue is reached: by `queue_proxy`, by the name in its path, or it is the consumer's."""
    if options.queue_proxy is not None:
        proxy = options.proxy_aliases.get(options.queue_proxy, options.queue_proxy)
        return with_proxy(options.connection, proxy)
    cluster, _ = cluster_of(options.path)
    if cluster is None or cluster == cluster_name(options.connection):
        return options.connection
    return with_proxy(options.connection, options.proxy_aliases.get(cluster, cluster))


class Consumer:
    """A consumer of one queue; the cluster that holds it is asked.

    Args:
        connection: of that cluster.
        path: of the consumer.
        queue: whose offsets are meant.

    Raises:
        OptionError: the path names another cluster.
    """

    def __init__(self, connection: ConnectionOptions, path: str, queue: QueueName) -> None:
        cluster, _ = cluster_of(path)
        if cluster is not None and cluster != cluster_name(connection):
            raise OptionError(
                f"the consumer {path} is of the cluster {cluster}, and the proxy is that of "
                f"{cluster_name(connection)}: name the proxy of the consumer's cluster, and the queue's in its path"
            )
        self._connection = connection
        self._path = path
        self._queue = queue
        self._known: dict[int, int] = {}

    def next_row_indexes(self) -> dict[int, int]:
        """Next row by partition; partitions that were never read are absent."""
        queue_cluster = yson.dumps(self._queue.cluster, "text").decode()
        queue_path = yson.dumps(self._queue.path, "text").decode()
        rows = client_of(self._connection).select_rows(
            f"[partition_index], [offset] from [{cluster_of(self._path)[1]}] "
            f"where [queue_cluster] = {queue_cluster} and [queue_path] = {queue_path}"
        )
        return {int(row["partition_index"]): int(row["offset"]) for row in rows}

    def advance(self, next_row_indexes: Mapping[int, int]) -> None:
        """Move it forward, all partitions in one transaction; those that are there already, or further, stay.

        Raises:
            ConsumerMoved: somebody else moved it back since the last call, or does so all the time.
        """
        if not self._known or forward_moves(next_row_indexes, self._known):
            self._retry(lambda: self._advance(next_row_indexes))

    def rewind(self, next_row_indexes: Mapping[int, int]) -> None:
        """Set it to these rows, wherever it is; for a queue that restarts."""
        self._known = {}
        self._retry(lambda: self._move(next_row_indexes, self.next_row_indexes()))

    def _advance(self, next_row_indexes: Mapping[int, int]) -> None:
        current = self.next_row_indexes()
        for index, known in self._known.items():
            if current.get(index, 0) < known:
                raise ConsumerMoved(
                    f"partition {index} of {self._path} was moved back from row {known} to {current.get(index, 0)} "
                    "by somebody else; to read again, start the query with a new checkpointLocation"
                )
        moves = forward_moves(next_row_indexes, current)
        if moves:
            self._move(moves, current)
        self._known = {**current, **moves}

    def _move(self, moves: Mapping[int, int], current: Mapping[int, int]) -> None:
        with tablet_transaction(self._connection, _COMMIT_TIMEOUT) as client:
            advance(client, self._path, self._queue, moves, current)

    def _retry(self, move: Callable[[], None]) -> None:
        """Somebody else may have moved it in between: look again."""
        for attempt in range(1, _COMMIT_ATTEMPTS + 1):
            try:
                move()
            except YtResponseError as error:
                if not (error.contains_code(_OFFSET_CONFLICT) or error.contains_code(_LOCK_CONFLICT)):
                    raise
                if attempt == _COMMIT_ATTEMPTS:
                    raise ConsumerMoved(f"{self._path} is moved by somebody else all the time") from error
            else:
                return


def forward_moves(next_row_indexes: Mapping[int, int], current: Mapping[int, int]) -> dict[int, int]:
    """Those of the positions that lie ahead of where a consumer is."""
    return {index: row for index, row in next_row_indexes.items() if row > current.get(index, 0)}


def advance(
    client: YtClient, consumer_path: str, queue: QueueName, moves: Mapping[int, int], current: Mapping[int, int]
) -> None:
    """Move a consumer within the client's transaction; the cluster refuses it if `current` is no longer so.

    Many partitions go in one request: each alone takes some ten milliseconds.
    """
    batch = client.create_batch_client()
    answers = [
        make_request(
            "advance_consumer",
            {
                "consumer_path": TablePath(consumer_path, client=client),
                "queue_path": queue.rich_path,
                "partition_index": index,
                "old_offset": current.get(index, 0),
                "new_offset": row,
                "client_side": False,
            },
            client=batch,
        )
        for index, row in sorted(moves.items())
    ]
    batch.commit_batch()
    for answer in answers:
        if not answer.is_ok():
            raise create_response_error(answer.get_error())


def pull_path(queue: Queue, options: ReadOptions) -> str | TablePath:
    """The path of a queue for requests to the cluster of the consumer, or of the queue itself without one."""
    return queue.path if options.consumer_path is None else queue.name.rich_path
