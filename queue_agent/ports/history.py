"""Where the history goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from queue_agent.core.status.history import HistoryRow
from queue_agent.core.status.history_outbox import EncodedRows
from queue_agent.core.status.past_series import Sample
from queue_agent.core.values.refs import CrossClusterRef


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


@dataclass(frozen=True, slots=True)
class Past:
    """What the history says of one object."""

    samples: Sequence[Sample]
    """Ascending."""

    is_complete: bool
    """False: there are so many rows that older ones were not read."""


class HistoryReader(Protocol):
    """Reads what was written; raises `ClusterError` like a cluster."""

    async def read_queue(self, queue: CrossClusterRef, since: datetime) -> Past:
        """Figures as of `SeriesSource.queue_series`."""
        ...

    async def read_consumer(self, consumer: CrossClusterRef, queue: CrossClusterRef, since: datetime) -> Past:
        """Figures as of `SeriesSource.consumer_series`."""
        ...
