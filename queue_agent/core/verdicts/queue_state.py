"""What is known of a consumer in one queue: all partitions together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.counts import Counts
from queue_agent.core.verdicts.incidents import NOBODY, Blame
from queue_agent.core.verdicts.ledger import Reading, Trim
from queue_agent.core.verdicts.objectives import NO_SECONDS, ObjectiveSeconds
from queue_agent.core.verdicts.pace import UNKNOWN_PACE, Pace
from queue_agent.core.verdicts.position import Position
from queue_agent.core.verdicts.time_to_loss import NO_RETENTION, Retention
from queue_agent.core.verdicts.values import QueueVerdict, Seconds


@dataclass(frozen=True, slots=True)
class Pair:
    """Who is judged."""

    queue: CrossClusterRef
    consumer: CrossClusterRef


class PartitionReading(NamedTuple):
    """What a poll tells of one partition."""

    reading: Reading
    blame: Blame = NOBODY
    retention: Retention = NO_RETENTION
    held_rows: int = 0
    """Rows that only this consumer keeps."""

    written_at: Seconds | None = None
    """When the last row was written; None: not known."""

    chosen: Collection[int] = ()
    """Partitions that the consumer is registered for; empty: all."""

    trims: Sequence[Trim] = ()
    """By agents of this stage, in order of time: those of rows that are not settled."""

    known_to: int | None = None
    """See `ledger.account`."""


@dataclass(frozen=True, slots=True)
class QueueState:
    """State of a consumer in one queue."""

    pair: Pair
    positions: Mapping[int, Position] = field(default_factory=dict)
    """By partition index; one that cannot be read at the moment keeps its state."""

    pace: Pace = UNKNOWN_PACE
    last_poll: Seconds | None = None
    deadlines: Mapping[int, Seconds] = field(default_factory=dict)
    """By index of a partition: when time alone may change its verdict, or numbers are to be refreshed."""

    deadline: Seconds = 0.0
    """When something is due, though no partition has changed."""

    verdict: QueueVerdict | None = None
    is_kept: bool = False
    """Whether marks and counters outlive this agent."""

    seconds: ObjectiveSeconds = NO_SECONDS
    """How long the objective of the consumer's owner was met."""

    is_told_dead: bool = False
    """Whether the record of events says that it is dead."""

    left: Mapping[int, Position] = field(default_factory=dict)
    """By index, of partitions that the queue or the registration has no more. Their counts are still counts."""

    @property
    def tablets(self) -> Mapping[int, str | None]:
        """See `QueueVerdict.tablets`."""
        known = {**self.left, **self.positions}
        return {index: one.offset_tablet for index, one in known.items()}

    @property
    def counts(self) -> Mapping[int, Counts]:
        """By partition index, also of those that are no more."""
        return {index: one.ledger.counts for index, one in {**self.left, **self.positions}.items()}

    def passed(self, now: Seconds) -> QueueState:
        """The state after polls that found nothing new, the last of them before the deadline."""
        return replace(self, last_poll=now)
