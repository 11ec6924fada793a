"""What a driver knows of its own: every row it wrote, and when each consumer and each registration changed.

It knows nothing of agents and nothing of theirs: trims are judged by what the driver did itself, and by what lies in
the tables of exports.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

LOOK_SECONDS: Final = 12.0
"""A change less than so long before a trim may come too late for it: an agent asks many things, each for up to 2 s."""

FOR_EVER: Final = float("-inf")

T = TypeVar("T")


@dataclass(slots=True)
class Timeline(Generic[T]):
    """A value that changes, each time at some moment from sending a request to its answer."""

    changes: list[tuple[float, float, T]] = field(default_factory=list)
    """When a request was sent, when it was answered, and the value from then on."""

    def set(self, sent: float, answered: float, value: T) -> None:
        self.changes.append((sent, answered, value))

    def during(self, begin: float, end: float) -> Iterator[T]:
        """All values that there may have been at some moment."""
        following = [*self.changes[1:], (float("inf"), float("inf"), None)]
        for (sent, _, value), (_, superseded, _) in zip(self.changes, following, strict=True):
            if sent <= end and superseded >= begin:
                yield value


@dataclass(slots=True)
class Consumer:
    """One consumer of one queue."""

    vital: Timeline[bool] = field(default_factory=lambda: Timeline([(FOR_EVER, FOR_EVER, False)]))
    offsets: dict[int, Timeline[int]] = field(default_factory=lambda: defaultdict(_at_zero))
    """By partition."""


def _at_zero() -> Timeline[int]:
    return Timeline([(FOR_EVER, FOR_EVER, 0)])


@dataclass(slots=True)
class Storage:
    """A table that holds rows of a queue."""

    object_id: str
    rows: dict[int, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    """By partition and index: the number of the row."""

    trimmed: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    """Trimmed row counts by partition, as of the trims that were judged."""


@dataclass(slots=True)
class Queue:
    """A queue, and all that protects its rows."""

    path: str
    consumers: dict[str, Consumer] = field(default_factory=dict)
    storages: dict[str, Storage] = field(default_factory=dict)
    """By object id."""

    places: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Partition and index in the queue, by number of the row."""

    written: int = 0
    """Rows of a replicated queue."""

    retained: Timeline[int] = field(default_factory=lambda: Timeline([(FOR_EVER, FOR_EVER, 0)]))
    """How many rows of each partition are to be kept."""

    exported: set[int] | None = None
    """Numbers of rows in the tables of its export; None: it has no export."""

    export_begun: float = float("inf")
    """Since when that export is in force."""


@dataclass(frozen=True, slots=True)
class Trim:
    """A request to trim that the cluster has carried out."""

    user: str
    object_id: str
    partition: int
    row_count: int
    started: float
    finished: float


@dataclass(slots=True)
class Account:
    """All queues, and what came of all trims."""

    queues: list[Queue] = field(default_factory=list)
    trims: int = 0
    trimmers: set[str] = field(default_factory=set)
    """Users who trimmed."""

    trimmed_rows: int = 0
    unknown_rows: int = 0
    """Trimmed before the driver could see which they were."""

    violations: list[str] = field(default_factory=list)

    def judge(self, trim: Trim) -> None:
        """Count a trim, and note what is wrong about it."""
        found = [(queue, queue.storages[trim.object_id]) for queue in self.queues if trim.object_id in queue.storages]
        if not found:
            self.violations.append(f"{trim}: a table that nobody asked to be trimmed")
            return
        [(queue, storage)] = found
        self.trims += 1
        self.trimmers.add(trim.user)
        for index in range(storage.trimmed[trim.partition], trim.row_count):
            self.trimmed_rows += 1
            number = storage.rows[trim.partition].get(index)
            if number is None:
                self.unknown_rows += 1
                continue
            for reason in _reasons(queue, storage, trim, index, number):
                self.violations.append(f"{queue.path}: row {number} at index {index} {reason}: {trim}")
        storage.trimmed[trim.partition] = max(storage.trimmed[trim.partition], trim.row_count)


def _reasons(queue: Queue, storage: Storage, trim: Trim, index: int, number: int) -> Iterator[str]:
    """Who needed a row all the while that an agent could have looked."""
    partition, place = queue.places[number]
    begin = trim.started - LOOK_SECONDS
    for name, consumer in queue.consumers.items():
        is_vital = list(consumer.vital.during(begin, trim.finished))
        offsets = consumer.offsets[partition].during(begin, trim.finished)
        if is_vital and all(is_vital) and max(offsets) <= place:
            yield f"({place} in the queue) was not read by {name}"
    if queue.exported is not None and queue.export_begun < begin and number not in queue.exported:
        yield "was not exported"
    rows = storage.rows[trim.partition]
    retained = min(queue.retained.during(begin, trim.finished))
    if rows and index >= max(rows) + 1 - retained:
        yield f"is one of the last {retained}"
