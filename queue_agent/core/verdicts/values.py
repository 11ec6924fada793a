"""What a verdict consists of, and how it is published."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.verdicts.advice import NO_ADVICE, Advice
from queue_agent.core.verdicts.counts import NO_COUNTS, Counts, sum_of
from queue_agent.core.verdicts.objectives import ObjectiveStatus
from queue_agent.core.verdicts.price import Price
from queue_agent.core.verdicts.rebuilding import Rebuild

Seconds = float
"""Seconds since the epoch, or between two instants."""


class Verdict(enum.Enum):
    """State of a consumer in a partition, a queue or in all of its queues; the first that holds, so the worst."""

    UNREADABLE = "unreadable"
    UNKNOWN = "unknown"
    AHEAD = "ahead"
    LOSING = "losing"
    STOPPED = "stopped"
    STALLED = "stalled"
    RACING = "racing"
    RECREATED = "recreated"
    RESHARDED = "resharded"
    LAGGING = "lagging"
    LOST = "lost"
    WAITING = "waiting"
    NOT_STARTED = "not_started"
    CATCHING_UP = "catching_up"
    IDLE = "idle"
    OK = "ok"

    # That of Enum is written in Python, and verdicts of each partition are looked up many times a pass.
    __hash__ = object.__hash__

    @property
    def severity(self) -> int:
        """0 is the worst."""
        return _SEVERITY[self]

    @property
    def color(self) -> str:
        """`red`: somebody has to act; `amber`: somebody should look; `gray`: nobody can tell; `blue` and `green`."""
        return _COLORS[self]


_SEVERITY: Final = {verdict: index for index, verdict in enumerate(Verdict)}

_COLORS: Final = {
    Verdict.UNREADABLE: "red",
    Verdict.UNKNOWN: "gray",
    Verdict.AHEAD: "red",
    Verdict.LOSING: "red",
    Verdict.STOPPED: "red",
    Verdict.STALLED: "red",
    Verdict.RACING: "amber",
    Verdict.RECREATED: "amber",
    Verdict.RESHARDED: "amber",
    Verdict.LAGGING: "amber",
    Verdict.LOST: "amber",
    Verdict.WAITING: "amber",
    Verdict.NOT_STARTED: "gray",
    Verdict.CATCHING_UP: "blue",
    Verdict.IDLE: "gray",
    Verdict.OK: "green",
}


class Confidence(enum.Enum):
    """How much is known about the usual pace of a consumer."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class LossCause(enum.Enum):
    """What removed rows before they were read."""

    VITAL_TRIMMING = "vital_trimming"
    """This agent trimmed what all vital consumers have read."""

    EXPORT_TRIMMING = "export_trimming"
    """This agent trimmed what exports have copied."""

    TTL = "ttl"
    """The cluster removed rows that were older than `max_data_ttl` of the queue."""

    FOREIGN = "foreign"
    """Somebody else trimmed: by hand, or another agent; by TTL only if nobody knows how old the rows were."""

    RECREATION = "recreation"
    """The queue was removed and created again."""

    QUARANTINE = "quarantine"
    """This agent trimmed, since the consumer is in quarantine: it had been silent for days."""


@dataclass(frozen=True, slots=True)
class Loss:
    """An incident: rows trimmed before they were committed, without a pause of ten minutes."""

    since: Seconds
    until: Seconds
    cause: LossCause
    subject: str | None
    """Who made the trimming possible, such as the vital consumer; None: not known."""

    rows: int
    proved: int
    """How many of them the reader cannot have had in flight."""

    data_weight: int | None = None
    """Bytes of the proved rows; None: not known of all of them."""

    @property
    def rows_per_second(self) -> float:
        """Over the whole incident."""
        return self.rows / max(1.0, self.until - self.since)

    def to_map(self) -> dict[str, Any]:
        return {
            "since": encode_seconds(self.since),
            "until": encode_seconds(self.until),
            "cause": self.cause.value,
            "subject": self.subject,
            "row_count": self.rows,
            "lost_row_count": self.proved,
            "possibly_lost_row_count": self.rows - self.proved,
            "data_weight": self.data_weight,
        }


@dataclass(frozen=True, slots=True)
class Rate:
    """Rows a second: mean, and quartiles."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """When something will happen, in seconds from now; a value of None: not known, or never, by its cause."""

    value: Seconds | None
    cause: str
    earliest: Seconds | None = None
    latest: Seconds | None = None
    subject: str | None = None

    def to_map(self) -> dict[str, Any]:
        return {
            "value": self.value,
            "earliest": self.earliest,
            "latest": self.latest,
            "cause": self.cause,
            "subject": self.subject,
        }


@dataclass(frozen=True, slots=True)
class PaceView:
    """How often a consumer usually commits while it has rows to read."""

    usual: Seconds | None
    patience: Seconds | None
    """A longer silence is unusual; None: not known."""

    known_gaps: int
    confidence: Confidence
    max_gap: Seconds | None = None
    """What the owner calls usual; None: the patience is learned."""

    def to_map(self) -> dict[str, Any]:
        return {
            "usual": self.usual,
            "patience": self.patience,
            "known_gaps": self.known_gaps,
            "max_gap": self.max_gap,
        }


class PartitionVerdict(NamedTuple):
    """Verdict on a consumer in one partition of a queue."""

    verdict: Verdict
    activity: Verdict
    """The verdict without regard to losses."""

    since: Seconds
    reason: str | None
    confidence: Confidence
    drainable: int
    """Unread rows that are still there."""

    counts: Counts
    loss: Loss | None
    """The current or last one."""

    time_to_catch_up: Forecast
    time_to_loss: Forecast
    read: Rate | None = None
    """Rows really read a second, over the judging window; None: not known."""

    rebuild: Rebuild | None = None
    """What became of the queue, as long as the consumer has not shown that it knows."""

    advice: Advice = NO_ADVICE
    """What to do, if this partition speaks for all."""

    def told_as(self, kept: Counts) -> PartitionVerdict:
        """The verdict with counts as they are published; see `Counts.told_as`."""
        counts = self.counts.told_as(kept)
        return self if counts is self.counts else self._replace(counts=counts)

    def to_map(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict.value,
            "activity": self.activity.value,
            "verdict_since": encode_seconds(self.since),
            "reason": self.reason,
            "confidence": self.confidence.value,
            "drainable_row_count": self.drainable,
            **self.counts.to_map(),
            "loss": None if self.loss is None else self.loss.to_map(),
            "rebuild": None if self.rebuild is None else self.rebuild.to_map(),
            "time_to_catch_up": self.time_to_catch_up.to_map(),
            "time_to_loss": self.time_to_loss.to_map(),
        }


@dataclass(frozen=True, slots=True)
class QueueVerdict:
    """Verdict on a consumer in one queue: that of its worst partition."""

    whole: PartitionVerdict
    """Of all partitions together; numbers are sums, forecasts are those of the worst partition."""

    advice: Advice
    pace: PaceView
    partitions: Mapping[int, PartitionVerdict]
    """By index; those that can be read."""

    worst_partition: int | None
    unreadable_partition_count: int
    read_rate: float | None = None
    """Rows really read a second, of all partitions, over the judging window; None: not known."""

    tablets: Mapping[int, str | None] = field(default_factory=dict)
    """By partition that was ever looked at, see `Position.offset_tablet`."""

    is_kept: bool = False
    """Whether marks and counters outlive the agent."""

    price: Price | None = None
    """Of a vital consumer that does not read; None: it holds nothing, or that is not known."""

    objective: ObjectiveStatus | None = None
    """What the owner promises, and how long that was kept; None: nothing."""

    @property
    def verdict(self) -> Verdict:
        return self.whole.verdict

    @property
    def color(self) -> str:
        return self.verdict.color

    def told_as(self, kept: Mapping[int, Counts]) -> QueueVerdict:
        """The verdict with counts as they are published; see `Counts.told_as`.

        Args:
            kept: what outlives this agent, by partition index.
        """
        told = {index: one.told_as(kept.get(index, NO_COUNTS)) for index, one in self.partitions.items()}
        whole = self.whole.told_as(sum_of(kept.values()))
        is_same = whole is self.whole and all(one is self.partitions[index] for index, one in told.items())
        return self if is_same else replace(self, whole=whole, partitions=told)

    @property
    def loses(self) -> bool:
        """Whether rows were lost lately in a partition, though a worse verdict may hide it."""
        return any(one.verdict is Verdict.LOSING for one in self.partitions.values())

    def to_map(self) -> dict[str, Any]:
        by_verdict: dict[str, int] = {}
        for one in self.partitions.values():
            by_verdict[one.verdict.value] = by_verdict.get(one.verdict.value, 0) + 1
        return {
            **self.whole.to_map(),
            "color": self.color,
            **self.advice.to_map(),
            "pace": self.pace.to_map(),
            "partitions_by_verdict": by_verdict,
            "worst_partition_index": self.worst_partition,
            "unreadable_partition_count": self.unreadable_partition_count,
            "persisted": self.is_kept,
            "price": None if self.price is None else self.price.to_map(),
            "objective": None if self.objective is None else self.objective.to_map(),
        }


def encode_seconds(instant: Seconds) -> str:
    """An instant as it is published."""
    return encode_instant(datetime.fromtimestamp(instant, UTC))
