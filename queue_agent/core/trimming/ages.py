"""How far the rows of a tablet are old enough to go, found out piece by piece.

Timestamps within a tablet need not grow with the row index, so nothing can be concluded from a few of them: a row may
go only if every row up to it was looked at. What was looked at once need not be looked at again, since rows do not
change and the limit only grows, unless the queue's owner asks for a longer lifetime.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from queue_agent.core.values.timestamps import instant_of, timestamp_of

CHUNK_ROW_COUNT: Final = 10_000
"""Rows looked at by one question at most."""

_AGE_UNKNOWN: Final = 1 << 64
"""In place of a timestamp, above all of them: a row whose age is not known counts as young for ever."""


@dataclass(frozen=True, slots=True)
class RowFound:
    """A row of a tablet."""

    row_index: int
    timestamp: int | None
    """`$timestamp`; None: the row has none."""


@dataclass(frozen=True, slots=True)
class RowAges:
    """What is known of a tablet."""

    tablet_id: str
    limit: int
    """The timestamp from which on rows are young."""

    old_row_index: int
    """All rows below this one that are still there are known to be older than the limit."""

    young_timestamp: int | None = None
    """Of the row at `old_row_index`, if that is known to be young; None: it was not looked at."""

    @property
    def is_young_found(self) -> bool:
        return self.young_timestamp is not None


def lifetime_limit(present: int, lifetime: timedelta) -> int:
    """The timestamp from which on rows are younger than the lifetime, to the second.

    Args:
        present: a timestamp the cluster has generated.
        lifetime: of rows.
    """
    seconds = instant_of(present).timestamp() - lifetime.total_seconds()
    return 0 if seconds <= 0 else timestamp_of(instant_of(present) - lifetime)


def ages_at(known: RowAges | None, tablet_id: str, limit: int, lower_row_index: int) -> RowAges:
    """What is known of a tablet for the limit of today.

    Args:
        known: from before, of whatever tablet.
        tablet_id: the tablet in question.
        limit: of today.
        lower_row_index: the first row that is there.
    """
    if known is None or known.tablet_id != tablet_id or limit < known.limit:
        return RowAges(tablet_id, limit, lower_row_index)
    if known.old_row_index < lower_row_index:
        return RowAges(tablet_id, limit, lower_row_index)
    still_young = known.young_timestamp is not None and known.young_timestamp >= limit
    return RowAges(tablet_id, limit, known.old_row_index, known.young_timestamp if still_young else None)


def next_chunk(ages: RowAges, end_row_index: int) -> range | None:
    """The rows to look at next; None if all below the end are known to be old, or one is known to be young."""
    if ages.is_young_found or ages.old_row_index >= end_row_index:
        return None
    return range(ages.old_row_index, min(ages.old_row_index + CHUNK_ROW_COUNT, end_row_index))


def learn(ages: RowAges, chunk: range, found: RowFound | None) -> RowAges:
    """Add what looking at a chunk has shown.

    Args:
        ages: known before.
        chunk: the rows looked at, as `next_chunk` gave them.
        found: the first of them that is young or has no timestamp; if there is none, the last of the chunk, which shows
            that those before it could be seen too; None if not even that could be seen, and nothing is known.
    """
    if found is None or found.row_index not in chunk:
        return ages
    if found.timestamp is None:
        return RowAges(ages.tablet_id, ages.limit, found.row_index, _AGE_UNKNOWN)
    if found.timestamp >= ages.limit:
        return RowAges(ages.tablet_id, ages.limit, found.row_index, found.timestamp)
    if found.row_index != chunk[-1]:
        return ages
    return RowAges(ages.tablet_id, ages.limit, chunk.stop)
