"""Compares data files with what manifests say of them."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from queue_agent.spark.export.documents import ExportFile
from queue_agent.spark.export.parquet_writer import checksum_of
from queue_agent.spark.export.storage import Storage
from queue_agent.spark.types import ROW_INDEX, TABLET_INDEX

_THREADS: Final = 8


def check_contents(storage: Storage, files: Iterable[ExportFile], *, deep: bool) -> list[str]:
    """Whether files have the rows that they should, by their footers; by all their data if that is wanted."""
    with ThreadPoolExecutor(_THREADS) as executor:
        found = executor.map(lambda file: _check_content(storage, file, deep=deep), files)
        return [fault for faults in found for fault in faults]


def _check_content(storage: Storage, file: ExportFile, *, deep: bool) -> list[str]:
    faults: list[str] = []
    try:
        with storage.open(file.path) as opened:
            if deep:
                faults += _check_checksum(opened, file)
            parquet = pq.ParquetFile(opened)
            count = parquet.metadata.num_rows
            if count != file.row_count:
                faults.append(f"{file.path} has {count} rows by its footer, {file.row_count} by its manifest")
            if deep:
                faults += _check_rows(parquet, file)
    except FileNotFoundError:
        pass  # said already
    except (pa.ArrowInvalid, OSError) as error:
        faults.append(f"{file.path} cannot be read: {error}")
    return faults


def _check_checksum(opened: pa.NativeFile, file: ExportFile) -> list[str]:
    checksum = checksum_of(opened)
    opened.seek(0)
    return [] if checksum == file.checksum else [f"{file.path} has another content than was written"]


def _check_rows(parquet: pq.ParquetFile, file: ExportFile) -> list[str]:
    table = parquet.read(columns=[TABLET_INDEX, ROW_INDEX])
    partitions = set(table.column(TABLET_INDEX).unique().to_pylist())
    numbers = table.column(ROW_INDEX).to_pylist()
    faults = []
    if partitions - {file.rows.partition_index}:
        faults.append(f"{file.path} has rows of partitions {sorted(partitions)}")
    if len(set(numbers)) != len(numbers):
        faults.append(f"{file.path} has a row more than once")
    if numbers and (min(numbers) < file.rows.begin or max(numbers) >= file.rows.end):
        faults.append(f"{file.path} has rows beyond its range")
    return faults
