"""What one pass saw of a queue or a consumer."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from queue_agent.core.exports.progress import ExportProgress
from queue_agent.core.exports.queue_exports import NO_EXPORTS, QueueExports
from queue_agent.core.queues.config_keys import find_key_alerts
from queue_agent.core.state.quarantines import Quarantine
from queue_agent.core.state.rows import ConsumerRow, QueueRow, Registration
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.observed import ConsumerOffset
from queue_agent.core.values.rates import Counters, EmaCounter, total
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import PartitionTrim
from queue_agent.core.verdicts.values import QueueVerdict


class Role(enum.Enum):
    """What the controller behind a snapshot may do."""

    LEADING = "leading"
    """Publishes, and trims."""

    FOLLOWING = "following"
    """Looks only, because another object here needs to know."""

    ERROR = "error"
    """There is none: the object's row cannot be served, the snapshot says why and its pass means nothing."""


@dataclass(frozen=True, slots=True)
class QueuePartition:
    """A partition that could be read."""

    tablet_id: str
    tablet_state: str
    """`mounted` or `frozen`."""

    cell_id: str | None
    host: str | None
    lower_row_index: int
    upper_row_index: int
    last_row_commit_time: datetime
    """To the second; the epoch if nothing was ever written."""

    counters: Counters
    """As of the last pass that found something new here; as of a later one see `counters_at`."""

    cumulative_data_weight: int | None = None
    """Of the last row; None: not known."""

    trimmed_data_weight: int | None = None
    """Cumulative weight of the first row that is there (itself included); None: not known."""

    @property
    def available_row_count(self) -> int:
        return self.upper_row_index - self.lower_row_index

    @property
    def available_data_weight(self) -> int | None:
        if self.cumulative_data_weight is None or self.trimmed_data_weight is None:
            return None
        return self.cumulative_data_weight - self.trimmed_data_weight

    def counters_at(self, seen_at: datetime) -> Counters:
        """The counters if nothing has changed until `seen_at`."""
        return self.counters.rolled(seen_at)


@dataclass(frozen=True, slots=True)
class FailedQueuePartition:
    """A partition whose tablet cannot be read."""

    tablet_id: str
    tablet_state: str
    error: ErrorInfo


@dataclass(frozen=True, slots=True)
class QueueView:
    """A queue that could be looked at, in whole or in part."""

    partitions: Sequence[QueuePartition | FailedQueuePartition]
    """By partition index; a partition in which nothing has changed stays the same object from pass to pass."""

    has_timestamp_column: bool
    has_cumulative_data_weight_column: bool
    seen_at: datetime
    """Idle times and rates are as of then."""

    asked: int
    """Moment right before the cluster was asked: what happened earlier is to be seen; see `Board.next_moment`."""

    settled: bool = False
    """As long as nothing changes there is nothing more to be asked; never so with a failed partition."""

    object_id: str | None = None
    """Whose partitions these are: the row may still be about a table that was at this path before. None: not known."""

    created_at: datetime | None = None
    """By the clock of its cluster; None: not known."""

    data_ttl: timedelta | None = None
    """The cluster removes older rows, whether they were read or not; None: it removes none."""

    @property
    def write_row_count(self) -> EmaCounter:
        """Of all partitions that could be read."""
        return total(one.counters.row_count.rolled(self.seen_at) for one in self._readable_partitions())

    @property
    def write_data_weight(self) -> EmaCounter:
        """Of all partitions that could be read."""
        return total(one.counters.data_weight.rolled(self.seen_at) for one in self._readable_partitions())

    @property
    def readable(self) -> bool:
        """Whether any partition can be read; a queue without partitions counts as read."""
        return not self.partitions or any(isinstance(partition, QueuePartition) for partition in self.partitions)

    def _readable_partitions(self) -> Iterator[QueuePartition]:
        return (partition for partition in self.partitions if isinstance(partition, QueuePartition))


@dataclass(frozen=True, slots=True)
class QueueSnapshot:
    """Result of a queue's pass."""

    row: QueueRow
    role: Role
    pass_index: int
    """Counts from 1; 0 before the first pass."""

    pass_instant: datetime
    content: QueueView | ErrorInfo
    """An error: the queue as a whole could not be looked at."""

    registrations: Sequence[Registration] = ()
    """Those of this queue."""

    counters: Mapping[int, Counters] = field(default_factory=dict)
    """By partition index, for the next pass to go on from; may be there although the pass failed."""

    banned_since: datetime | None = None
    alerts: Mapping[str, ErrorInfo] = field(default_factory=dict)
    """Of this controller's passes by category, such as `queue_agent_queue_controller_trim_failed`."""

    exports: QueueExports = NO_EXPORTS
    """Static exports."""

    trims: Mapping[int, PartitionTrim] | None = None
    """What the latest trimming iteration decided, by partition index; None: the queue is not to be trimmed."""

    quarantines: Sequence[Quarantine] = ()
    """Vital consumers that have notice, or hold nothing any more."""

    @property
    def ref(self) -> CrossClusterRef:
        return self.row.queue

    @property
    def error(self) -> ErrorInfo | None:
        return self.content if isinstance(self.content, ErrorInfo) else None

    @property
    def view(self) -> QueueView | None:
        return None if isinstance(self.content, ErrorInfo) else self.content

    @property
    def is_whole(self) -> bool:
        """Whether the queue and all of its partitions can be read."""
        return self.view is not None and all(isinstance(one, QueuePartition) for one in self.view.partitions)

    @property
    def exported(self) -> Mapping[str, ExportProgress]:
        """By name of an export: what it has of the tablets that the queue has now."""
        partitions = () if self.view is None else self.view.partitions
        return self.exports.reached({index: one.tablet_id for index, one in enumerate(partitions)})

    @property
    def all_alerts(self) -> Mapping[str, ErrorInfo]:
        """By category: those of passes, of exports, and of the queue's configuration."""
        return {**self.exports.alerts, **find_key_alerts(self.row), **self.alerts}


class Disposition(enum.Enum):
    """Where a consumer stands in a partition."""

    AHEAD = "ahead"
    UP_TO_DATE = "up_to_date"
    PENDING_CONSUMPTION = "pending_consumption"
    EXPIRED = "expired"
    """The next row to read has been trimmed."""


@dataclass(frozen=True, slots=True)
class QueueRowValues:
    """What was read of a queue's rows for a consumer; kept so that the same rows need not be asked again."""

    tablet_id: str
    next_row_index: int
    next_row_timestamp: int | None = None
    """`$timestamp` of the row at `next_row_index`; None: not asked or not found."""

    read_data_weight: int | None = None
    """`$cumulative_data_weight` of the row before; None: not asked or not found."""


@dataclass(frozen=True, slots=True)
class ConsumerPartition:
    """A consumer's position in one partition of a queue."""

    next_row_index: int
    last_consume_time: datetime
    """To the second; the epoch if the consumer has no row for the partition."""

    disposition: Disposition
    unread_row_count: int
    """Negative if the consumer is ahead; counts trimmed rows too."""

    unread_data_weight: int | None
    next_row_commit_time: datetime | None
    cumulative_data_weight: int | None
    """Of the rows read so far; None: not known."""

    counters: Counters
    """As of the last pass that found something new here; as of a later one see `counters_at`."""

    queue_row_values: QueueRowValues

    def counters_at(self, seen_at: datetime) -> Counters:
        """The counters if nothing has changed until `seen_at`; a data weight that is not known does not count."""
        return self.counters.rolled(seen_at, data_weight=self.cumulative_data_weight is not None)


@dataclass(frozen=True, slots=True)
class FailedConsumerPartition:
    """A consumer's position in a partition that cannot be read."""

    error: ErrorInfo
    next_row_index: int
    last_consume_time: datetime
    counters: Counters


@dataclass(frozen=True, slots=True)
class OffsetsRead:
    """Offsets of a consumer in one queue."""

    offsets: Mapping[int, ConsumerOffset]
    """By partition index, absent where the consumer has no row."""

    moment: int
    """When they had been read; see `Board.next_moment`."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What a consumer's position in a queue was made from."""

    queue: QueueView
    read: OffsetsRead
    later: Sequence[OffsetsRead] = ()
    """Read after the queue, so they wait for the next view of it."""

    @property
    def is_in_order(self) -> bool:
        """Whether the queue was asked after the offsets had been read: what they commit and is there now was there."""
        return self.read.moment < self.queue.asked

    def later_offset(self, index: int) -> int:
        """The last one known of a partition if it was read after the queue, otherwise 0."""
        offset = self.later[-1].offsets.get(index) if self.later else None
        return 0 if offset is None else offset.offset


@dataclass(frozen=True, slots=True)
class ConsumerQueueView:
    """A consumer's position in one queue."""

    partitions: Sequence[ConsumerPartition | FailedConsumerPartition]
    """By the queue's partition index."""

    seen_at: datetime
    """Idle times, lag and rates are as of then."""

    compared: Compared | None = None
    """For the next pass, which has to look at what is different only; None: at everything."""

    settled: bool = False
    """As long as nothing changes there is nothing more to be asked; never so with a failed partition."""

    @property
    def read_row_count(self) -> EmaCounter:
        """Of all partitions, failed ones included."""
        return total(self.counters_of(partition).row_count for partition in self.partitions)

    @property
    def read_data_weight(self) -> EmaCounter:
        """Of all partitions, failed ones included."""
        return total(self.counters_of(partition).data_weight for partition in self.partitions)

    def counters_of(self, partition: ConsumerPartition | FailedConsumerPartition) -> Counters:
        """Of one of the partitions, as of `seen_at`."""
        return partition.counters_at(self.seen_at) if isinstance(partition, ConsumerPartition) else partition.counters


@dataclass(frozen=True, slots=True)
class QueueMissing:
    """There is nothing a consumer's position could be compared with: no snapshot of the queue, or no readable one."""

    error: ErrorInfo


SubSnapshot = ConsumerQueueView | QueueMissing | ErrorInfo
"""What a pass of a consumer saw of one of its queues."""


@dataclass(frozen=True, slots=True)
class ConsumerView:
    """A consumer that could be looked at."""

    queues: Mapping[CrossClusterRef, SubSnapshot]
    """One for each registration."""


@dataclass(frozen=True, slots=True)
class ConsumerSnapshot:
    """Result of a consumer's pass."""

    row: ConsumerRow
    role: Role
    pass_index: int
    """Counts from 1; 0 before the first pass."""

    pass_instant: datetime
    content: ConsumerView | ErrorInfo
    """An error: the consumer as a whole could not be looked at."""

    registrations: Sequence[Registration] = ()
    """Those of this consumer."""

    banned_since: datetime | None = None
    verdicts: Mapping[CrossClusterRef, QueueVerdict] = field(default_factory=dict)
    """By queue, one for each registration."""

    @property
    def ref(self) -> CrossClusterRef:
        return self.row.consumer

    @property
    def is_processed(self) -> bool:
        """Whether there was a pass."""
        return self.pass_index > 0

    @property
    def error(self) -> ErrorInfo | None:
        return self.content if isinstance(self.content, ErrorInfo) else None

    @property
    def view(self) -> ConsumerView | None:
        return None if isinstance(self.content, ErrorInfo) else self.content


@dataclass(frozen=True, slots=True)
class PassFacts:
    """How a pass of the agent itself, or of its synchronizer, went."""

    pass_index: int = -1
    """Of the last finished pass; -1: there was none yet."""

    pass_instant: datetime | None = None
    """When that pass began."""

    error: ErrorInfo | None = None
    last_success_instant: datetime | None = None
    """When the last pass that succeeded began."""
