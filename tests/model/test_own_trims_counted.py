"""Trims by agents of this stage: what the ledger counts, against a count row by row that knows nothing of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.verdicts.ledger import Reading, Trim, account, open_ledger
from queue_agent.core.verdicts.values import LossCause

START = 1_750_000_000.0
ROW_WEIGHT = 7


@dataclass
class RowByRow:
    """A partition, one consumer, and what became of each row."""

    end: int = 0
    start: int = 0
    offset: int = 0
    settled: set[int] = field(default_factory=set)
    """Rows that were committed before they went, or are counted."""

    lost: int = 0
    trims: list[Trim] = field(default_factory=list)

    def write(self, count: int) -> None:
        self.end += count

    def commit(self, offset: int) -> None:
        self.offset = max(self.offset, min(offset, self.end))
        self.settled.update(range(self.offset))

    def rewind(self, offset: int) -> None:
        self.offset = min(offset, self.offset)

    def trim(self, to: int) -> None:
        to = min(to, self.end)
        if to <= self.start:
            return
        unread = range(max(self.start, self.offset), to)
        gone = [row for row in unread if row not in self.settled]
        self.lost += len(gone)
        self.settled.update(range(to))
        self.trims.append(Trim(to, self.offset, LossCause.VITAL_TRIMMING, "a://v", ROW_WEIGHT * len(unread)))
        self.start = to

    def reading(self, at: float) -> Reading:
        return Reading(self.start, self.end, self.offset, START + at, "1-1", "a")


ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(1, 50)),
        st.tuples(st.sampled_from(["commit", "rewind"]), st.integers(0, 300)),
        st.tuples(st.just("trim"), st.integers(0, 300)),
        st.tuples(st.sampled_from(["poll", "restart", "keep"]), st.just(0)),
    ),
    max_size=60,
)


@given(ACTS)
def test_lost_and_possibly_lost_rows_are_those_that_went_unread(acts: list[tuple[str, int]]) -> None:
    """Whatever is polled when, and however often an agent goes on from an older ledger.

    Only what was committed and taken back before anybody saw it cannot be known: a step back comes after a poll that
    was kept.
    """
    world, now = RowByRow(), 0.0
    ledger = kept = open_ledger(world.reading(now))
    known = kept_trims = 0
    for act, value in [*acts, ("poll", 0)]:
        now += 1.0
        if act in ("poll", "keep", "rewind"):
            trims = [one for one in world.trims[known:] if one.to > ledger.reading.start]
            ledger = account(ledger, world.reading(now), trims, START + now, is_blind=False, is_stopped=False).ledger
            known = len(world.trims)
        if act in ("keep", "rewind"):
            kept, kept_trims = ledger, known
        if act == "restart":
            ledger, known = kept, kept_trims
        if act in ("write", "commit", "rewind", "trim"):
            getattr(world, act)(value)
    assert ledger.counts.lost + ledger.counts.possibly_lost == world.lost


@given(ACTS)
def test_the_weight_of_lost_rows_is_known_where_that_of_each_trim_is(acts: list[tuple[str, int]]) -> None:
    """Of a reader that has no rows in flight."""
    world, now = RowByRow(), 0.0
    ledger, known = open_ledger(world.reading(now)), 0
    for act, value in [*acts, ("poll", 0)]:
        now += 1.0
        if act in ("poll", "rewind"):
            trims, known = world.trims[known:], len(world.trims)
            ledger = account(ledger, world.reading(now), trims, START + now, is_blind=False, is_stopped=True).ledger
        if act in ("write", "commit", "rewind", "trim"):
            getattr(world, act)(value)
    assert ledger.counts.lost_data_weight == ROW_WEIGHT * ledger.counts.lost
