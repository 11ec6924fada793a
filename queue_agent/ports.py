"""What controllers need from the world; adapters implement it, tests may fake it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from queue_agent.core.observed import ConsumerOffset, ObjectRevisions, TableDescription, TabletInfo
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.rows import ConsumerRow, QueueRow, StateRows
from queue_agent.core.snapshots import ConsumerSnapshot, PassFacts, QueueSnapshot


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

    async def get_table(self, path: str) -> TableDescription:
        """Schema and tablets, with the address of each tablet's cell."""
        ...

    async def get_tablet_infos(self, path: str, partition_indexes: Sequence[int]) -> Mapping[int, TabletInfo]:
        """By partition index; an empty request asks nothing."""
        ...

    async def select_row_values(
        self, path: str, column: str, rows: Collection[tuple[int, int]]
    ) -> Mapping[tuple[int, int], int]:
        """An integer column (`$timestamp`, `$cumulative_data_weight`) of the rows (partition index, row index).

        Rows that do not exist and null values are absent from the answer.
        """
        ...

    async def read_consumer_offsets(
        self, consumer_path: str, queue: CrossClusterRef, partition_count: int, *, with_meta: bool
    ) -> Mapping[int, ConsumerOffset]:
        """Offsets of one queue by partition index, below `partition_count`; partitions without a row are absent."""
        ...

    async def trim_rows(self, object_id: str, partition_index: int, trimmed_row_count: int) -> None:
        """Drop the rows below `trimmed_row_count` of the table with this id, whatever path it has now."""
        ...


class StateStore(Protocol):
    """The dynamic state tables; raises `ClusterError` like a cluster."""

    async def read(self) -> StateRows:
        """Every row of queues, consumers and registrations."""
        ...

    async def write_objects(self, queues: Collection[QueueRow], consumers: Collection[ConsumerRow]) -> None:
        """Insert or replace whole rows."""
        ...

    async def delete_objects(
        self, queues: Collection[CrossClusterRef], consumers: Collection[CrossClusterRef]
    ) -> None: ...


class PassObserver(Protocol):
    """Hears of every finished pass; metrics do."""

    def pass_finished(self, kind: str, pass_index: int, seconds: float, error: Exception | None) -> None:
        """`kind` is `queue_controller`, `consumer_controller`, `agent` or `cypress_synchronizer`."""
        ...


class RequestObserver(Protocol):
    """Hears of every finished request to a cluster; metrics do."""

    def request_finished(self, cluster: str, command: str, outcome: str, seconds: float) -> None:
        """`outcome` is `ok`, `unavailable`, `not_found`, `not_mounted`, `denied` or `error`; a repeat counts anew."""
        ...


class Clock(Protocol):
    """Time of day."""

    def now(self) -> datetime:
        """The present, aware, UTC."""
        ...


class StatusSource(Protocol):
    """Everything there is to be published, as of now: what HTTP and metrics read. No method does I/O.

    The published forms are built anew on every call, from plain Python values: None, bool, int, float, str, list, dict,
    and `core.encoding.Unsigned`, to be written as uint64. What came from a cluster (error attributes, schemas) stays as
    it came.
    """

    def queues(self) -> Mapping[CrossClusterRef, QueueSnapshot]:
        """Latest snapshot of every queue served here, those in error included."""
        ...

    def consumers(self) -> Mapping[CrossClusterRef, ConsumerSnapshot]:
        """Latest snapshot of every consumer served here, those in error included."""
        ...

    def queue_status(self, ref: CrossClusterRef) -> Mapping[str, Any] | None:
        """Value of `@queue_status`; None for a queue not served here, as in the three below."""
        ...

    def queue_partitions(self, ref: CrossClusterRef) -> Sequence[Mapping[str, Any]] | None:
        """Value of `@queue_partitions`, by partition index."""
        ...

    def consumer_status(self, ref: CrossClusterRef) -> Mapping[str, Any] | None:
        """Value of `@queue_consumer_status`."""
        ...

    def consumer_partitions(self, ref: CrossClusterRef) -> Mapping[str, Any] | Sequence[Any] | None:
        """Value of `@queue_consumer_partitions`: lists by queue; an empty list for a consumer in error."""
        ...

    def agent_pass(self) -> PassFacts:
        """The agent's own pass: state tables to controllers."""
        ...

    def synchronizer_pass(self) -> PassFacts:
        """The pass that carries attributes into the state tables; index -1 for good if it does not run here."""
        ...

    def alerts(self) -> Mapping[str, Any]:
        """Agent-wide alerts by category, as error maps."""
        ...
