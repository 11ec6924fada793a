"""The files of one task."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from queue_agent.spark.errors import ColumnError
from queue_agent.spark.export.documents import ExportFile
from queue_agent.spark.export.parquet_writer import FileSettings, ParquetTask, check_columns
from queue_agent.spark.export.storage import storage_of
from queue_agent.spark.types import ROW_INDEX, TABLET_INDEX

SEVEN = int(datetime(2026, 1, 31, 7, tzinfo=UTC).timestamp())
HOUR = 3600


def batch(partition: int, first: int, seconds: Sequence[int | None], **more: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            TABLET_INDEX: pa.array([partition] * len(seconds), pa.int64()),
            ROW_INDEX: pa.array(range(first, first + len(seconds)), pa.int64()),
            "$timestamp": pa.array([None if one is None else one << 30 for one in seconds], pa.int64()),
            **more,
        }
    )


def write(directory: Path, settings: FileSettings, *batches: pa.RecordBatch) -> list[ExportFile]:
    with ParquetTask(storage_of(str(directory)), settings, "test") as task:
        for one in batches:
            task.write(one)
        return task.finish()


def test_a_range_is_cut_where_the_hour_ends(tmp_path: Path) -> None:
    first = batch(3, 100, [SEVEN, SEVEN + 1, SEVEN + HOUR])
    second = batch(3, 103, [SEVEN + HOUR, SEVEN + 2 * HOUR])
    files = write(tmp_path, FileSettings(), first, second)
    assert [(file.label, file.rows.begin, file.rows.end, file.row_count) for file in files] == [
        ("dt=2026-01-31/hour=07", 100, 102, 2),
        ("dt=2026-01-31/hour=08", 102, 104, 2),
        ("dt=2026-01-31/hour=09", 104, 105, 1),
    ]
    assert files[0].path.endswith("00003-00000000000000000100-00000000000000000102.parquet")
    read = pq.ParquetFile(tmp_path / files[1].path)
    assert read.read().column(ROW_INDEX).to_pylist() == [102, 103]
    assert read.metadata.row_group(0).column(0).compression == "ZSTD"


def test_times_may_be_decimals_as_all_large_numbers_may(tmp_path: Path) -> None:
    rows = batch(0, 0, [SEVEN, SEVEN + HOUR])
    stamps = rows.column("$timestamp").cast(pa.decimal128(20, 0))
    rows = rows.set_column(rows.schema.get_field_index("$timestamp"), "$timestamp", stamps)
    files = write(tmp_path, FileSettings(), rows)
    assert [file.label for file in files] == ["dt=2026-01-31/hour=07", "dt=2026-01-31/hour=08"]
    assert files[0].min_timestamp == SEVEN << 30


def test_a_file_has_the_same_bytes_however_its_rows_arrive(tmp_path: Path) -> None:
    rows = batch(0, 0, [SEVEN] * 150_000, text=[f"row {number}" for number in range(150_000)])
    [at_once] = write(tmp_path, FileSettings(), rows)
    for part in (140_000, 7_777):
        parts = [rows.slice(begin, part) for begin in range(0, 150_000, part)]
        assert write(tmp_path, FileSettings(), *parts) == [at_once]
    groups = pq.ParquetFile(tmp_path / at_once.path).metadata
    assert [groups.row_group(number).num_rows for number in range(groups.num_row_groups)] == [131_072, 18_928]


def test_columns_are_encoded_by_what_they_hold(tmp_path: Path) -> None:
    nested = pa.array([{"kind": "click", "tags": ["a", "b"]}] * 1000)
    [file] = write(tmp_path, FileSettings(), batch(0, 0, [SEVEN] * 1000, nested=nested))
    group = pq.ParquetFile(tmp_path / file.path).metadata.row_group(0)
    columns = {group.column(index).path_in_schema: group.column(index) for index in range(group.num_columns)}
    for name in (ROW_INDEX, "$timestamp"):
        assert "DELTA_BINARY_PACKED" in columns[name].encodings
    for name in (TABLET_INDEX, "nested.kind", "nested.tags.list.element"):
        assert columns[name].has_dictionary_page
    assert columns[ROW_INDEX].total_uncompressed_size < 1000


def test_rows_whose_times_jump_keep_few_files_open_and_lose_nothing(tmp_path: Path) -> None:
    seconds = [SEVEN + HOUR * (number % 50) for number in range(200)]
    files = write(
        tmp_path, FileSettings(), *(batch(0, begin, seconds[begin : begin + 20]) for begin in range(0, 200, 20))
    )
    rows = [row for file in files for row in pq.ParquetFile(tmp_path / file.path).read().column(ROW_INDEX).to_pylist()]
    assert sorted(rows) == list(range(200))
    assert len({file.path for file in files}) == len(files)
    assert sum(file.row_count for file in files) == 200


def test_times_are_of_any_column(tmp_path: Path) -> None:
    at = pa.array(
        [datetime(2025, 12, 24, 23, 59, tzinfo=UTC), datetime(2025, 12, 25, tzinfo=UTC)], pa.timestamp("us", "UTC")
    )
    files = write(tmp_path, FileSettings("day", "at"), batch(0, 0, [SEVEN, SEVEN], at=at))
    assert [file.label for file in files] == ["dt=2025-12-24", "dt=2025-12-25"]
    whole = write(tmp_path, FileSettings("none", compression="snappy"), batch(0, 0, [SEVEN, SEVEN + HOUR]))
    assert [(file.label, file.row_count) for file in whole] == [("", 2)]


@pytest.mark.parametrize(
    ("batches", "words"),
    [
        ([batch(0, 5, [SEVEN]), batch(0, 4, [SEVEN])], "not in the order"),
        ([batch(0, 5, [SEVEN]), batch(0, 5, [SEVEN])], "not in the order"),
        ([batch(0, 5, [SEVEN, SEVEN]).take([1, 0])], "not in the order"),
        ([batch(0, 5, [SEVEN, None])], "is null"),
        ([batch(0, 5, [SEVEN], at=["text"])], "no time"),
    ],
)
def test_rows_that_can_not_be_placed_are_refused_and_leave_no_file(
    tmp_path: Path, batches: list[pa.RecordBatch], words: str
) -> None:
    settings = FileSettings(time_column="at") if "at" in batches[0].schema.names else FileSettings()
    with pytest.raises(ColumnError, match=words):
        write(tmp_path, settings, *batches)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_missing_columns_are_named() -> None:
    with pytest.raises(ColumnError, match="timestamp"):
        check_columns([TABLET_INDEX, ROW_INDEX], FileSettings())
    with pytest.raises(ColumnError, match=ROW_INDEX):
        check_columns([TABLET_INDEX], FileSettings("none"))
