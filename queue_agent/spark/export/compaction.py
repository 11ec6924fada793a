"""Merges the files of complete periods into fewer, and removes files that are no longer part of an export."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from queue_agent.spark.export import layout
from queue_agent.spark.export.archive import Archive
from queue_agent.spark.export.compacted import Compacted, Files
from queue_agent.spark.export.documents import ExportFile, Identity, Manifest, Plan, Range, Replaced
from queue_agent.spark.export.errors import ExportError, TargetDamaged
from queue_agent.spark.export.layout import FileName
from queue_agent.spark.export.parquet_writer import checksum_of, measure, new_parquet
from queue_agent.spark.export.state import ExportState
from queue_agent.spark.export.storage import Storage

_THREADS: Final = 2
_BATCH_ROWS: Final = 1 << 17

Group = Sequence[ExportFile]
"""Files of one partition and period, in the order of their rows, that become one."""


@dataclass(frozen=True, slots=True)
class CompactionReport:
    """What was done."""

    merged_files: int
    new_files: int
    removed_files: int


def plan_groups(files: Iterable[ExportFile], is_closed: Callable[[str], bool], target_bytes: int) -> list[Group]:
    """Files that are worth merging: at least two neighbours of a complete period, together not too large.

    Files with rows that are not all of their range stay as they are.
    """
    groups: list[list[ExportFile]] = []
    for file in sorted(files, key=lambda file: (file.label, file.rows)):
        if not is_closed(file.label) or file.row_count != file.rows.row_count:
            continue
        last = groups[-1] if groups else None
        if (
            last is not None
            and last[-1].label == file.label
            and last[-1].rows.partition_index == file.rows.partition_index
            and last[-1].rows.end == file.rows.begin
            and sum(one.byte_count for one in last) + file.byte_count <= target_bytes
        ):
            last.append(file)
        else:
            groups.append([file])
    return [group for group in groups if len(group) > 1]


def merged_paths(plan: Plan) -> list[str]:
    """Files that a compaction is going to write."""
    labels = {}
    for file in plan.replaces:
        label, _, file_name = file.path.rpartition("/")
        parsed = layout.parse_file_name(file_name)
        if parsed is not None:
            labels[parsed.partition_index, parsed.begin] = label
    paths = []
    for rows in plan.ranges:
        label = labels[rows.partition_index, rows.begin]
        name = FileName(rows.partition_index, rows.begin, rows.end, plan.number)
        paths.append(f"{label}/{name}" if label else str(name))
    return paths


def abandon(archive: Archive, plan: Plan) -> None:
    """Undo a compaction that was begun and not finished: what it wrote is there twice."""
    for path in merged_paths(plan):
        archive.storage.remove(path)
    archive.remove_plan(plan.number)


class Compactor:
    """Compacts one export; whoever uses it must hold the exporter's lock.

    Args:
        archive: the export.
        clock: gives the present, with its time zone.
        check: raises if the lock is lost.
    """

    def __init__(self, archive: Archive, clock: Callable[[], datetime], check: Callable[[], None]) -> None:
        self._archive = archive
        self._clock = clock
        self._check = check

    def run(self, target_bytes: int, grace: timedelta) -> CompactionReport:
        """Merge what can be merged, then remove what has been replaced long enough ago.

        Raises:
            TargetDamaged: there is no export, or it cannot be read.
            ExportError: a batch was begun and not finished; the exporter has to do that first.
        """
        identity = self._archive.find_identity()
        if identity is None:
            raise TargetDamaged("there is no export in this directory")
        state = self._archive.find_state() or ExportState()
        while (published := self._archive.find_manifest(state.last_number + 1)) is not None:
            state = self._archive.settle(state, published)  # whoever published it died before doing so
        pending = self._archive.find_plan(state.last_number + 1)
        if pending is not None and pending.kind != "compact":
            raise ExportError("a batch was begun and not finished: run the export first")
        if pending is not None:
            abandon(self._archive, pending)
        kept = self._archive.find_compacted()
        if kept is None or (kept.export_id, kept.target_bytes) != (identity.export_id, target_bytes):
            kept = Compacted(identity.export_id, target_bytes)
        files = Files(kept)
        for manifest in self._archive.manifests(after=kept.last_number):
            files.follow(manifest)
        groups = plan_groups(files.live.values(), state.is_closed, target_bytes)
        for _, of_period in groupby(groups, key=lambda group: group[0].label):
            manifest = self._merge(state, identity, list(of_period))
            state = self._archive.settle(state, manifest)
            files.follow(manifest)
        removals = self._remove(files, kept, grace)
        self._archive.save_compacted(files.kept(identity.export_id, target_bytes, state))
        return CompactionReport(sum(map(len, groups)), len(groups), removals)

    def _remove(self, files: Files, kept: Compacted, grace: timedelta) -> int:
        """Files that are no longer needed; how many there were."""
        storage = self._archive.storage
        if kept.last_number < 0:
            stored = storage.files("", recursive=True)
            files.forget(set(files.replaced) - {file.path for file in stored})
        else:
            labels = {file.label for file in files.live.values()}
            stored = [file for label in sorted(labels) if kept.knows_all_of(label) for file in storage.files(label)]
        removals = files.removals(stored, self._clock(), grace)
        for path in removals:
            storage.remove(path)
        files.forget(removals)
        return len(removals)

    def _merge(self, state: ExportState, identity: Identity, groups: Sequence[Group]) -> Manifest:
        number = state.last_number + 1
        replaces = [Replaced(file.path, file.row_count) for group in groups for file in group]
        ranges = [Range(group[0].rows.partition_index, group[0].rows.begin, group[-1].rows.end) for group in groups]
        plan = Plan(number, "compact", ranges, replaces=replaces)
        self._archive.save_plan(plan)
        with ThreadPoolExecutor(_THREADS) as executor:
            files = list(
                executor.map(lambda group, path: merge(self._archive.storage, group, path), groups, merged_paths(plan))
            )
        last = self._archive.find_manifest(state.last_number)
        assert last is not None, "of which the files are"
        # Columns are only ever added.
        manifest = Manifest(plan, identity.export_id, files, last.schema_hash, 0, self._clock().isoformat())
        self._archive.see(files)
        self._check()
        self._archive.publish(manifest)
        return manifest


def merge(storage: Storage, group: Group, path: str) -> ExportFile:
    """Write the rows of some files into a new one, in their order; columns that a file lacks are null in its rows.

    Raises:
        TargetDamaged: a file is not what was written: the merged one would hide that, and the others go.
    """
    rows = Range(group[0].rows.partition_index, group[0].rows.begin, group[-1].rows.end)
    for file in group:
        _check_file(storage, file)
    schema, compression = _schema_of(storage, group)
    with storage.writing(path, "compact") as local:
        with new_parquet(local, schema, compression) as writer:
            for file in group:
                with storage.open(file.path) as opened:
                    # Threads of pyarrow that have only just begun may abort a process that ends.
                    for batch in pq.ParquetFile(opened).iter_batches(_BATCH_ROWS, use_threads=False):
                        writer.write_table(_with_columns(pa.Table.from_batches([batch]), schema))
        byte_count, checksum = measure(local)
        storage.upload(local, path)
    return ExportFile(
        path,
        rows,
        sum(file.row_count for file in group),
        byte_count,
        checksum,
        min((file.min_timestamp for file in group if file.min_timestamp is not None), default=None),
        max((file.max_timestamp for file in group if file.max_timestamp is not None), default=None),
    )


def _check_file(storage: Storage, file: ExportFile) -> None:
    try:
        with storage.open(file.path) as opened:
            found = checksum_of(opened)
    except FileNotFoundError as error:
        raise TargetDamaged(f"{file.path} is missing; nothing is merged with it") from error
    if found != file.checksum:
        raise TargetDamaged(
            f"{file.path} has another content than was written, and is not merged; if the queue still has its rows, "
            "--mode replace rewrites them"
        )


def _schema_of(storage: Storage, group: Group) -> tuple[pa.Schema, str]:
    schemas = []
    compression = "zstd"
    for file in group:
        with storage.open(file.path) as opened:
            parquet = pq.ParquetFile(opened)
            schemas.append(parquet.schema_arrow)
            if parquet.metadata.num_row_groups and parquet.metadata.num_columns:
                compression = str(parquet.metadata.row_group(0).column(0).compression).lower()
    return pa.unify_schemas(schemas), "none" if compression == "uncompressed" else compression


def _with_columns(table: pa.Table, schema: pa.Schema) -> pa.Table:
    columns: Mapping[str, pa.ChunkedArray] = {name: table.column(name) for name in table.column_names}
    return pa.table([columns.get(one.name, pa.nulls(table.num_rows, one.type)) for one in schema], schema=schema)
