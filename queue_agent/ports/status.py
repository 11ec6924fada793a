"""What is published, for those who show it."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, Protocol

from queue_agent.core.consumers.multi_consumers import MultiConsumerSnapshot
from queue_agent.core.queues.snapshots import ConsumerSnapshot, PassFacts, QueueSnapshot
from queue_agent.core.status.time_series import TimeSeriesView
from queue_agent.core.values.refs import CrossClusterRef


class SnapshotObserver(Protocol):
    """Hears of every snapshot that is published; metrics do."""

    def queue_published(self, snapshot: QueueSnapshot) -> None: ...

    def consumer_published(self, snapshot: ConsumerSnapshot) -> None: ...

    def objects_kept(self, queues: Container[CrossClusterRef], consumers: Container[CrossClusterRef]) -> None:
        """Only these are looked after from now on."""
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
        """A few figures of a queue; see `core.status.overview`."""
        ...

    def consumer_overview(self, ref: CrossClusterRef) -> Sequence[Mapping[str, Any]] | None:
        """A few figures of a consumer in each of its queues; see `core.status.overview`."""
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


class SeriesSource(Protocol):
    """Figures over time; no method does I/O."""

    def queue_series(self, queue: CrossClusterRef, hours: int) -> TimeSeriesView | None:
        """`write_rows_rate`, `write_bytes_rate` and `backlog_rows`; None for a queue that is not remembered."""
        ...

    def consumer_series(self, consumer: CrossClusterRef, queue: CrossClusterRef, hours: int) -> TimeSeriesView | None:
        """`lag_rows`, `lag_time` and `time_to_loss` in seconds, `read_rows_rate`; None if they are not remembered."""
        ...

    def queue_spark(self, queue: CrossClusterRef) -> Sequence[float | None]:
        """`backlog_rows` of the last hour, every other minute."""
        ...

    def consumer_spark(self, consumer: CrossClusterRef, queue: CrossClusterRef) -> Sequence[float | None]:
        """`lag_rows` of the last hour, every other minute."""
        ...


class MetricsSource(StatusSource, Protocol):
    """What metrics are made from, besides what they are told; no method does I/O."""

    @property
    def all_queues(self) -> Mapping[CrossClusterRef, QueueSnapshot]:
        """Latest snapshots, those of queues only followed included."""
        ...

    @property
    def known_consumers(self) -> Container[CrossClusterRef]:
        """The consumers that exist, whoever leads them."""
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
