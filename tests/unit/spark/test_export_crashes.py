"""Whatever happens to an exporter, and whenever: in the end every row is exported once, and none was let go before."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queue_agent.spark.export.compaction import Compactor
from queue_agent.spark.export.planning import BatchLimits
from queue_agent.spark.export.state import follow_all, live_files
from queue_agent.spark.export.verification import verify
from tests.unit.spark.export_fakes import EXPORT, START, Crash, ExportWorld

WRITE = st.tuples(st.just("write"), st.integers(0, 2), st.integers(1, 12))
TIME = st.tuples(st.just("time"), st.integers(1, 200), st.just(0))
TRIM = st.tuples(st.just("trim"), st.just(0), st.just(0))
GROW = st.tuples(st.just("grow"), st.just(0), st.just(0))
EXPORT_RUN = st.tuples(st.just("export"), st.integers(0, 25), st.integers(0, 1))
COMPACT = st.tuples(st.just("compact"), st.integers(0, 12), st.integers(0, 1))
STEPS = st.lists(st.one_of(WRITE, WRITE, TIME, TRIM, GROW, EXPORT_RUN, EXPORT_RUN, COMPACT), max_size=14)


@settings(max_examples=200)
@given(steps=STEPS, batch_rows=st.integers(2, 9), task_rows=st.integers(1, 5))
def test_a_crash_at_any_moment_loses_and_doubles_nothing(
    steps: list[tuple[str, int, int]], batch_rows: int, task_rows: int
) -> None:
    world = ExportWorld()
    limits = BatchLimits(batch_rows, task_rows)
    for name, number, detail in steps:
        world.mortal.die_at(number if name in ("export", "compact") else None, after=bool(detail))
        match name:
            case "write" if number in world.queue.timestamps:
                world.queue.write(number, detail)
            case "time":
                world.queue.now += timedelta(minutes=number)
            case "grow" if len(world.queue.timestamps) < 3:
                world.queue.add_partition()
            case "trim":
                world.queue.trim()
            case "export":
                expect_crash(lambda: world.exporter(limits=limits).catch_up())
            case "compact" if world.archive().find_identity() is not None:
                expect_crash(lambda: compact(world))
    world.mortal.die_at(None, after=False)
    world.exporter(limits=limits).catch_up()

    manifests = list(world.archive().manifests())
    live = live_files(manifests).values()
    exported = sorted(
        (file.rows.partition_index, row) for file in live for row in range(file.rows.begin, file.rows.end)
    )
    assert exported == [(index, row) for index, own in world.queue.timestamps.items() for row in range(len(own))]
    verdict = verify(world.archive(), EXPORT, consumed=world.queue.offsets, deep=True)
    assert verdict.faults == []
    assert not [note for note in verdict.notes if "is in no manifest" in note]
    state = world.archive().find_state()
    derived = follow_all(manifests)
    assert state is None or (state.next_row_indexes, state.last_timestamps) == (
        derived.next_row_indexes,
        derived.last_timestamps,
    )
    assert world.queue.offsets == {index: len(own) for index, own in world.queue.timestamps.items() if own}


@pytest.mark.parametrize("after", [False, True])
def test_a_batch_is_the_same_after_a_crash_at_any_of_its_steps(after: bool) -> None:
    for effect in range(100):
        world = ExportWorld()
        world.queue.write(0, 3)
        world.queue.write(1, 3)
        world.mortal.die_at(effect, after=after)
        try:
            world.exporter().catch_up()
        except Crash:
            pass
        else:
            assert effect > 5
            return
        world.mortal.die_at(None, after=False)
        # With these, a repeated plan would have other ranges, and files with other names.
        world.queue.write(0, 2)
        world.exporter().catch_up()
        verdict = verify(world.archive(), EXPORT, consumed=world.queue.offsets, deep=True)
        assert (verdict.faults, verdict.notes, verdict.rows) == ([], [], 8), effect
    raise AssertionError("the export never ended")


@pytest.mark.parametrize("after", [False, True])
def test_files_merged_after_a_crash_do_not_hide_that_rows_came_late(after: bool) -> None:
    for effect in range(100):
        world = ExportWorld()
        world.queue.write(0, 4)
        world.queue.now += timedelta(hours=2)
        world.exporter(limits=BatchLimits(2, 2)).catch_up()
        world.queue.timestamps[0].append(int(START.timestamp()) << 30)
        world.mortal.die_at(effect, after=after)
        try:
            world.exporter().catch_up()
        except Crash:
            pass
        else:
            assert effect > 5
            return
        world.mortal.die_at(None, after=False)
        compact(world)
        world.exporter().catch_up()
        assert verify(world.archive(), EXPORT, consumed=world.queue.offsets, deep=True).faults == [], effect
    raise AssertionError("the export never ended")


def expect_crash(run: Callable[[], None]) -> None:
    with suppress(Crash):
        run()


def compact(world: ExportWorld) -> None:
    pending = world.archive().find_plan(world.archive().load_state().last_number + 1)
    if pending is None or pending.kind == "compact":
        Compactor(world.archive(), lambda: world.queue.now, lambda: None).run(1 << 20, timedelta(hours=1))
