"""Compaction: files of complete hours become few, and no row goes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queue_agent.spark.export.archive import Archive
from queue_agent.spark.export.compaction import CompactionReport, Compactor
from queue_agent.spark.export.documents import Manifest, Range
from queue_agent.spark.export.errors import TargetDamaged
from queue_agent.spark.export.layout import FileName
from queue_agent.spark.export.planning import BatchLimits
from tests.unit.spark.export_fakes import EXPORT, ExportWorld, verdict
from tests.unit.spark.exported_rows import compact, live_rows, rows

FOUR = BatchLimits(4, 4)


HOUR = timedelta(hours=1)


def test_files_of_complete_hours_are_merged_and_the_old_ones_removed_after_a_while(world: ExportWorld) -> None:
    world.queue.write(0, 12)
    world.queue.write(1, 12)
    world.exporter(limits=FOUR).catch_up()
    assert compact(world).new_files == 0
    world.queue.now += 2 * HOUR
    world.exporter().catch_up()
    assert compact(world) == CompactionReport(6, 2, 0)
    assert (verdict(world).faults, verdict(world).files, live_rows(world)) == ([], 2, rows((0, 0, 12), (1, 0, 12)))
    world.queue.now += HOUR
    assert compact(world) == CompactionReport(0, 0, 6)
    assert verdict(world).notes == []
    world.queue.write(0, 1)
    world.exporter().catch_up()
    assert verdict(world).faults == []


def test_a_later_run_reads_only_manifests_that_came_since(world: ExportWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        world.queue.write(0, 8)
        world.exporter(limits=FOUR).catch_up()
        world.queue.now += 2 * HOUR
        world.exporter().catch_up()
        compact(world)
    read: list[int] = []
    find = Archive.find_manifest

    def watched(archive: Archive, number: int) -> Manifest | None:
        read.append(number)
        return find(archive, number)

    last = world.archive().manifest_numbers()[-1]
    world.queue.write(0, 8)
    world.exporter(limits=FOUR).catch_up()
    world.queue.now += 2 * HOUR
    world.exporter().catch_up()
    monkeypatch.setattr(Archive, "find_manifest", watched)
    assert compact(world).merged_files == 2
    assert min(read) > last
    assert (verdict(world).faults, verdict(world).files, live_rows(world)) == ([], 4, rows((0, 0, 32)))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(
        st.sampled_from(["write", "export", "hour", "compact", "now", "replace", "stranger", "forget"]), max_size=12
    )
)
def test_step_by_step_no_file_that_counts_goes_and_all_others_do(steps: list[str]) -> None:
    world = ExportWorld()
    world.queue.write(0, 6)
    world.queue.write(1, 2)
    world.exporter(limits=FOUR).catch_up()
    for step in steps:
        match step:
            case "write":
                world.queue.write(0, 3)
            case "export":
                world.exporter(limits=FOUR).catch_up()
            case "hour":
                world.queue.now += HOUR
                world.exporter(limits=FOUR).catch_up()
            case "compact":
                compact(world)
            case "now":
                compact(world, timedelta(0))
            case "replace":
                world.exporter().replace([Range(0, 0, 2)])
            case "stranger":
                path = next(path for path in sorted(world.storage.contents) if path.endswith(".parquet"))
                name = FileName(0, 0, 1, 999)
                world.storage.contents[f"{path.rpartition('/')[0]}/{name}"] = b""
            case "forget":
                world.storage.contents.pop(f"{EXPORT}/_compacted.json", None)
        found = verdict(world)
        assert found.faults == []
    world.storage.contents.pop(f"{EXPORT}/_compacted.json", None)
    for _ in range(2):
        world.queue.now += 3 * HOUR
        compact(world)
    assert (verdict(world).faults, verdict(world).notes) == ([], [])


def test_replaced_files_and_strangers_go_without_a_look_at_all_manifests(world: ExportWorld) -> None:
    world.queue.write(0, 8)
    world.exporter(limits=FOUR).catch_up()
    compact(world)
    world.exporter().replace([Range(0, 0, 8)])
    files = [path for path in world.storage.contents if path.endswith(".parquet")]
    stranger = f"{files[0].rpartition('/')[0]}/{FileName(0, 0, 1, 999)}"
    world.storage.contents[stranger] = b""
    world.queue.now += 3 * HOUR
    assert compact(world).removed_files == 3
    assert (verdict(world).faults, verdict(world).notes) == ([], [])


def test_files_of_complete_hours_stay_where_one_of_them_is_replaced(world: ExportWorld) -> None:
    world.queue.write(0, 4)
    world.queue.write(1, 4)
    world.queue.now += 2 * HOUR
    world.exporter().catch_up()
    compact(world)
    world.exporter().replace([Range(0, 0, 4)])
    world.queue.now += 2 * HOUR
    assert compact(world).removed_files == 1
    assert (verdict(world).faults, live_rows(world)) == ([], rows((0, 0, 4), (1, 0, 4)))


def test_another_size_of_files_means_a_look_at_all_of_them(world: ExportWorld) -> None:
    world.queue.write(0, 8)
    world.exporter(limits=FOUR).catch_up()
    world.queue.now += 2 * HOUR
    world.exporter().catch_up()
    small = Compactor(world.archive(), lambda: world.queue.now, lambda: None)
    assert small.run(1, HOUR).merged_files == 0
    assert compact(world).merged_files == 2


def test_a_file_that_is_not_what_was_written_is_not_merged(world: ExportWorld) -> None:
    world.queue.write(0, 12)
    world.queue.now += 2 * HOUR
    world.exporter(limits=FOUR).catch_up()
    damaged = next(path for path in world.storage.contents if path.endswith(".parquet"))
    content = world.storage.contents[damaged]
    world.storage.contents[damaged] = content[:40] + bytes([content[40] ^ 1]) + content[41:]
    with pytest.raises(TargetDamaged, match="another content than was written"):
        compact(world)
    assert any("another content than was written" in fault for fault in verdict(world).faults)
    world.exporter().replace([Range(0, 0, 12)])
    assert (verdict(world).faults, live_rows(world)) == ([], rows((0, 0, 12)))


def test_there_is_nothing_to_compact_where_there_is_no_export(world: ExportWorld) -> None:
    with pytest.raises(TargetDamaged):
        compact(world)
    with pytest.raises(TargetDamaged, match="there is no export"):
        verdict(world)
