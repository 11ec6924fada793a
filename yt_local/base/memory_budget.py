"""How much unfinished business a proxy holds in memory: the sum over all connections is limited."""

from __future__ import annotations

from types import TracebackType
from typing import Final, Self

from yt_wire.error import ErrorCode, YtError

MAX_HELD_BYTES: Final = 512 * 2**20
"""Of requests that one proxy is reading or handling."""

STREAM_BYTES: Final = 32 * 2**20
"""What one request is taken to hold whose body is handled as it comes."""


class MemoryBudget:
    """Bytes that may be held at a time.

    Args:
        limit: in bytes.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._used = 0

    def lease(self) -> Lease:
        """A share of it, empty at first; whoever holds it enters it."""
        return Lease(self)

    def take(self, size: int) -> None:
        """Hold more.

        Raises:
            YtError: there is not so much left; nothing is taken.
        """
        if self._used + size > self.limit:
            raise YtError(
                f"Requests of more than {self.limit} bytes in all are under way; try again later",
                ErrorCode.REQUEST_QUEUE_SIZE_LIMIT_EXCEEDED,
            )
        self._used += size

    def give_back(self, size: int) -> None:
        self._used -= size


class Lease:
    """What one request, or one connection, holds of a budget until it is left."""

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self.size = 0
        """In bytes."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.clear()

    def grow(self, size: int) -> None:
        """Hold so much more; YtError if that is too much."""
        self._budget.take(size)
        self.size += size

    def clear(self) -> None:
        """Give everything back."""
        self._budget.give_back(self.size)
        self.size = 0
