"""Where exports are kept: a directory, and a bucket."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from queue_agent.spark.errors import OptionError
from queue_agent.spark.export.compaction import Compactor
from queue_agent.spark.export.errors import TargetTaken
from queue_agent.spark.export.planning import BatchLimits
from queue_agent.spark.export.storage import Storage, storage_of
from queue_agent.spark.export.verification import verify
from tests.unit.spark.export_fakes import EXPORT, ExportWorld
from tests.unit.spark.s3_bucket import serving


@pytest.fixture(params=["directory", "bucket"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    if request.param == "directory":
        yield storage_of(str(tmp_path))
        return
    with serving() as bucket:
        yield storage_of(bucket.target)


def test_small_files_are_written_found_and_removed(storage: Storage) -> None:
    below = storage.below("a/b")
    assert below.find("c/file") is None
    below.put("c/file", b"1")
    below.put("c/file", b"2")
    assert below.find("c/file") == b"2"
    assert storage.find("a/b/c/file") == b"2"
    below.remove("c/file")
    below.remove("c/file")
    assert below.find("c/file") is None


def test_a_name_is_taken_once(storage: Storage) -> None:
    storage.put_new("dir/file", b"1")
    with pytest.raises(TargetTaken):
        storage.put_new("dir/file", b"2")
    assert storage.find("dir/file") == b"1"


def test_files_are_listed_without_and_with_what_is_below(storage: Storage) -> None:
    assert storage.files("none", recursive=True) == []
    for path in ("a/1", "a/b/2", "c"):
        storage.put(path, b"123")
    assert [file.path for file in storage.files("a")] == ["a/1"]
    assert [file.path for file in storage.files("", recursive=True)] == ["a/1", "a/b/2", "c"]
    assert storage.files("a")[0].byte_count == 3


def test_large_files_are_uploaded_and_read_at_any_place(storage: Storage) -> None:
    content = bytes(range(256)) * 80_000
    with storage.writing("dir/large", "owner") as local:
        local.write_bytes(content)
        storage.upload(local, "dir/large")
    with storage.open("dir/large") as opened:
        opened.seek(256 * 40_000 + 5)
        assert opened.read(3) == b"\x05\x06\x07"
    assert storage.find("dir/large") == content
    with pytest.raises(FileNotFoundError):
        storage.open("dir/none")


def test_a_file_that_is_not_finished_leaves_nothing(storage: Storage) -> None:
    with pytest.raises(ValueError, match="broken"), storage.writing("dir/file", "owner") as local:
        local.write_bytes(b"1")
        raise ValueError("broken")
    assert storage.files("", recursive=True) == []


def test_an_export_is_the_same_wherever_it_is_kept(storage: Storage) -> None:
    world = ExportWorld(storage)
    for _ in range(2):
        world.queue.write(0, 7)
        world.exporter(limits=BatchLimits(4, 4)).catch_up()
    world.queue.now += timedelta(hours=2)
    world.exporter().catch_up()
    assert verify(world.archive(), EXPORT, consumed=world.queue.offsets, deep=True).faults == []
    report = Compactor(world.archive(), lambda: world.queue.now, lambda: None).run(1 << 20, timedelta(0))
    assert (report.merged_files, report.new_files, report.removed_files) == (4, 1, 4)
    verdict = verify(world.archive(), EXPORT, deep=True)
    assert (verdict.faults, verdict.notes, verdict.rows, verdict.files) == ([], [], 14, 1)


def test_other_places_are_refused() -> None:
    for target in ("ftp://host/dir", "hdfs://host/dir"):
        with pytest.raises(OptionError, match="neither"):
            storage_of(target)
    assert storage_of("file:///a/b").below("c") == storage_of("/a/b/c")
    assert storage_of("file:///a%20b") == storage_of("/a b")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("file://host/dir", "names a machine"),
        ("s3://", "names no bucket"),
        ("s3:///dir", "names no bucket"),
        ("s3://key:secret@bucket/dir?regoin=eu", "'regoin'"),
    ],
)
def test_targets_that_say_something_wrong_are_refused_without_their_keys(target: str, words: str) -> None:
    with pytest.raises(OptionError, match=words) as found:
        storage_of(target)
    assert "secret" not in str(found.value)
