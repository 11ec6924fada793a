"""A cluster, as controllers see it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from queue_agent.core.trimming.ages import RowFound
from queue_agent.core.values.observed import (
    ConsumerOffset,
    ObjectRevisions,
    Poll,
    TableDescription,
    TabletInfo,
    Watch,
)
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError


class Cluster(Protocol):
    """One YTsaurus cluster, as its user the agent sees it.

    Every method raises a `ClusterError`: `ObjectNotFound`, `TabletNotMounted`, `AccessDenied`, `ClusterUnavailable`,
    or the base class for any other answer.
    """

    @property
    def name(self) -> str: ...

    async def get_object_revisions(self) -> ObjectRevisions:
        """The master's list of queues and consumers."""
        ...

    async def get_attributes(self, path: str, names: Collection[str]) -> Mapping[str, Any]:
        """Those of the attributes that the object has."""
        ...

    async def poll(self, watch: Watch) -> Poll:
        """Ask cheaply whether something has happened to a table, or in the tablets it is known to have.

        The facts are not younger than what the other methods answer afterwards.
        """
        ...

    async def poll_all(self, watches: Sequence[Watch]) -> Sequence[Poll | ClusterError]:
        """Poll up to a hundred tables by one request, which nothing else travels in.

        Returns:
            In order of the tables what `poll` would return or raise.
        """
        ...

    async def get_table(self, path: str) -> TableDescription:
        """Schema and tablets, with the address of each tablet's cell."""
        ...

    async def get_tablet_infos(
        self, path: str, partition_indexes: Sequence[int], object_id: str | None = None
    ) -> Mapping[int, TabletInfo]:
        """By partition index; an empty request asks nothing.

        Args:
            path: of the table.
            partition_indexes: which are wanted.
            object_id: that the table must have; None: whichever is at the path.
        """
        ...

    async def select_row_values(
        self, path: str, columns: Sequence[str], rows: Collection[tuple[int, int]]
    ) -> Mapping[str, Mapping[tuple[int, int], int]]:
        """Integer columns (`$timestamp`, `$cumulative_data_weight`) of the rows (partition index, row index).

        Returns:
            For every column its values; rows that do not exist and null values are absent.
        """
        ...

    async def read_consumer_offsets(
        self,
        consumer_path: str,
        partition_counts: Mapping[CrossClusterRef, int],
        *,
        with_meta: bool,
        name: str = "",
    ) -> Mapping[CrossClusterRef, Mapping[int, ConsumerOffset]]:
        """Offsets of some queues by partition index, below each one's count; partitions without a row are absent.

        `name` is that of the consumer in a multi-consumer, empty for a consumer that is alone in its table.
        """
        ...

    async def read_next_row_indexes(
        self, consumer_path: str, queue: CrossClusterRef, partition_count: int, *, name: str = ""
    ) -> Mapping[int, int]:
        """Offsets alone, of one queue, as they are now; otherwise as `read_consumer_offsets`."""
        ...

    async def read_consumer_names(self, path: str) -> Collection[str]:
        """The names in use in a multi-consumer."""
        ...

    async def generate_timestamp(self) -> int:
        """A timestamp of the cluster's clock, as of now."""
        ...

    async def find_young_row(self, object_id: str, partition_index: int, rows: range, limit: int) -> RowFound | None:
        """The first of some rows whose `$timestamp` is at least `limit` or null; see `core.trim_ages.learn`.

        If there is none, the last of the rows; None if that one is not there. The table must have the column.
        """
        ...

    async def find_other_row(self, object_id: str, partition_index: int, rows: range, timestamp: int) -> int | None:
        """Index of the first of some rows whose `$timestamp` is another one.

        Args:
            object_id: of a table with the column.
            partition_index: of its rows.
            rows: their indexes; "first" is meant in the order of the range, which may go down.
            timestamp: of the rows to skip.

        Returns:
            None if there is no such row.
        """
        ...

    async def trim_rows(self, object_id: str, partition_index: int, trimmed_row_count: int, permit: Permit) -> None:
        """Drop the rows below `trimmed_row_count` of the table with this id, whatever path it has now.

        Args:
            permit: asked just before the request is sent; the request is given up in the time it allows.
        """
        ...


class Permit(Protocol):
    """Permission to act, which may come to an end at any moment."""

    @property
    def seconds(self) -> float:
        """How long an action may take."""
        ...

    def check(self) -> None:
        """Raise `ActionRefused` if the action may not begin now."""
        ...


class RequestObserver(Protocol):
    """Hears of every finished request to a cluster; metrics do."""

    def request_finished(self, cluster: str, command: str, outcome: str, seconds: float) -> None:
        """`outcome` is `ok`, `unavailable`, `not_found`, `not_mounted`, `denied` or `error`; a repeat counts again."""
        ...
