"""Trims by agents of this stage: what the ledger counts, against a count row by row that knows nothing of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.verdicts.ledger import Ledger, Reading, Trim, account, is_unclear, open_ledger
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
        weight = ROW_WEIGHT * len(unread)
        self.trims.append(Trim(to, self.offset, LossCause.VITAL_TRIMMING, "a://v", weight, self.start))
        self.start = to

    looks: tuple[int, int, float] = (0, 0, 0.0)
    """Start and end as the queue was seen last, and when."""

    def look(self, at: float) -> None:
        self.looks = self.start, self.end, START + at

    def reading(self, at: float) -> Reading:
        """The offset as of now, with what was seen of the queue before."""
        start, end, looked_at = self.looks
        return Reading(start, end, self.offset, START + at, "1-1", "a", read_at=START + at, looked_at=looked_at)


@dataclass
class Agent:
    """Looks at the queue and at the consumer, each at its own pace, and may go on from an older ledger."""

    world: RowByRow
    is_stopped: bool = False
    """The reader is known to have no rows in flight."""

    now: float = 0.0
    known: int = 0
    """How many trims it knows, so far."""

    ledger: Ledger = field(init=False)
    kept: Ledger = field(init=False)

    def __post_init__(self) -> None:
        self.ledger = self.kept = open_ledger(self.world.reading(self.now))

    def act(self, act: str, value: int) -> None:
        self.now += 0.01
        match act:
            case "hear":
                self.known = len(self.world.trims)
            case "look":
                self.world.look(self.now)
            case "poll":
                self.poll()
            case "keep":
                self.kept = self.ledger
            case "restart":
                self.ledger = self.kept
            case "rewind":
                # What is committed and taken back before anybody saw and kept it cannot be known.
                self.settle()
                self.kept = self.ledger
                self.world.rewind(value)
            case _:
                getattr(self.world, act)(value)

    def poll(self) -> None:
        reading = self.world.reading(self.now)
        low = min(self.ledger.reading.start, self.ledger.confirmed)
        trims = [one for one in self.world.trims[: self.known] if one.to in range(low + 1, reading.start + 1)]
        if is_unclear(self.ledger, reading, trims):  # it waits for what it will hear
            return
        self.ledger = account(
            self.ledger, reading, trims, START + self.now, is_blind=False, is_stopped=self.is_stopped
        ).ledger

    def settle(self) -> None:
        for act in ("hear", "look", "poll", "look", "poll"):
            self.act(act, 0)


ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(1, 50)),
        st.tuples(st.sampled_from(["commit", "rewind"]), st.integers(0, 300)),
        st.tuples(st.just("trim"), st.integers(0, 300)),
        st.tuples(st.sampled_from(["hear", "look", "poll", "restart", "keep"]), st.just(0)),
    ),
    max_size=60,
)


@given(ACTS)
def test_lost_and_possibly_lost_rows_are_those_that_went_unread(acts: list[tuple[str, int]]) -> None:
    """Whatever is polled when, and however often an agent goes on from an older ledger."""
    agent = Agent(RowByRow())
    for act, value in acts:
        agent.act(act, value)
    agent.settle()
    counts = agent.ledger.counts
    assert counts.lost + counts.possibly_lost == agent.world.lost


@given(ACTS)
def test_the_weight_of_lost_rows_is_known_where_that_of_each_trim_is(acts: list[tuple[str, int]]) -> None:
    """Of a reader that has no rows in flight."""
    agent = Agent(RowByRow(), is_stopped=True)
    for act, value in acts:
        if act != "restart":
            agent.act(act, value)
    agent.settle()
    counts = agent.ledger.counts
    assert counts.lost_data_weight == ROW_WEIGHT * counts.lost
