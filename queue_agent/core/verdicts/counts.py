"""What became of the rows of a consumer: counters that only grow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

MOST_COUNTED: Final = 1 << 48
"""Rows or bytes of one position: sums over all partitions are published, and have to fit in 64 bits."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Rows, counted since the first poll of a position; they only grow."""

    lost: int = 0
    """Trimmed before they were committed, and the reader cannot have had them in flight."""

    possibly_lost: int = 0
    """All others that were trimmed before they were committed."""

    read: int = 0
    """Really read; trimmed rows that a commit passed are not."""

    skipped: int = 0
    """Passed on purpose, by a reset."""

    replayed: int = 0
    """Read again after a step back."""

    rewinds: int = 0
    lost_data_weight: int = 0
    """Bytes of lost rows, as far as they are known: of trims by agents of this stage."""

    unwatched_recreations: int = 0
    """How often the rows went with an old queue while no agent looked. Nobody knows how many were lost then."""

    @property
    def trimmed_uncommitted(self) -> int:
        """Trimmed before they were committed."""
        return self.lost + self.possibly_lost

    def told_as(self, kept: Counts) -> Counts:
        """The counts as they are published: of losses only what is kept, for whoever draws rates would count twice."""
        # Most have the same losses, and another object takes twenty times as long to make as these to compare.
        lost = kept.lost, kept.possibly_lost, kept.lost_data_weight, kept.unwatched_recreations
        if lost == (self.lost, self.possibly_lost, self.lost_data_weight, self.unwatched_recreations):
            return self
        return replace(kept, read=self.read, skipped=self.skipped, replayed=self.replayed, rewinds=self.rewinds)

    def __add__(self, other: Counts) -> Counts:
        if other is NO_COUNTS:
            return self  # very many have the same
        return Counts(
            self.lost + other.lost,
            self.possibly_lost + other.possibly_lost,
            self.read + other.read,
            self.skipped + other.skipped,
            self.replayed + other.replayed,
            self.rewinds + other.rewinds,
            self.lost_data_weight + other.lost_data_weight,
            self.unwatched_recreations + other.unwatched_recreations,
        )

    def to_map(self) -> dict[str, int]:
        return {
            "trimmed_uncommitted_row_count": self.trimmed_uncommitted,
            "lost_row_count": self.lost,
            "possibly_lost_row_count": self.possibly_lost,
            "really_read_row_count": self.read,
            "skipped_row_count": self.skipped,
            "replayed_row_count": self.replayed,
            "rewind_count": self.rewinds,
            "lost_data_weight": self.lost_data_weight,
            "unwatched_recreation_count": self.unwatched_recreations,
        }


NO_COUNTS: Final = Counts()


def sum_of(counts: Iterable[Counts]) -> Counts:
    """Of several partitions."""
    some = list(counts)
    return Counts(
        sum([one.lost for one in some]),
        sum([one.possibly_lost for one in some]),
        sum([one.read for one in some]),
        sum([one.skipped for one in some]),
        sum([one.replayed for one in some]),
        sum([one.rewinds for one in some]),
        sum([one.lost_data_weight for one in some]),
        sum([one.unwatched_recreations for one in some]),
    )
