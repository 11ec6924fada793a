"""Rows that were trimmed uncommitted are counted to the row, whatever becomes of the agents that count them."""

from __future__ import annotations

import asyncio
from typing import Any

import looptime
import pytest

from queue_agent.core.values.refs import CrossClusterRef
from tests.model.stage import World
from tests.model.stage_rows import CONSUMERS, PARTLY, READER, VITAL, Perils


def seeds(count: int, *, slow: bool = False) -> list[Any]:
    """One of them for each run of the tests, the others, or all, for the slow ones."""
    return [pytest.param(seed, marks=[pytest.mark.slow] if seed or slow else []) for seed in range(count)]


def virtually(world: World) -> World:
    """The world after a run in virtual time."""
    # All that is waited for is on the loop: whoever else might act needs no cycles in which nothing happens.
    with asyncio.Runner(loop_factory=lambda: looptime.new_event_loop(noop_cycles=0)) as runner:
        runner.run(world.run())
    return world


def played(seed: int, perils: Perils) -> World:
    world = virtually(World(seed, perils))
    assert world.falls == []
    assert world.truth(READER)[0] > 0
    return world


def told(world: World) -> dict[CrossClusterRef, int]:
    return {ref: world.counts(ref).trimmed_uncommitted for ref in CONSUMERS}


def trimmed(world: World) -> dict[CrossClusterRef, int]:
    return {ref: world.truth(ref)[0] for ref in CONSUMERS}


@pytest.mark.parametrize("seed", seeds(3, slow=True))
def test_nobody_is_killed(seed: int) -> None:
    world = played(seed, Perils())
    assert told(world) == trimmed(world)
    assert told(world)[VITAL] == 0


@pytest.mark.parametrize("seed", seeds(6))
def test_agents_are_killed_at_any_moment(seed: int) -> None:
    world = played(seed, Perils(kill=0.05))
    assert told(world) == trimmed(world)


@pytest.mark.parametrize("seed", seeds(3, slow=True))
def test_the_only_agent_is_killed(seed: int) -> None:
    world = played(seed, Perils(agents=1, kill=0.05))
    assert told(world) == trimmed(world)


@pytest.mark.parametrize("seed", seeds(4))
def test_consumers_begin_while_agents_are_killed(seed: int) -> None:
    world = played(seed, Perils(agents=3, kill=0.08, are_new=True))
    assert told(world) == trimmed(world)


@pytest.mark.parametrize("seed", seeds(3, slow=True))
def test_passes_are_cancelled(seed: int) -> None:
    world = played(seed, Perils(cancel=0.5))
    assert told(world) == trimmed(world)


@pytest.mark.parametrize("seed", seeds(4))
def test_answers_are_lost(seed: int) -> None:
    """Of trims, of the journal and of the ledger: some were carried out, some were not."""
    world = played(seed, Perils(lost_answer=0.1))
    assert told(world) == trimmed(world)


@pytest.mark.parametrize("seed", seeds(3, slow=True))
def test_a_slow_consumer_costs_nobody_else_anything(seed: int) -> None:
    world = played(seed, Perils(slow=0.5))
    assert told(world)[READER] == trimmed(world)[READER]
    assert told(world)[PARTLY] >= trimmed(world)[PARTLY]


@pytest.mark.parametrize("seed", seeds(4))
def test_the_queue_is_created_again(seed: int) -> None:
    """Rows that go with the old queue count, and those of the new one that an old offset seems to have passed."""
    world = played(seed, Perils(rebuild=0.08))
    assert world.creations > 1
    assert told(world) == trimmed(world)
    assert not any(world.counts(ref).unwatched_recreations for ref in CONSUMERS)


@pytest.mark.parametrize("seed", [7, *(pytest.param(seed, marks=[pytest.mark.slow]) for seed in (13, 15, 81))])
def test_the_queue_is_created_again_while_agents_are_killed(seed: int) -> None:
    """Rows that nobody has seen before they went cannot be counted. Then the counts say so; all others are exact."""
    world = played(seed, Perils(rebuild=0.08, kill=0.05))
    assert world.creations > 1
    for ref, rows in trimmed(world).items():
        counts = world.counts(ref)
        assert counts.lost <= rows
        assert counts.unwatched_recreations or counts.trimmed_uncommitted == rows, ref


@pytest.mark.parametrize("seed", seeds(4))
def test_the_queue_is_resharded(seed: int) -> None:
    """Rows move to other partitions, where they count once they go; counts of a partition that goes stay."""
    world = played(seed, Perils(reshard=0.15, seconds=90))
    assert world.reshards > 1
    assert told(world) == trimmed(world)
    assert told(world)[VITAL] == 0


@pytest.mark.parametrize("seed", seeds(6))
def test_the_queue_is_resharded_while_agents_are_killed(seed: int) -> None:
    """Whoever takes over may not have seen tablets that were trimmed."""
    world = played(seed, Perils(reshard=0.15, kill=0.05, seconds=90))
    assert world.reshards > 1
    assert told(world) == trimmed(world)


@pytest.mark.parametrize("seed", seeds(4))
def test_the_queue_is_resharded_twice_before_anybody_looks(seed: int) -> None:
    """It looks like a reshard that keeps all rows, and the old offset like one of theirs."""
    world = virtually(World(seed, Perils(reshard=0.3, at_once=True, seconds=90)))
    assert world.reshards > 1
    assert told(world)[VITAL] == trimmed(world)[VITAL] == 0


@pytest.mark.parametrize("seed", [8, 9])
def test_an_agent_that_did_not_see_a_reshard_asks_the_ledger(seed: int) -> None:
    """It leads the queue, and another one leads the consumer."""
    world = virtually(World(seed, Perils(reshard=0.3, at_once=True, kill=0.3, seconds=90)))
    assert world.reshards > 1
    assert trimmed(world)[VITAL] == 0
    assert trimmed(world)[READER] > 0, "it is trimmed"


@pytest.mark.parametrize("seed", seeds(3, slow=True))
def test_readers_step_back(seed: int) -> None:
    """What is committed and taken back before an agent has seen it is not known to be committed."""
    world = played(seed, Perils(rewind=0.05))
    for ref in CONSUMERS:
        assert told(world)[ref] >= trimmed(world)[ref]


@pytest.mark.parametrize("seed", seeds(4))
def test_what_others_trim_is_never_told_too_low_and_never_proved_that_was_committed(seed: int) -> None:
    world = played(seed, Perils(foreign=0.02, kill=0.03))
    for ref in CONSUMERS:
        assert world.counts(ref).lost <= trimmed(world)[ref] <= told(world)[ref]


@pytest.mark.parametrize("seed", seeds(4))
def test_commits_between_the_last_look_and_the_trim_make_no_other_difference(seed: int) -> None:
    world = played(seed, Perils(haste=True, kill=0.03))
    for ref in CONSUMERS:
        least, most = world.truth(ref)
        assert least <= told(world)[ref] <= most
