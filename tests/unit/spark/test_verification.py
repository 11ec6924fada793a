"""What verification finds of an export that somebody has damaged."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta

import pyarrow as pa
import pytest

from queue_agent.spark.export.planning import BatchLimits
from queue_agent.spark.export.verification import verify
from tests.unit.spark.export_fakes import START, ExportWorld, MemoryStorage, verdict

Damage = Callable[[dict[str, bytes], str], None]


def remove_file(contents: dict[str, bytes], file: str) -> None:
    del contents[file]


def cut_file(contents: dict[str, bytes], file: str) -> None:
    contents[file] = contents[file][:-1]


def change_file(contents: dict[str, bytes], file: str) -> None:
    contents[file] = contents[file][:40] + b"?" + contents[file][41:]


def swap_files(contents: dict[str, bytes], file: str) -> None:
    other = next(path for path in contents if path.endswith(".parquet") and path != file)
    contents[file] = contents[other]


def remove_manifest(contents: dict[str, bytes], file: str) -> None:
    del contents["alpha/home/queue/v1/_manifest/000000000000.json"]


def edit(contents: dict[str, bytes], name: str, change: Callable[[dict[str, object]], object]) -> None:
    path = f"alpha/home/queue/v1/{name}"
    document = json.loads(contents[path])
    change(document)
    contents[path] = json.dumps(document).encode()


def claim_more(contents: dict[str, bytes], file: str) -> None:
    edit(
        contents,
        "_manifest/000000000001.json",
        lambda document: document.update(ranges=[{"partition": 0, "begin": 3, "end": 8}]),
    )


def claim_less(contents: dict[str, bytes], file: str) -> None:
    edit(
        contents,
        "_manifest/000000000001.json",
        lambda document: document.update(ranges=[{"partition": 0, "begin": 5, "end": 8}]),
    )


def run_ahead(contents: dict[str, bytes], file: str) -> None:
    edit(contents, "_progress.json", lambda document: document.update(next_row_indexes={"0": 9}))


def say_complete(contents: dict[str, bytes], file: str) -> None:
    contents["alpha/home/queue/v1/_complete/dt=2026-01-31/hour=07.json"] = (
        b'{"generation":1,"manifest":1,"rows":7,"ends":{}}'
    )


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (remove_file, "is missing: rows 0 to 3 of partition 0 are lost"),
        (cut_file, "bytes"),
        (change_file, "another content"),
        (swap_files, "beyond its range"),
        (remove_manifest, "manifest 0 is missing"),
        (claim_more, "rows 3 to 3 of partition 0 are in more than one manifest"),
        (claim_less, "rows 4 to 4 of partition 0 are in no manifest"),
        (run_ahead, "exported up to row 9"),
        (say_complete, "complete with 7 rows and has 8"),
    ],
)
def test_verification_names_what_is_wrong(world: ExportWorld, damage: Damage, words: str) -> None:
    world.queue.write(0, 8)
    world.exporter(limits=BatchLimits(4, 4)).catch_up()
    assert verdict(world).faults == []
    first = min(path for path in world.storage.contents if path.endswith(".parquet"))
    damage(world.storage.contents, first)
    assert any(words in fault for fault in verdict(world).faults), verdict(world).faults


def test_verification_sees_a_consumer_that_lets_rows_go(world: ExportWorld) -> None:
    world.queue.write(0, 8)
    world.exporter().catch_up()
    world.queue.offsets = {0: 9}
    assert verdict(world).faults == ["the consumer is at row 9 of partition 0, but only rows below 8 are exported"]


def test_verification_misses_the_document_of_a_complete_hour(world: ExportWorld) -> None:
    world.queue.write(0, 8)
    world.queue.now += timedelta(hours=2)
    world.exporter().catch_up()
    assert (verdict(world).faults, verdict(world).closed_periods) == ([], 1)
    del world.storage.contents["alpha/home/queue/v1/_complete/dt=2026-01-31/hour=07.json"]
    assert verdict(world).faults == ["dt=2026-01-31/hour=07 is complete by the progress, and its document is missing"]


def test_an_export_that_goes_on_while_it_is_verified_is_at_no_fault(
    world: ExportWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.queue.write(0, 8)
    world.exporter().catch_up()
    open_file = MemoryStorage.open

    def export_meanwhile(storage: MemoryStorage, path: str) -> pa.NativeFile:
        monkeypatch.undo()
        world.queue.write(0, 2)
        world.queue.now += timedelta(hours=2)
        world.queue.write(0, 2)
        world.exporter().catch_up()
        world.queue.timestamps[0] += [int(START.timestamp()) << 30]
        world.exporter().catch_up()
        return open_file(storage, path)

    monkeypatch.setattr(MemoryStorage, "open", export_meanwhile)
    found = verdict(world)
    assert (found.faults, found.rows) == ([], 8)
    assert (verdict(world).faults, verdict(world).rows) == ([], 13)


def test_a_file_under_any_name_that_is_no_part_of_the_export_is_named(world: ExportWorld) -> None:
    world.queue.write(0, 3)
    world.exporter().catch_up()
    world.storage.contents["alpha/home/queue/v1/dt=2026-01-31/hour=07/part-0.parquet"] = b"rows again"
    found = verdict(world)
    assert found.notes == ["dt=2026-01-31/hour=07/part-0.parquet is in no manifest"]


def test_verification_says_what_it_looked_at_and_no_more(world: ExportWorld) -> None:
    world.queue.write(0, 3)
    world.exporter().catch_up()
    archive = world.archive()
    quick = verify(archive, "v1").to_text()
    assert "Not checked: the content of files (--deep), the queue" in quick
    assert "content that was written" not in quick
    assert "content that was written" in verdict(world).to_text()
    assert "Not checked" not in verdict(world).to_text()
