"""A queue, a consumer, and an agent that polls them: timelines for tests of verdicts."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache

from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.keeping import changed_rows, restore
from queue_agent.core.verdicts.ledger import Reading, Trim
from queue_agent.core.verdicts.pace import Pace
from queue_agent.core.verdicts.position import Poll, Position, find_rebuild, judge, observe, open_position
from queue_agent.core.verdicts.queue_state import Pair, QueueState
from queue_agent.core.verdicts.values import LossCause, Verdict

PERIOD = 1.0
_PAIR = Pair(CrossClusterRef("a", "//q"), CrossClusterRef("a", "//c"))
START = 1_750_000_000.0
HOUR_OF_ROWS = 36_000
"""As many as `warm` has."""


@dataclass
class Change:
    """The verdict at a moment, `at` seconds after the start of the timeline."""

    at: float
    verdict: Verdict


class Timeline:
    """One partition with one consumer; producers, the reader and trims act, then the agent polls.

    Args:
        step: seconds from poll to poll.
        has_offset: the consumer has an offset from the beginning.
        has_ages: rows have timestamps.
    """

    def __init__(self, step: float = 1.0, *, has_offset: bool = True, has_ages: bool = True) -> None:
        self.step = step
        self.has_ages = has_ages
        self.now = START
        self.end = self.start = self.offset = 0
        self.committed_at: float | None = START if has_offset else None
        self.tablet = "1-1"
        self.object_id = "a"
        self.truly_lost = 0
        self.trims: list[Trim] = []
        self.journal: list[Trim] = []
        self.is_agent_up = True
        self.is_readable = True
        self.position: Position | None = None
        self.pace = Pace()
        self.changes: list[Change] = []
        self.last_poll: float | None = None
        self.stored: tuple[Position, Pace, float] | None = None
        self._written: list[tuple[int, float]] = []

    def write(self, rows: int) -> None:
        if rows:
            self.end += rows
            self._written.append((self.end, self.now))

    def read(self, rows: int) -> None:
        """Pull, and commit what was pulled."""
        first = max(self.offset, self.start)
        got = min(rows, self.end - first)
        if got > 0:
            self.commit(first + got)

    def commit(self, offset: int) -> None:
        self.offset = offset
        self.committed_at = self.now

    def trim(self, to: int, *, own: bool = True, offset: int | None = None) -> None:
        to = min(to, self.end)
        if to <= self.start:
            return
        read_offset = self.offset if offset is None else offset
        if own:
            self.trims.append(Trim(self.start, to, read_offset, LossCause.VITAL_TRIMMING, "//vital"))
            self.journal.append(self.trims[-1])
        self.truly_lost += max(0, to - max(self.start, self.offset))
        self.start = to

    def recreate(self) -> None:
        self.end = self.start = 0
        self.tablet, self.object_id = self.tablet + "1", self.object_id + "a"
        self._written = []

    def run(self, seconds: float, act: Callable[[int], None] = lambda _: None) -> float:
        """Act and poll until so many seconds have passed; gives the seconds since the start of the timeline."""
        for index in range(1, round(seconds / self.step) + 1):
            self.now += self.step
            act(index)
            if self.is_agent_up:
                self.poll()
        return self.now - START

    def restart(self) -> None:
        """Another agent goes on from the stored state, and reads the journal."""
        assert self.stored is not None
        position, pace, last_poll = self.stored
        state = QueueState(_PAIR, {0: position}, pace, last_poll)
        rows = [(row.partition_index, row.state) for row in changed_rows(state, None)]
        kept = restore(_PAIR, json.loads(json.dumps(rows)), self.now).state
        assert kept is not None
        self.position, self.pace, self.last_poll = kept.positions[0], kept.pace, kept.last_poll
        self.trims = [one for one in self.journal if one.to > self.position.ledger.accounted]

    def poll(self) -> None:
        if not self.is_readable:
            self._note(Verdict.UNREADABLE)
            return
        self.poll_at(self.now)

    def poll_at(self, now: float) -> None:
        reading = self.reading()
        if self.position is None or self.last_poll is None:
            self.position = open_position(reading, now)
            self.pace = self.pace._replace(polled_since=now)
        elif now <= self.last_poll:
            return
        else:
            blind = now - self.last_poll > 10 * max(PERIOD, self.step)
            poll = Poll(self.last_poll, now, blind, is_watched=True)
            rebuild = find_rebuild([(self.position.reading, reading)], now)
            self.position, self.pace, step = observe(
                self.position, reading, self.trims, self.pace, poll, rebuild=rebuild
            )
            if step.lost or step.possibly_lost:
                self.stored = self.position, self.pace, now
        patience = self.pace.patience(now)
        self.position = judge(self.position, patience, self.pace.window, now, is_known=patience is not None)
        self.last_poll = now
        if self.stored is None or now - self.stored[2] >= 60:
            self.stored = self.position, self.pace, now
        self.trims = []
        self._note(self.position.verdict)

    def reading(self) -> Reading:
        first = max(self.offset, self.start)
        written_at = None
        if self.has_ages and first < self.end:
            written_at = self._written[bisect_right(self._written, first, key=lambda one: one[0])][1]
        return Reading(
            self.start,
            self.end,
            self.offset,
            self.committed_at,
            self.tablet,
            self.object_id,
            written_at,
        )

    @property
    def verdicts(self) -> list[str]:
        """All verdicts in order, without an initial ok."""
        found = [one.verdict.value for one in self.changes]
        return found[1:] if found[:1] == ["ok"] else found

    def since(self, at: float) -> list[Change]:
        """Changes after a moment; the verdict at that moment comes first."""
        before = [one for one in self.changes if one.at <= at][-1:]
        return before + [one for one in self.changes if one.at > at]

    def first(self, verdict: Verdict, after: float = 0.0) -> float:
        """Seconds after a moment at which a verdict was first given; infinity: never."""
        return next((one.at - after for one in self.changes if one.verdict is verdict and one.at > after), float("inf"))

    def count(self, verdict: Verdict) -> int:
        return sum(one.verdict is verdict for one in self.changes)

    def has_red(self, *, until: float = float("inf")) -> bool:
        return any(one.verdict.color == "red" for one in self.changes if one.at <= until)

    def _note(self, verdict: Verdict) -> None:
        if not self.changes or self.changes[-1].verdict is not verdict:
            self.changes.append(Change(self.now - START, verdict))


def warm(**options: bool) -> Timeline:
    """An hour of ten rows a second, read at once."""
    return deepcopy(_warmed(**options))


@cache
def _warmed(**options: bool) -> Timeline:
    line = Timeline(**options)
    line.run(3600, steady(line, 10, 100))
    return line


def steady(line: Timeline, written: int, read: int) -> Callable[[int], None]:
    def act(_: int) -> None:
        line.write(written)
        line.read(read)

    return act
