"""Files of older programs are brought up to date, those of newer ones are left alone."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from yt_local.store.database import StorageError
from yt_local.store.storage import OrderedRow, SortedVersion, Storage, shown


def make_file(file: Path, version: int) -> None:
    """A database as the first version left it, but for its number."""
    with sqlite3.connect(file) as database:
        database.execute(
            "CREATE TABLE sorted_rows (tablet INTEGER NOT NULL, key BLOB NOT NULL, timestamp INTEGER NOT NULL,"
            " value BLOB, PRIMARY KEY (tablet, key, timestamp)) WITHOUT ROWID"
        )
        database.execute("INSERT INTO sorted_rows VALUES (1, x'01', 5, x'02')")
        database.execute(f"PRAGMA user_version = {version}")
    database.close()


def test_rows_of_the_first_version_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "cluster"
    make_file(file, 1)
    for _ in range(2):
        storage = Storage(file)
        (version,) = storage.versions(1, b"\x01", 10)
        storage.close()
        assert version == SortedVersion(5, b"\x02", None)
        assert version.has_written(3)


def test_a_file_of_a_newer_program_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "cluster"
    make_file(file, 99)
    with pytest.raises(StorageError, match="99"):
        Storage(file)


@pytest.mark.parametrize("columns", [0, 1, 0b1010, 1 << 200])
def test_written_columns_come_back(columns: int) -> None:
    version = SortedVersion(1, b"", SortedVersion.pack_columns(columns))
    assert [position for position in range(256) if version.has_written(position)] == [
        position for position in range(256) if columns >> position & 1
    ]


def test_many_keys_are_found_as_each_of_them_is(tmp_path: Path) -> None:
    storage = Storage(tmp_path / "cluster")
    keys = [b"%d" % number for number in range(1000)]
    for timestamp, step in ((10, 2), (20, 3)):
        storage.put_versions(7, timestamp, [(key, key * timestamp, None) for key in keys[::step]])
    storage.put_versions(7, 15, [(key, None, None) for key in keys[::5]])

    for timestamp in (5, 10, 15, 20):
        found = storage.find_values(7, [*keys, keys[0]], timestamp)
        alone = {key: storage.find_version(7, key, timestamp) for key in keys}
        assert found == {key: version and version.value for key, version in alone.items()}
    storage.close()


def test_what_is_hidden_of_old_rows_is_kept(tmp_path: Path) -> None:
    storage = Storage(tmp_path / "cluster")
    with storage.transaction():
        storage.append_rows(1, [(0, 5, 0, b"a"), (1, 6, 20, b"b")])
        storage.hide_timestamps(1)
        storage.hide_weights(1)
        storage.append_rows(1, [(2, 7, 30, b"c")])
        storage.hide_timestamps(1)
        storage.move_ordered_rows(1, 2, 10, 100)
    moved = [OrderedRow(10, 5, 100, b"a"), OrderedRow(11, 6, 120, b"b"), OrderedRow(12, 7, 130, b"c")]
    assert list(storage.ordered_rows(2, 0, 100)) == moved
    seen = [(shown(row.timestamp), shown(row.cumulative_data_weight)) for row in storage.marked_rows(2, 0, 100)]
    assert seen == [(None, None), (None, None), (None, 130)]
    assert storage.timestamps_of(2, 0, 100) == (5, 7)
    storage.close()
