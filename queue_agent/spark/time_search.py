"""Searches many partitions at once for the first row since a moment: which rows to look at next, and what they mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from queue_agent.spark.offsets import PartitionBounds


@dataclass(slots=True)
class _Search:
    """One partition: the wanted row is one of `low` to `high`, and `high` may be the end."""

    low: int
    high: int
    below: tuple[int, int] | None = None
    """A row that is too early, and its timestamp."""

    above: tuple[int, int] | None = None
    """A row that is late enough, and its timestamp."""

    guesses: int = 0

    @property
    def is_done(self) -> bool:
        return self.low >= self.high

    def probe(self, wanted: int) -> int:
        """The row to look at: the ends first, then by turns where a steady flow would have it, and the middle."""
        if self.above is None and self.below is None:
            return self.high - 1
        if self.below is None:
            return self.low
        middle = (self.low + self.high - 1) // 2
        if self.above is None or self.guesses % 2:
            return middle
        (first, since), (last, until) = self.below, self.above
        guess = first + (last - first) * (wanted - since) // max(until - since, 1)
        return min(max(guess, self.low), self.high - 1)

    def learn(self, row: int, timestamp: int | None, wanted: int) -> None:
        """None: the row is gone, so all before it are gone too."""
        self.guesses += 1
        if timestamp is None:
            self.low = row + 1
        elif timestamp < wanted:
            self.low, self.below = row + 1, (row, timestamp)
        else:
            self.high, self.above = row, (row, timestamp)


class TimeSearch:
    """The first row of each partition whose timestamp is not less than the wanted one; timestamps never decrease.

    Args:
        bounds: rows of each partition.
        wanted: a timestamp of YTsaurus.
    """

    def __init__(self, bounds: Mapping[int, PartitionBounds], wanted: int) -> None:
        self._wanted = wanted
        self._searches = {
            index: _Search(bound.lower_row_index, bound.upper_row_index) for index, bound in bounds.items()
        }

    def probes(self) -> dict[int, int]:
        """By partition: the row whose timestamp is needed next; nothing if all are found."""
        return {index: search.probe(self._wanted) for index, search in self._open()}

    def learn(self, probes: Mapping[int, int], timestamps: Mapping[int, int]) -> None:
        """Take in an answer.

        Args:
            probes: what was asked for.
            timestamps: by partition; one that is not there means that the row has been trimmed since.
        """
        for index, row in probes.items():
            self._searches[index].learn(row, timestamps.get(index), self._wanted)

    def found(self) -> dict[int, int]:
        """By partition: the row, or the upper row index if there is none. Only once there are no more probes."""
        return {index: search.low for index, search in self._searches.items()}

    def _open(self) -> Iterator[tuple[int, _Search]]:
        return ((index, search) for index, search in self._searches.items() if not search.is_done)
