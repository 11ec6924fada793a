"""What a vital consumer that does not read costs its queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Price:
    """Rows of a queue that would go if the vital consumers that do not read had read everything, by its trimming rules.

    Of these, those that this consumer has not read.
    """

    held_rows: int
    held_bytes: int | None
    """None: not known. Rows that are not the last ones weigh as much as the mean."""

    growth_rows_per_day: int
    """At the rate at which producers wrote in the last day."""

    growth_bytes_per_day: int | None
    """None: not known."""

    oldest_row_age: float | None
    """In seconds, of the first row that is held; None: not known."""

    silent: float
    """Seconds with rows to read since the last commit in any partition."""

    is_dead: bool
    """So silent that nobody expects it to read again."""

    also_held_by: Sequence[str] = ()
    """Other vital consumers that do not read, and hold some of the rows too."""

    def to_map(self) -> dict[str, Any]:
        """The published form; durations in seconds."""
        return {
            "also_held_by": list(self.also_held_by),
            "dead": self.is_dead,
            "held_row_count": self.held_rows,
            "held_data_weight": self.held_bytes,
            "growth_rows_per_day": self.growth_rows_per_day,
            "growth_data_weight_per_day": self.growth_bytes_per_day,
            "oldest_row_age": self.oldest_row_age,
            "silent": self.silent,
        }
