"""A partition as the cluster knows it, row by row."""

from __future__ import annotations


class Counted:
    """A partition as the cluster knows it, and the rows that went before the reader had committed them."""

    def __init__(self) -> None:
        self.end = self.start = self.offset = self.lost = 0
        self.lost_again = 0
        """Rows that had been committed, and went when the reader had stepped back to read them again."""

        self.committed: set[int] = set()

    def trimmed(self, to: int) -> None:
        gone = range(self.start, max(self.start, min(to, self.end)))
        unread = [row for row in gone if row >= self.offset]
        self.lost_again += len(self.committed.intersection(unread))
        self.lost += len(set(unread) - self.committed)
        self.start = gone.stop
