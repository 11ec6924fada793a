"""Rows that are trimmed before a consumer commits them, again and again, though nothing proves that it lost them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from queue_agent.core.verdicts.values import Seconds

RACE_SECONDS: Final = 50.0
"""Length of a stretch: a verdict needs one, and comes within a minute."""

_WRITTEN_FOR_ONE: Final = 100
"""Fewer trimmed rows in so many written ones are chance."""


@dataclass(frozen=True, slots=True)
class Race:
    """The present stretch of time, and what the one before showed."""

    since: Seconds
    end: int
    """Of the partition when the stretch began."""

    rows: int
    """Trimmed uncommitted since."""

    grew_at: Seconds
    """When rows were seen to be gone last."""

    is_lasting: bool = False
    """In the stretch before, so many rows went, and for so long, that it was no chance."""


def go_on(race: Race | None, rows: int, end: int, now: Seconds) -> Race | None:
    """The race after a poll.

    Args:
        race: before; None: there was none.
        rows: trimmed uncommitted since the last poll.
        end: of the partition.
        now: of the poll.
    """
    if race is None:
        return Race(now, end, rows, now) if rows else None
    if rows:
        race = replace(race, rows=race.rows + rows, grew_at=now)
    if now - race.since < RACE_SECONDS:
        return race
    is_often = race.grew_at - race.since >= RACE_SECONDS / 2
    is_lasting = is_often and race.rows * _WRITTEN_FOR_ONE > end - race.end
    return Race(now, end, 0, now, is_lasting) if race.rows else None
