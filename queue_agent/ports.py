"""What controllers need from the world; adapters implement it, tests may fake it."""

from __future__ import annotations

from collections.abc import Collection, Container, Hashable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from queue_agent.core.group import GroupView
from queue_agent.core.history import HistoryRow
from queue_agent.core.history_outbox import EncodedRows
from queue_agent.core.multi_consumers import MultiConsumerSnapshot
from queue_agent.core.observed import ConsumerOffset, Glance, ObjectRevisions, TableDescription, TabletInfo, Watch
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.rows import (
    ConsumerNameRow,
    ConsumerRow,
    HostVersion,
    MappingRow,
    ObjectHosts,
    QueueRow,
    StateRows,
)
from queue_agent.core.snapshots import ConsumerSnapshot, PassFacts, QueueSnapshot
from queue_agent.core.trim_ages import RowFound
from queue_agent.core.trim_journal import TrimRecord
from queue_agent.core.trim_preview import TrimPreview
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

    async def glance(self, watch: Watch) -> Glance:
        """Ask cheaply whether something has happened to a table, or in the tablets it is known to have.

        The facts are not younger than what the other methods answer afterwards.
        """
        ...

    async def glance_all(self, watches: Sequence[Watch]) -> Sequence[Glance | ClusterError]:
        """Glance at up to a hundred tables by one request, which nothing else travels in.

        Returns:
            In order of the tables what `glance` would return or raise.
        """
        ...

    async def get_table(self, path: str) -> TableDescription:
        """Schema and tablets, with the address of each tablet's cell."""
        ...

    async def get_tablet_infos(self, path: str, partition_indexes: Sequence[int]) -> Mapping[int, TabletInfo]:
        """By partition index; an empty request asks nothing."""
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

    async def trim_rows(
        self, object_id: str, partition_index: int, trimmed_row_count: int, permit: Permit | None = None
    ) -> None:
        """Drop the rows below `trimmed_row_count` of the table with this id, whatever path it has now.

        Args:
            permit: asked just before the request is sent; the request is given up in the time it allows. None: nobody
                else trims the table.
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


class StateStore(Protocol):
    """The dynamic state tables; raises `ClusterError` like a cluster."""

    async def read(self) -> StateRows:
        """Every row of all tables; see there which tables need not be read."""
        ...

    async def read_hosts_stamp(self) -> Hashable:
        """What is another after every write to the mapping of objects to agents."""
        ...

    async def read_host_versions(self, tables: Collection[CrossClusterRef]) -> Mapping[CrossClusterRef, HostVersion]:
        """Who leads these tables now; those not mapped are absent."""
        ...

    async def write_objects(
        self, queues: Collection[QueueRow], consumers: Collection[ConsumerRow], mappings: Collection[MappingRow] = ()
    ) -> None:
        """Insert or replace whole rows."""
        ...

    async def delete_objects(
        self,
        queues: Collection[CrossClusterRef],
        consumers: Collection[CrossClusterRef],
        mappings: Collection[CrossClusterRef] = (),
    ) -> None: ...

    async def write_consumer_names(self, names: Collection[ConsumerNameRow]) -> None: ...

    async def delete_consumer_names(self, names: Collection[CrossClusterRef]) -> None: ...


class HostStore(Protocol):
    """The state table that says which agent leads which object; raises `ClusterError` like a cluster."""

    async def write_hosts(self, hosts: ObjectHosts) -> None:
        """Insert or replace rows, in one transaction."""
        ...

    async def delete_hosts(self, tables: Collection[CrossClusterRef]) -> None:
        """Delete rows; those that are not there are no error."""
        ...


class AgentGroup(Protocol):
    """The agents of a stage, as the cluster of the state knows them; raises `ClusterError` like a cluster."""

    async def join(self, lease: float) -> str:
        """Become a member, for as long as the membership is pinged.

        Args:
            lease: seconds the membership lives without a ping.

        Returns:
            The id of the membership, a master transaction.

        Raises:
            ClusterError: also if an agent of the same address is a member.
        """
        ...

    async def register(self) -> None:
        """Have the agent be known as one that there is; whoever joins is."""
        ...

    async def ping(self, membership: str) -> None:
        """Prolong a membership; ClusterError with code 11000 if it has ended."""
        ...

    async def leave(self, membership: str) -> None:
        """End a membership, and give back what it has locked."""
        ...

    async def look(self) -> GroupView:
        """Who is there now."""
        ...

    async def claim_synchronizer(self, membership: str) -> bool:
        """Try to become the one that keeps the state tables; False if another is."""
        ...

    async def resign_synchronizer(self, membership: str) -> None:
        """Let another keep the state tables."""
        ...


class PeerAgents(Protocol):
    """The other agents."""

    async def get(self, address: str, path: Sequence[str], time_limit: float) -> Any:
        """The value at a path, of unescaped keys, of an agent's tree.

        Args:
            address: of the agent, `host:port`.
            path: as of `adapters.orchid.OrchidTree.get`.
            time_limit: seconds until the answer has to be there.

        Raises:
            YtError: the agent's own; code 100 if it can not be reached, 3 if time is up.
        """
        ...


class ConfigSource(Protocol):
    """Where the dynamic configuration is kept; raises `ClusterError` like a cluster."""

    async def find(self) -> Any:
        """The document as it is now, of plain Python values, not checked in any way; None if there is none."""
        ...


class TrimJournalStore(Protocol):
    """Where the journal of trims is kept; raises `ClusterError` like a cluster."""

    async def write(self, records: Collection[TrimRecord]) -> None:
        """Add records; one that is there already is no error."""
        ...


class TrimJournal(Protocol):
    """Takes notes of trims."""

    def note(self, record: TrimRecord) -> None:
        """Remember a trim that was done; it will be written soon, if it can be."""
        ...


class TrimPlanner(Protocol):
    """Tells what trimming would do, and does nothing."""

    async def preview(self, ref: CrossClusterRef, policy: Mapping[str, Any] | None) -> TrimPreview | None:
        """What a policy would do to a queue now.

        Args:
            ref: the queue.
            policy: in place of the queue's own `@auto_trim_config`; None: its own.

        Returns:
            None for a queue not served here.
        """
        ...


class JournalObserver(Protocol):
    """Hears of the journal of trims; metrics do."""

    def journal_written(self, count: int) -> None:
        """So many records were written."""
        ...

    def journal_dropped(self, count: int) -> None:
        """So many records could not be written for too long."""
        ...

    def journal_failed(self) -> None:
        """Writing failed; it will be tried again."""
        ...


class ProducerSession(NamedTuple):
    """A session of a producer, as it was when it began."""

    epoch: int
    """Who comes with a lower one is refused."""

    sequence_number: int
    """Of the last row written in it, ever; -1: none."""


class HistoryStore(Protocol):
    """The queue the history goes to, and the producer by which each row gets there once.

    Methods that do I/O raise `ClusterError` like a cluster.
    """

    def encode(self, rows: Sequence[HistoryRow]) -> EncodedRows:
        """Rows in the form in which they travel."""
        ...

    async def find_owner(self) -> str | None:
        """Which agent instance has begun the session last; None: nobody has."""
        ...

    async def begin_session(self, agent_instance: str) -> ProducerSession:
        """Take the session over; whatever is still under way in it will be refused."""
        ...

    async def push(self, epoch: int, sequence_number: int, rows: Sequence[EncodedRows]) -> None:
        """Append all rows or none.

        Args:
            epoch: of the session as it was begun.
            sequence_number: of the first row; the others follow.
            rows: what `encode` gave.
        """
        ...


class HistoryObserver(Protocol):
    """Hears of the history; metrics do."""

    def history_written(self, row_count: int) -> None:
        """So many rows were written."""
        ...

    def history_dropped(self, row_count: int) -> None:
        """So many rows were given up."""
        ...

    def history_failed(self) -> None:
        """Writing failed; it will be tried again."""
        ...

    def history_waiting(self, row_count: int) -> None:
        """So many rows wait now."""
        ...


class PassScope(NamedTuple):
    """Which passes over objects are told of together."""

    cluster: str
    leading: bool


class PassObserver(Protocol):
    """Hears of every finished pass; metrics do."""

    def pass_finished(
        self, kind: str, pass_index: int, seconds: float, error: Exception | None, scope: PassScope | None = None
    ) -> None:
        """A pass over an object has a scope.

        `kind` is `queue_controller`, `consumer_controller`, `multi_consumer_controller`, `agent`,
        `cypress_synchronizer`, `queue_agent_sharding_manager`, `membership`, `dynamic_config`, `cluster_connections`,
        `history`, `metrics` or `open_telemetry`.
        """
        ...


class SnapshotObserver(Protocol):
    """Hears of every snapshot that is published; metrics do."""

    def queue_published(self, snapshot: QueueSnapshot) -> None: ...

    def consumer_published(self, snapshot: ConsumerSnapshot) -> None: ...

    def objects_kept(self, queues: Container[CrossClusterRef], consumers: Container[CrossClusterRef]) -> None:
        """Only these are looked after from now on."""
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
    `core.encoding.Unsigned`, to be written as uint64, and `core.encoding.Entity`, to be written as `<...>#`. What came
    from a cluster (error attributes, schemas) stays as it came.
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

    def queue_overview(self, ref: CrossClusterRef) -> Mapping[str, Any] | None:
        """A few figures of a queue; see `core.overview`."""
        ...

    def consumer_overview(self, ref: CrossClusterRef) -> Sequence[Mapping[str, Any]] | None:
        """A few figures of a consumer in each of its queues; see `core.overview`."""
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


class MetricsSource(StatusSource, Protocol):
    """What metrics are made from, besides what they are told; no method does I/O."""

    @property
    def all_queues(self) -> Mapping[CrossClusterRef, QueueSnapshot]:
        """Latest snapshots, those of queues only followed included."""
        ...

    @property
    def all_consumers(self) -> Mapping[CrossClusterRef, ConsumerSnapshot]:
        """Latest snapshots, those of consumers only followed included."""
        ...

    def multi_consumers(self) -> Mapping[CrossClusterRef, MultiConsumerSnapshot]:
        """Latest snapshots of the tables that hold several consumers."""
        ...

    def sharding_pass(self) -> PassFacts:
        """The pass that looks who leads what."""
        ...
