"""What the stand-in cluster holds: names, and row counts that are functions of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

CLUSTER: Final = "bench"
STAGE: Final = "production"

CONSUMER_SCHEMA: Final = (
    b"<strict=%true;unique_keys=%true>["
    b"{name=queue_cluster;type=string;sort_order=ascending;required=%true};"
    b"{name=queue_path;type=string;sort_order=ascending;required=%true};"
    b"{name=partition_index;type=uint64;sort_order=ascending;required=%true};"
    b"{name=offset;type=uint64;required=%true};{name=meta;type=any;required=%false}]"
)

ROW_WEIGHT: Final = 100
"""Data weight of every row."""

START: Final = 1_700_000_000
"""Unix seconds; times of the rows that never change."""

TRIMMED: Final = 1_000
_ROWS: Final = 1_000_000
_ROWS_A_SECOND: Final = 10
_UNREAD: Final = 500


@dataclass(frozen=True, slots=True)
class Size:
    """How many objects there are."""

    queues: int = 5_000
    partitions: int = 10
    """Of each queue."""

    consumers: int = 2
    """Of each queue; a consumer has one queue."""


@dataclass(frozen=True, slots=True)
class Load:
    """Which partitions get rows and are read."""

    percent: int
    """How many of a hundred."""

    scattered: bool = False
    """One here, one there; otherwise all of some queues."""

    def __str__(self) -> str:
        return f"{self.percent}{'s' if self.scattered else ''}"

    @classmethod
    def parse(cls, text: str) -> Load:
        """The opposite of `str`."""
        return cls(int(text.removesuffix("s")), text.endswith("s"))


STILL: Final = Load(0)


@dataclass(frozen=True, slots=True)
class World:
    """Everything at one moment."""

    size: Size
    load: Load

    second: int
    """Since the start."""

    def moves(self, queue: int, partition: int) -> bool:
        number = queue * self.size.partitions + partition if self.load.scattered else queue
        return number * 7919 % 100 < self.load.percent

    def any_moves(self, queue: int) -> bool:
        return any(self.moves(queue, partition) for partition in range(self.size.partitions))

    def seconds_of(self, queue: int, partition: int) -> int:
        return self.second if self.moves(queue, partition) else 0

    def upper(self, queue: int, partition: int) -> int:
        return _ROWS + self.seconds_of(queue, partition) * _ROWS_A_SECOND

    def offset(self, queue: int, partition: int) -> int:
        return self.upper(queue, partition) - _UNREAD

    def timestamp(self, queue: int, partition: int) -> int:
        """Of the last write to the partition, and of the last advance in it."""
        return START + self.seconds_of(queue, partition) << 30

    def queue_timestamp(self, queue: int) -> int:
        """Of the last advance in any partition of the queue."""
        return max(self.timestamp(queue, partition) for partition in range(self.size.partitions))


def queue_path(queue: int) -> str:
    return f"//home/bench/queues/{queue:05}"


def consumer_path(queue: int, consumer: int) -> str:
    return f"//home/bench/consumers/{queue:05}-{consumer}"


def number_of(path: str) -> int:
    """The queue's number, of its own path or of one of its consumers."""
    return int(path.rpartition("/")[2][:5])
