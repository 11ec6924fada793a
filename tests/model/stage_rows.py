"""Rows of a queue by index, who has read them, and what may go wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from queue_agent.core.values.refs import CrossClusterRef

START = datetime(2025, 11, 24, 12, tzinfo=UTC)
QUEUE = CrossClusterRef("pythia", "//tmp/q")
VITAL = CrossClusterRef("hume", "//tmp/vital")
READER = CrossClusterRef("hume", "//tmp/reader")
PARTLY = CrossClusterRef("kant", "//tmp/partly")
"""Registered for the last partition only, and on a cluster of its own."""

CONSUMERS = (VITAL, READER, PARTLY)
TABLES = (QUEUE, *CONSUMERS)
PARTITIONS = 2
LOOK = 6.0
"""Seconds in which all agents look, and trim what they may."""


class VirtualClock:
    """The time of day by the event loop."""

    def now(self) -> datetime:
        return START + timedelta(seconds=asyncio.get_running_loop().time())


@dataclass(frozen=True)
class Perils:
    """What goes wrong, as probabilities or seconds."""

    agents: int = 2
    kill: float = 0.0
    """Of one agent, a second."""

    cancel: float = 0.0
    """Of a pass, a second."""

    lost_answer: float = 0.0
    """Of a trim or of a write: done or not, and nobody knows."""

    unreadable: float = 0.0
    """Of a consumer's offsets, a read."""

    slow: float = 0.0
    """Of a consumer on the other cluster: a read takes three seconds."""

    foreign: float = 0.0
    """Somebody trims by hand, a second."""

    rewind: float = 0.0
    """Of a reader, a second."""

    haste: bool = False
    """Readers commit while an agent is between its last look and its trim, too."""

    are_new: bool = False
    """Consumers have no offset at first."""

    rebuild: float = 0.0
    """The queue is removed and created again, a second; offsets stay."""

    reshard: float = 0.0
    """The queue gets one partition more, or one less, a second; offsets stay."""

    at_once: bool = False
    """A partition that a reshard takes away is there again, with many rows, before anybody looks."""

    lease: float = 6.0
    seconds: float = 60.0


@dataclass
class Reader:
    """What became of a consumer's rows in one partition."""

    offset: int = 0
    has_begun: bool = False
    committed: int = 0
    """The highest offset there was in this queue."""

    written_at: float = 0.0
    """When the offset was, by the loop."""

    is_stale: bool = False
    """The offset is of rows before these."""

    old_offset: int | None = None
    """What it was when these rows began; None: there were no others before."""

    least: int = 0
    """Rows that were trimmed uncommitted."""

    most: int = 0
    """Those that had not been committed when the agent that trimmed them looked."""


@dataclass
class Partition:
    """Rows by index, and who has read them."""

    start: int = 0
    end: int = 100
    readers: dict[CrossClusterRef, Reader] = field(default_factory=lambda: {ref: Reader() for ref in CONSUMERS})
    seen_at: float = 0.0
    """When all agents have seen it, by the loop. Nobody could tell an earlier commit from one of older rows."""

    def trim(self, to: int, seen: Mapping[CrossClusterRef, Reader]) -> None:
        """Remove rows; `seen`: readers as they were when whoever trims looked."""
        to = min(to, self.end)
        for ref, reader in self.readers.items():
            reader.least += _uncommitted(reader, self.start, to)
            reader.most += max(
                _uncommitted(seen.get(ref, reader), self.start, to), _uncommitted(reader, self.start, to)
            )
        self.start = max(self.start, to)

    def create_again(self, seen_at: float) -> None:
        """Without rows; those of the old queue go with it."""
        self.trim(self.end, {})
        self.begin_again(seen_at)

    def begin_again(self, seen_at: float = 0.0) -> None:
        """As another partition of the same index, without rows."""
        self.start, self.end, self.seen_at = 0, 0, seen_at
        for reader in self.readers.values():
            reader.committed, reader.is_stale, reader.old_offset = 0, reader.offset > 0, reader.offset or None


def _uncommitted(reader: Reader, start: int, to: int) -> int:
    offset = 0 if reader.is_stale else reader.offset
    return max(0, to - max(start, offset, reader.committed)) if reader.has_begun else 0
