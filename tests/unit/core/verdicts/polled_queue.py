"""A queue of one consumer that is polled once a second, resharded, and created again."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.keeping import changed_rows, restore
from queue_agent.core.verdicts.ledger import Reading
from queue_agent.core.verdicts.queue_poll import observe_queue
from queue_agent.core.verdicts.queue_state import Pair, PartitionReading, QueueState
from queue_agent.core.verdicts.values import QueueVerdict

NOW = 1_750_000_000.0
PAIR = Pair(CrossClusterRef("a", "//q"), CrossClusterRef("a", "//c"))


class Queue:
    """Starts, ends and offsets by partition, polled once a second."""

    def __init__(self, partitions: int) -> None:
        self.now = NOW
        self.object_id = "o"
        self.tablets = "1"
        self.registered: Collection[int] | None = None
        """Partitions of the consumer; None: all."""

        self.starts: dict[int, int] = {}
        self.ends = dict.fromkeys(range(partitions), 100)
        self.offsets = dict.fromkeys(range(partitions), 100)
        self.committed: dict[int, float | None] = dict.fromkeys(range(partitions), NOW)
        self.state = QueueState(PAIR)
        self.poll()

    def reshard(self, partitions: int) -> None:
        self.tablets += "1"
        self.ends = {index: self.ends.get(index, 0) for index in range(partitions)}
        self.offsets = {index: self.offsets.get(index, 0) for index in range(partitions)}
        self.committed = {index: self.committed.get(index) for index in range(partitions)}

    def write(self, *partitions: int) -> None:
        for index in partitions:
            self.ends[index] += 10

    def read(self, *partitions: int) -> None:
        for index in partitions:
            self.offsets[index], self.committed[index] = self.ends[index], self.now

    def poll(self, *, unreadable: Mapping[int, object] | tuple[int, ...] = ()) -> QueueVerdict:
        self.now += 1
        seen = {
            index: PartitionReading(
                Reading(
                    self.starts.get(index, 0),
                    end,
                    self.offsets[index],
                    self.committed[index],
                    f"{index}-{self.tablets}",
                    self.object_id,
                    self.now if self.offsets[index] < end else None,
                )
            )
            for index, end in self.ends.items()
            if index not in unreadable and (self.registered is None or index in self.registered)
        }
        registered = range(len(self.ends)) if self.registered is None else self.registered
        self.state = observe_queue(self.state, seen, registered, self.now, 1.0)
        assert self.state.verdict is not None
        return self.state.verdict

    @property
    def stale(self) -> set[int]:
        """Partitions of the last verdict where the offset is of other rows."""
        assert self.state.verdict is not None
        return {index for index in self.ends if self.state.verdict.tablets[index] is None}

    @property
    def doubted(self) -> set[int]:
        """Partitions of the last verdict where the offset is of other rows, or may be."""
        assert self.state.verdict is not None
        tablets = self.state.verdict.tablets
        return {index for index in self.ends if tablets[index] != f"{index}-{self.tablets}"}

    def restart(self) -> None:
        """Of the agent: what it keeps is what its successor knows."""
        rows = [(row.partition_index, row.state) for row in changed_rows(self.state, None)]
        restored = restore(PAIR, rows, self.now).state
        assert restored is not None
        self.state = restored
