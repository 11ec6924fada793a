"""What is published, for those who show it."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from queue_agent.core.consumers.multi_consumers import MultiConsumerSnapshot
from queue_agent.core.queues.snapshots import ConsumerSnapshot, PassFacts, QueueSnapshot
from queue_agent.core.status.time_series import TimeSeriesView
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.quota import Account, Quota


class SnapshotObserver(Protocol):
    """Hears of every snapshot that is published; metrics do."""

    def queue_published(self, snapshot: QueueSnapshot) -> None: ...

    def consumer_published(self, snapshot: ConsumerSnapshot) -> None: ...

    def objects_kept(self, queues: Container[CrossClusterRef], consumers: Container[CrossClusterRef]) -> None:
        """Only these are looked after from now on."""
        ...


class StatusSource(Protocol):
    """Everything there is to be published, as of now: what HTTP and metrics read. No method does I/O.

    Every call builds the published forms again, from plain Python values: None, bool, int, float, str, list, dict,
    `core.encoding.Unsigned`, to be written as uint64, and `core.encoding.Entity`, to be written as `<...>#`. What came
    from a cluster (error attributes, schemas) stays as it came.
    """

    def queues(self) -> Mapping[CrossClusterRef, QueueSnapshot]:
        """Latest snapshot of every queue served here, those in error included."""
        ...

    def consumers(self) -> Mapping[CrossClusterRef, ConsumerSnapshot]:
        """Latest snapshot of every consumer served here, those in error included."""
        ...

    @property
    def known_consumers(self) -> Container[CrossClusterRef]:
        """The consumers that exist, whoever leads them."""
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

    def quotas(self) -> Mapping[Account, Sequence[Quota]]:
        """Forecasts of the accounts that pay for queues led here, the first resource to be used up first."""
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

    @property
    def is_full(self) -> bool:
        """Whether there is no room for figures of another object."""
        ...

    def queue_series(self, queue: CrossClusterRef, hours: int) -> TimeSeriesView | None:
        """`write_rows_rate`, `write_bytes_rate`, `trim_rows_rate` and `backlog_rows`; None if not remembered."""
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


@dataclass(frozen=True, slots=True)
class ToldSeries:
    """Figures for a chart."""

    view: TimeSeriesView | None
    """None: nothing is known."""

    history_until: datetime | None = None
    """Figures before this are those of the history; None: all are remembered."""

    note: str | None = None
    """What is missing, for people."""


class SeriesTeller(Protocol):
    """Figures over time, those of the history included."""

    async def queue_series(self, queue: CrossClusterRef, hours: int) -> ToldSeries:
        """As of `SeriesSource`."""
        ...

    async def consumer_series(self, consumer: CrossClusterRef, queue: CrossClusterRef, hours: int) -> ToldSeries:
        """The same."""
        ...


class MetricsSource(StatusSource, Protocol):
    """What metrics read; no method does I/O."""

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

    def last_alerts(self) -> Mapping[str, datetime]:
        """When each alert of the agent as a whole was there last, by category; now, if it is."""
        ...

    def sharding_pass(self) -> PassFacts:
        """The pass that looks who leads what."""
        ...
