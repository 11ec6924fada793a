"""What is kept of verdicts is enough to go on from, and a row that makes no sense is told apart from one that does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.counts import Counts
from queue_agent.core.verdicts.keeping import (
    PAIR,
    LedgerRow,
    Written,
    changed_rows,
    has_losses_of,
    is_urgent,
    is_worth_keeping,
    restore,
)
from queue_agent.core.verdicts.ledger import Ledger, Reading
from queue_agent.core.verdicts.objectives import NO_SECONDS, ObjectiveSeconds
from queue_agent.core.verdicts.pace import Habit, Pace
from queue_agent.core.verdicts.position import Position, open_position
from queue_agent.core.verdicts.queue_poll import observe_queue, without_poll
from queue_agent.core.verdicts.queue_state import Pair, PartitionReading, QueueState
from queue_agent.core.verdicts.race import Race
from queue_agent.core.verdicts.rebuilding import Rebuild, RebuildKind
from queue_agent.core.verdicts.values import Loss, LossCause, Verdict

WHO = Pair(CrossClusterRef("a", "//q"), CrossClusterRef("b", "//c", "name"))

NOW = 2e11


def made(kind: Callable[..., Any], *arguments: Any, **others: Any) -> st.SearchStrategy[Any]:
    """Values whose other fields have their defaults: Hypothesis would draw those of a named tuple."""

    def make(*values: Any, **named: Any) -> Any:
        return kind(*values, **named)

    return st.builds(make, *arguments, **others)


offsets = st.integers(0, 2**64 - 1)
counts = st.integers(0, 2**48)
seconds = st.floats(0, NOW)
maybe = st.none() | seconds
verdicts = st.sampled_from(Verdict)
losses = st.builds(Loss, seconds, seconds, st.sampled_from(LossCause), st.none() | st.text(max_size=5), counts, counts)
readings = made(
    Reading,
    offsets,
    offsets,
    offsets,
    maybe,
    st.text(max_size=5),
    object_id=st.none() | st.text(max_size=5),
    next_row_time=maybe,
)
ledgers = made(
    Ledger,
    readings,
    offsets,
    maybe,
    seconds,
    st.builds(Counts, counts, counts, counts, counts, counts, counts),
    counts,
    seconds,
    st.none() | losses,
    st.none() | offsets,
    st.frozensets(st.text(max_size=5), max_size=2),
)
races = st.builds(Race, seconds, offsets, counts, seconds, st.booleans())
positions = made(
    Position,
    ledgers,
    seconds,
    seconds,
    seconds,
    seconds,
    maybe,
    verdicts,
    seconds,
    verdicts,
    race=st.none() | races,
)
paces = st.builds(
    Pace,
    counts,
    seconds,
    st.dictionaries(st.integers(0, 120), seconds, max_size=4),
    seconds,
    st.lists(st.tuples(seconds, seconds), max_size=3).map(tuple),
    st.lists(st.builds(Habit, seconds, seconds), max_size=3).map(tuple),
    maybe,
)


def written(rows: Iterable[LedgerRow]) -> list[tuple[int, Any]]:
    """As they come back from a table."""
    return [(row.partition_index, json.loads(json.dumps(row.state))) for row in rows]


def restored(rows: Iterable[tuple[Any, Any]], now: float = NOW) -> QueueState:
    """From rows that all make sense."""
    found = restore(WHO, rows, now)
    assert not found.errors
    assert found.state is not None
    return found.state


def state_of(partitions: Mapping[int, Position], pace: Pace = Pace()) -> QueueState:  # noqa: B008 - a value
    return QueueState(WHO, partitions, pace, 1000.0)


def opened(offset: int = 3, now: float = 1000.0) -> Position:
    return open_position(Reading(0, 10, offset, 900.0, "1-1"), now)


@given(st.dictionaries(st.integers(0, 20), positions, max_size=3), paces, seconds)
def test_what_is_written_is_what_is_read(partitions: dict[int, Position], pace: Pace, last_poll: float) -> None:
    state = QueueState(WHO, partitions, pace, last_poll)

    assert restored(written(changed_rows(state, None))) == replace(state, is_kept=True)


def test_nothing_kept_is_no_state() -> None:
    assert restore(WHO, [], NOW).state is None


def test_positions_without_the_row_about_all_of_them_go_on_from_their_latest_poll() -> None:
    rows = [row for row in changed_rows(state_of({0: opened()}), None) if row.partition_index != PAIR]
    found = restored(written(rows))
    assert (found.last_poll, found.pace) == (1000.0, Pace())
    assert found.positions[0].ledger == opened().ledger


def test_only_what_has_changed_is_written_with_the_time_of_the_poll() -> None:
    kept = state_of({0: opened(), 1: opened()})
    moved = replace(kept, positions={**kept.positions, 1: opened(5, 1060.0)}, last_poll=1060.0)

    rows = changed_rows(moved, Written.of(kept))

    assert [row.partition_index for row in rows] == [1, PAIR]
    assert rows[-1].state["last_poll"] == 1060.0
    assert (rows[0].verdict, rows[0].lost_rows) == ("ok", 0)
    later = replace(kept, last_poll=1060.0)
    assert [row.partition_index for row in changed_rows(later, Written.of(kept))] == [PAIR]
    assert changed_rows(later, Written.of(later)) == []


def test_counts_of_a_partition_that_is_no_more_are_written_if_they_were_not() -> None:
    kept = state_of({0: opened(), 1: opened()})
    left = replace(kept, positions={0: kept.positions[0]}, left={1: kept.positions[1]})
    assert changed_rows(left, Written.of(kept)) == []
    assert changed_rows(left, Written.of(left)) == []
    moved = replace(left, left={1: opened(5, 1060.0)})
    assert [row.partition_index for row in changed_rows(moved, Written.of(kept))] == [1, PAIR]


def test_that_time_has_passed_is_not_worth_keeping() -> None:
    kept = state_of({0: opened()})
    old = kept.positions[0]
    waited = old._replace(seen_at=1060.0, silent=60.0, still=60.0, ledger=old.ledger._replace(settled_at=1060.0))
    assert not is_worth_keeping(replace(kept, positions={0: waited}, last_poll=1060.0), kept)
    assert not is_worth_keeping(kept, kept)


@pytest.mark.parametrize(
    "changed",
    [
        replace(state_of({0: opened(5)})),
        replace(state_of({0: opened()._replace(verdict=Verdict.STOPPED)})),
        replace(state_of({0: opened()._replace(activity=Verdict.STOPPED)})),
        replace(state_of({0: opened()._replace(written_at=1001.0)})),
        replace(state_of({0: opened()._replace(ahead_since=1001.0)})),
        replace(state_of({0: opened()._replace(race=Race(1000.0, 5, 1, 1001.0, False))})),
        replace(state_of({0: opened()._replace(rebuild=Rebuild(RebuildKind.RESHARD, 1001.0))})),
        replace(state_of({0: opened(), 1: opened()})),
        replace(state_of({0: opened()}), left={1: opened()}),
        replace(state_of({0: opened()}), seconds=ObjectiveSeconds(good=1.0)),
        replace(state_of({0: opened()}), is_told_dead=True),
    ],
)
def test_what_happened_is_worth_keeping(changed: QueueState) -> None:
    assert is_worth_keeping(changed, state_of({0: opened()}))


def test_losses_that_the_table_lacks_are_known() -> None:
    state = state_of({0: opened(), 1: opened()})
    written = Written.of(replace(state, positions={0: opened()}))
    assert has_losses_of(written, state)
    assert has_losses_of(written, replace(state, positions={0: with_counts(opened(), Counts(read=5))}))
    assert not has_losses_of(written, replace(state, positions={0: with_counts(opened(), Counts(lost=5))}))
    assert not has_losses_of(written, replace(state, positions={1: with_counts(opened(), Counts(possibly_lost=5))}))


def test_another_verdict_and_what_marks_do_not_tell_are_urgent() -> None:
    reading = PartitionReading(Reading(0, 10, 10, 900.0, "1-1"))
    first = observe_queue(QueueState(WHO), {0: reading}, range(1), 1000.0, 1.0)
    assert first.verdict is not None
    whole = first.verdict.whole
    assert is_urgent(QueueState(WHO), first)
    assert not is_urgent(first, replace(first, last_poll=1001.0))
    for other, urgent in (
        (whole._replace(verdict=Verdict.STOPPED), True),
        (whole._replace(counts=Counts(lost=1)), True),
        (whole._replace(counts=Counts(possibly_lost=1)), True),
        (whole._replace(counts=Counts(skipped=1)), True),
        (whole._replace(counts=Counts(rewinds=1)), True),
        (whole._replace(counts=Counts(read=1)), False),
    ):
        assert is_urgent(first, replace(first, verdict=replace(first.verdict, whole=other))) is urgent


def with_counts(position: Position, found: Counts) -> Position:
    return position._replace(ledger=position.ledger._replace(counts=found))


def test_a_pace_that_was_learned_is_written() -> None:
    kept = state_of({0: opened()})

    assert [row.partition_index for row in changed_rows(replace(kept, pace=Pace(gaps=1)), Written.of(kept))] == [PAIR]


def test_whether_a_death_was_told_is_kept() -> None:
    kept = state_of({0: opened()})
    dead = replace(kept, is_told_dead=True)
    assert [row.partition_index for row in changed_rows(dead, Written.of(kept))] == [PAIR]
    rows = written(changed_rows(dead, None))
    assert restored(rows).is_told_dead
    for _, state in rows:
        state.pop("told_dead", None)
    assert not restored(rows).is_told_dead, "an earlier version does not tell"


@pytest.mark.parametrize(
    "key",
    [
        "start",
        "committed_at",
        "counts",
        "verdict",
        "tablet_id",
        "loss",
        "reach",
        "race",
        "older_tablets",
        "stale_offset",
        "offset_tablet",
    ],
)
@pytest.mark.parametrize(
    "value",
    ["x", -1, 1e300, 2**62, float("inf"), float("nan"), True, [], {}, {"since": 1}, 2**80, b"\xff", {"lost": -1}],
)
def test_a_row_that_somebody_has_edited_stops_nobody(key: str, value: Any) -> None:
    first, second, pair = written(changed_rows(state_of({0: opened(), 1: opened(5)}), None))
    first[1][key] = value
    found = restore(WHO, [first, second, pair], NOW).state
    assert found is not None
    assert found.positions[1].ledger == opened(5).ledger, "of another partition"
    judged = observe_queue(found, {0: PartitionReading(Reading(0, 10, 5, 1001.0, "1-1"))}, range(2), NOW, 1.0)
    assert judged.verdict is not None
    judged.verdict.to_map()


@pytest.mark.parametrize("state", [None, 7, "text", [], {}])
def test_a_row_that_is_no_map_of_ours_restarts_what_it_was_about(state: Any) -> None:
    position, pair = written(changed_rows(state_of({0: opened()}, Pace(gaps=3)), None))
    found = restore(WHO, [(0, state), pair], NOW)
    assert found.state is not None
    assert (found.state.positions, found.state.pace, len(found.errors)) == ({}, Pace(gaps=3), 1)
    found = restore(WHO, [position, (PAIR, state)], NOW)
    assert found.state is not None
    assert (found.state.positions[0].ledger, found.state.pace) == (opened().ledger, Pace())
    [error] = found.errors
    assert "makes no sense" in error


@pytest.mark.parametrize("index", [-5, None, "0", True, 2**70])
def test_a_partition_that_can_not_be_is_left_out(index: Any) -> None:
    [(_, state), pair] = written(changed_rows(state_of({0: opened()}), None))
    found = restore(WHO, [(index, state), pair], NOW)
    assert found.state is not None
    assert found.state.positions == {}
    assert "partition_index" in found.errors[0]


@pytest.mark.parametrize("bucket", ["9999", "-1", "x", "161"])
def test_a_pace_that_can_not_be_computed_is_learned_again(bucket: str) -> None:
    state = state_of({0: opened()}, Pace(gaps=9, seconds={4: 1.0}))
    rows = written(changed_rows(state, None))
    rows[-1][1]["seconds"] = {bucket: 1.0}
    found = restore(WHO, rows, NOW)
    assert found.state is not None
    assert (found.state.pace, len(found.errors)) == (Pace(), 1)


@pytest.mark.parametrize(
    ("key", "value"), [("since", 1e300), ("seen_at", 253_402_300_800), ("counts", {"lost": 2**48 + 1}), ("end", 2**64)]
)
def test_what_could_not_be_published_is_left_out(key: str, value: Any) -> None:
    """There is no date for such an instant, and a sum of such numbers over partitions fits no integer of YSON."""
    [(index, state), pair] = written(changed_rows(state_of({0: opened()}), None))
    state[key] = value
    found = restore(WHO, [(index, state), pair], NOW)
    assert found.state is not None
    assert found.state.positions == {}
    assert "expected" in found.errors[0]


def test_what_is_read_can_be_published() -> None:
    """Sums and instants, at the limits of what is taken."""
    most, latest = 2**48, 253_402_300_799.0
    loss = Loss(latest, latest, LossCause.FOREIGN, None, most, most)
    position = opened()._replace(since=latest, ledger=Ledger(opened().reading, 3, counts=Counts(most, most), loss=loss))
    pace = Pace(gaps=9, longest=latest, seconds={160: latest, 0: latest}, origin=0.0)
    rows = written(changed_rows(replace(state_of({0: position}, pace), last_poll=latest - 1), None))

    found = restored(rows, latest)
    shown = without_poll(found, Verdict.UNKNOWN, "Not polled yet", latest)

    assert shown.verdict is not None
    assert shown.verdict.to_map()["lost_row_count"] == most
    assert found.pace.view(latest, has_ages=True).usual is not None


def test_rows_of_a_clock_that_was_ahead_keep_what_was_counted_and_are_judged_at_once() -> None:
    ahead = 1000.0 + 10 * 365 * 86400
    loss = Loss(ahead, ahead, LossCause.FOREIGN, None, 7, 7)
    position = opened()._replace(
        since=ahead,
        silent=5.0,
        verdict=Verdict.LOSING,
        ledger=Ledger(opened().reading, 3, reach=2.0, reach_at=ahead, counts=Counts(lost=7), loss=loss),
    )
    rows = written(changed_rows(QueueState(WHO, {0: position}, Pace(gaps=3, polled_since=ahead), ahead), None))

    found = restored(rows, 1000.0)

    assert (found.last_poll, found.pace) == (1000.0, Pace())
    kept = found.positions[0]
    assert (kept.ledger.counts.lost, kept.ledger.accounted, kept.ledger.loss) == (7, 3, None)
    seen = {0: PartitionReading(Reading(0, 10, 5, 1001.0, "1-1"))}
    judged = observe_queue(found, seen, range(1), 1001.0, 1.0)
    assert judged.verdict is not None
    assert judged.verdict.whole.counts == Counts(lost=7, read=2)


def test_an_offset_that_an_earlier_version_kept_is_of_the_tablet_that_it_saw() -> None:
    rows = written(changed_rows(state_of({0: opened()}), None))
    del rows[0][1]["offset_tablet"]
    found = restored(rows)
    assert found.tablets == {0: found.positions[0].reading.tablet_id}


def test_a_counter_of_an_earlier_version_begins_with_nothing() -> None:
    [(index, state), pair] = written(changed_rows(state_of({0: opened()}), None))
    del state["counts"]["rewinds"]

    found = restored([(index, state), pair])

    assert found.positions[0].ledger.counts == Counts()


def test_seconds_of_an_objective_begin_with_nothing_in_a_row_of_an_earlier_version() -> None:
    [position, (index, state)] = written(changed_rows(state_of({0: opened()}), None))
    del state["objective"]

    found = restored([position, (index, state)])

    assert found.seconds == NO_SECONDS
