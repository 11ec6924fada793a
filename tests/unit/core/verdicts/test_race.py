"""When rows that are trimmed uncommitted are no chance any more."""

from __future__ import annotations

from collections.abc import Callable

from queue_agent.core.verdicts.race import RACE_SECONDS, Race, go_on

NOW = 1_750_000_000.0
WRITTEN = 100
"""Rows a second."""


def _played(rows: Callable[[int], int], seconds: int, race: Race | None = None, begin: int = 0) -> Race | None:
    """The race after polls a second apart; `rows` tells how many went uncommitted in one."""
    for second in range(begin, begin + seconds):
        race = go_on(race, rows(second), WRITTEN * second, NOW + second)
    return race


def test_there_is_no_race_before_rows_go() -> None:
    assert _played(lambda _: 0, 10) is None


def test_rows_that_go_all_the_time_are_a_race_within_a_minute() -> None:
    race = _played(lambda _: 10, int(RACE_SECONDS))
    assert race is not None
    assert not race.is_lasting
    race = _played(lambda _: 10, 1, race, int(RACE_SECONDS))
    assert race is not None
    assert race.is_lasting


def test_few_rows_of_many_are_chance() -> None:
    race = _played(lambda second: second % 2, int(RACE_SECONDS) + 1)
    assert race is not None
    assert not race.is_lasting


def test_many_rows_once_are_chance() -> None:
    race = _played(lambda second: 1000 if second < 2 else 0, int(RACE_SECONDS) + 1)
    assert race is not None
    assert not race.is_lasting


def test_a_race_is_over_after_a_stretch_without_such_rows() -> None:
    stretch = int(RACE_SECONDS)
    race = _played(lambda _: 10, stretch + 1)
    still = _played(lambda _: 0, stretch - 1, race, stretch + 1)
    assert still is not None
    assert still.is_lasting
    assert _played(lambda _: 0, 1, still, 2 * stretch) is None
