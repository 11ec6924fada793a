"""Compaction: files of complete hours become few, and no row goes."""

from __future__ import annotations

from datetime import timedelta

import pytest

from queue_agent.spark.export.compaction import CompactionReport
from queue_agent.spark.export.documents import Range
from queue_agent.spark.export.errors import TargetDamaged
from queue_agent.spark.export.planning import BatchLimits
from tests.unit.spark.export_fakes import ExportWorld, verdict
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
