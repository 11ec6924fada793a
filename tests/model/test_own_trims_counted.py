"""Trims by agents of this stage: what the ledger counts, against a count row by row that knows nothing of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.verdicts.ledger import Ledger, Reading, Trim, account, covers, open_ledger
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
        self.settled.update(range(self.start, self.offset))

    def rewind(self, offset: int) -> None:
        self.offset = min(offset, self.offset)

    def announce(self, to: int) -> None:
        """An agent is about to trim, and is killed."""
        to = min(to, self.end)
        if to > self.start:
            weight = ROW_WEIGHT * max(0, to - max(self.start, self.offset))
            self.trims.append(Trim(self.start, to, self.offset, LossCause.VITAL_TRIMMING, "a://v", weight))

    def trim(self, to: int) -> None:
        self.announce(to)
        to = min(to, self.end)
        gone = [row for row in range(self.start, to) if row not in self.settled]
        self.lost += len(gone)
        self.settled.update(gone)
        self.start = max(self.start, to)

    def reading(self) -> Reading:
        return Reading(self.start, self.end, self.offset, START, "1-1", "a")


@dataclass
class Agent:
    """Polls the queue and the consumer, hears of trims later, and may go on from an older ledger."""

    world: RowByRow
    is_silent: bool = False
    """The reader is known to have no rows in flight."""

    now: float = 0.0
    known: int = 0
    """How many trims it knows, so far."""

    ledger: Ledger = field(init=False)
    kept: Ledger = field(init=False)

    def __post_init__(self) -> None:
        self.ledger = self.kept = open_ledger(self.world.reading(), START)

    def act(self, act: str, value: int) -> None:
        self.now += 0.01
        match act:
            case "hear":
                self.known = len(self.world.trims)
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
        reading, trims = self.world.reading(), self.world.trims[: self.known]
        gone = range(self.ledger.accounted, reading.start)
        self.ledger = account(
            self.ledger,
            reading,
            trims,
            START + self.now,
            known_to=None if covers(trims, gone) else gone.start,  # the rest waits for what it will hear
            is_blind=False,
            is_silent=self.is_silent,
        ).ledger

    def settle(self) -> None:
        for act in ("hear", "poll"):
            self.act(act, 0)


ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(1, 50)),
        st.tuples(st.sampled_from(["commit", "rewind"]), st.integers(0, 300)),
        st.tuples(st.sampled_from(["trim", "announce"]), st.integers(0, 300)),
        st.tuples(st.sampled_from(["hear", "poll", "restart", "keep"]), st.just(0)),
    ),
    max_size=60,
)


@given(ACTS)
def test_rows_that_went_uncommitted_are_counted_each(acts: list[tuple[str, int]]) -> None:
    """Whatever is polled when, and however often an agent goes on from an older ledger."""
    agent = Agent(RowByRow())
    for act, value in acts:
        agent.act(act, value)
    agent.settle()
    assert agent.ledger.counts.trimmed_uncommitted == agent.world.lost
    assert agent.ledger.is_settled


@given(ACTS)
def test_the_weight_of_lost_rows_is_known_where_that_of_each_trim_is(acts: list[tuple[str, int]]) -> None:
    """Of a reader that has no rows in flight."""
    agent = Agent(RowByRow(), is_silent=True)
    for act, value in acts:
        if act != "restart":
            agent.act(act, value)
    agent.settle()
    counts = agent.ledger.counts
    assert counts.lost_data_weight == ROW_WEIGHT * counts.lost
