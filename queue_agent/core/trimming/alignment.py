"""Replica alignment: proof that the rows of a replica have the indexes that they have in the queue.

Consumers tell by row indexes what they have read, and a replica that lacks rows counts its rows from another one on.
All rows of a transaction have one `$timestamp`, no other transaction has it, and in a tablet they lie next to each
other. So a row index at which one transaction ends and another begins, the same two in both tables, is an *anchor*: a
table that lacks rows has that place at another index. Rows never change, so it does not matter when each is read.

Below an anchor both tables have the rows of the same transactions. Hence rows may go up to an anchor. They may also go
up to a row below one, as long as all rows from there to the anchor are of the same transactions in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

WINDOW: Final = 8
"""Rows on each side of a target that are compared first."""

REACH: Final = 100_000
"""Rows on each side that are searched for an anchor: no transaction writes more to one tablet."""


@dataclass(frozen=True, slots=True)
class Search:
    """Rows of the queue among which an anchor may be: the first of another timestamp, in the order of the range."""

    rows: range
    timestamp: int

    def anchor_at(self, row_index: int) -> int:
        """The index at which the transaction of the row found meets the other one."""
        return row_index if self.rows.step > 0 else row_index + 1


@dataclass(frozen=True, slots=True)
class Alignment:
    """What is known of one partition of a queue and of a replica of it."""

    target: int
    """Trimmed row count that the plan wants for the replica."""

    lower_row_index: int
    """Trimmed row count of the replica."""

    queue: Mapping[int, int] = field(default_factory=dict)
    """Timestamps by row index; absent are rows that are not there, and those without a timestamp."""

    replica: Mapping[int, int] = field(default_factory=dict)
    """The same of the replica."""

    def known(self, queue: Mapping[int, int], replica: Mapping[int, int]) -> Alignment:
        """The same after more rows were read."""
        return replace(self, queue={**self.queue, **queue}, replica={**self.replica, **replica})

    @property
    def window(self) -> range:
        """Indexes of the rows to read first, of both tables."""
        return range(max(self.target - WINDOW, self.lower_row_index), self.target + WINDOW)

    def searches(self) -> list[Search]:
        """Where else an anchor may be, if there is none in the window: the transactions at its ends are longer."""
        window, found = self.window, []
        if window[-1] in self.queue:
            found.append(Search(range(window.stop, window.stop + REACH), self.queue[window[-1]]))
        if window[0] in self.queue and window[0] > self.lower_row_index:
            end = max(window[0] - 1 - REACH, self.lower_row_index - 1)
            found.append(Search(range(window[0] - 1, end, -1), self.queue[window[0]]))
        return found

    def find_mismatch(self) -> int | None:
        """The first row that another transaction wrote in the replica than in the queue; None: none is known."""
        common = self.queue.keys() & self.replica.keys()
        return min((index for index in common if self.queue[index] != self.replica[index]), default=None)

    def find_proven(self) -> int | None:
        """Trimmed row count, up to the target, below which the replica has the rows of the queue; None: unknown."""
        anchors = [index for index in self.queue if self._is_anchor(index)]
        above = min((anchor for anchor in anchors if anchor >= self.target), default=None)
        if above is not None and self._is_same_up_to(above):
            return self.target
        return max((anchor for anchor in anchors if self.lower_row_index < anchor < self.target), default=None)

    def _is_anchor(self, index: int) -> bool:
        """Whether the row at an index and the one before it are of two transactions, the same in both tables."""
        before, after = self.queue.get(index - 1), self.queue[index]
        if before is None or before == after:
            return False
        return self.replica.get(index - 1) == before and self.replica.get(index) == after

    def _is_same_up_to(self, anchor: int) -> bool:
        """Whether all rows from the target to an anchor are of the same transactions in both tables."""
        known = sorted(index for index in self.queue.keys() | self.replica.keys() if self.target <= index <= anchor)
        are_equal = all(self.queue.get(index) == self.replica.get(index) for index in known)
        # Between two rows of one transaction there is no other.
        is_whole = all(
            after == before + 1 or self.queue.get(before) == self.queue.get(after) for before, after in pairwise(known)
        )
        return known[0] == self.target and are_equal and is_whole
