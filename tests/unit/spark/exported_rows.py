"""Which rows an export has, and the same after compaction."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from queue_agent.spark.export.compaction import CompactionReport, Compactor
from queue_agent.spark.export.state import live_files
from tests.unit.spark.export_fakes import ExportWorld


def live_rows(world: ExportWorld, version: str = "v1") -> Counter[tuple[int, int]]:
    files = live_files(world.archive(version).manifests()).values()
    return Counter((file.rows.partition_index, row) for file in files for row in range(file.rows.begin, file.rows.end))


def rows(*ranges: tuple[int, int, int]) -> Counter[tuple[int, int]]:
    return Counter((index, row) for index, begin, end in ranges for row in range(begin, end))


def compact(world: ExportWorld, grace: timedelta = timedelta(hours=1)) -> CompactionReport:
    return Compactor(world.archive(), lambda: world.queue.now, lambda: None).run(1 << 20, grace)
