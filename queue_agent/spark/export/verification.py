"""Proves that an export is whole: what the manifests claim is compared with itself, with files, and with the queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from queue_agent.spark.export import layout
from queue_agent.spark.export.archive import Archive
from queue_agent.spark.export.completeness import Completion
from queue_agent.spark.export.documents import ExportFile, Identity, Manifest, Range
from queue_agent.spark.export.errors import TargetDamaged
from queue_agent.spark.export.findings import Findings
from queue_agent.spark.export.identity import find_other_tablets
from queue_agent.spark.export.parquet_writer import checksum_of
from queue_agent.spark.export.state import ExportState, live_files
from queue_agent.spark.export.storage import Storage, StoredFile
from queue_agent.spark.types import ROW_INDEX, TABLET_INDEX

_THREADS: Final = 8


@dataclass(slots=True)
class Verdict(Findings):
    """Of an export to files."""

    files: int = 0
    bytes: int = 0
    manifests: int = 0
    closed_periods: int = 0

    @property
    def sizes(self) -> dict[str, int]:
        return {
            "rows": self.rows,
            "files": self.files,
            "bytes": self.bytes,
            "manifests": self.manifests,
            "closed_periods": self.closed_periods,
        }


def verify(
    archive: Archive,
    export: str,
    *,
    consumed: Mapping[int, int] | None = None,
    tablet_ids: Sequence[str] | None = None,
    deep: bool = False,
) -> Verdict:
    """Look at everything an export has.

    Args:
        archive: the export.
        export: its name, for the verdict.
        consumed: next rows of its consumer by partition; None: not known.
        tablet_ids: of the queue as it is now, by index; None: not known.
        deep: read all data too: checksums, and the row indexes in files. Else footers of files are read.

    Raises:
        TargetDamaged: a document can not be read; or there is no export.
    """
    identity = archive.find_identity()
    if identity is None:
        raise TargetDamaged(f"there is no export at {export}")
    # An exporter may be at work: what is derived from manifests is read before them, so they say all that it knows of.
    state = archive.find_state()
    completions = list(archive.completions())
    numbers = archive.manifest_numbers()
    manifests = list(archive.manifests())
    live = live_files(manifests)
    stored = archive.storage.files("", recursive=True)
    verdict = Verdict(export, files=len(live), manifests=len(manifests))
    verdict.rows = sum(file.row_count for file in live.values())
    verdict.bytes = sum(file.byte_count for file in live.values())
    verdict.faults += find_missing_numbers(numbers)
    verdict.faults += [
        f"manifest {manifest.number} belongs to another export, {manifest.export_id}"
        for manifest in manifests
        if manifest.export_id != identity.export_id
    ]
    verdict.ranges, faults, notes = check_tiling(manifests, identity.continues)
    verdict.faults += faults
    verdict.notes += notes
    for manifest in manifests:
        verdict.faults += check_counts(manifest, filtered=identity.filtered)
    verdict.faults += check_live(live.values(), manifests, filtered=identity.filtered)
    verdict.faults += check_stored(live, stored)
    verdict.notes += find_strangers(live, manifests, stored)
    verdict.faults += _check_contents(archive.storage, live.values(), identity, deep=deep)
    verdict.closed_periods = len(completions)
    verdict.faults += check_completions(completions, manifests, state)
    verdict.faults += check_progress(state, verdict.ranges)
    verdict.faults += check_consumer(consumed or {}, verdict.ranges)
    verdict.faults += check_tablets(manifests, tablet_ids)
    verdict.checked = _checked(verdict, consumed is not None, tablet_ids is not None, deep=deep)
    return verdict


def check_tablets(manifests: Iterable[Manifest], tablet_ids: Sequence[str] | None) -> list[str]:
    """Whether all rows of a partition are of one tablet, the one that the queue has now."""
    exported: dict[int, str] = {}
    faults = []
    for manifest in manifests:
        for index, tablet_id in sorted(manifest.plan.tablet_ids.items()):
            if exported.setdefault(index, tablet_id) != tablet_id:
                faults.append(f"manifest {manifest.number} has rows of another tablet {index} than those before")
    if tablet_ids is None:
        return faults
    return faults + [
        f"partition {index} of the queue is another tablet now: the queue was resharded, and rows may be in no export"
        for index in find_other_tablets(exported, tablet_ids)
    ]


def _checked(verdict: Verdict, is_consumer_known: bool, is_queue_known: bool, *, deep: bool) -> str:
    """What was looked at, in a sentence that claims nothing else."""
    files = f"all {verdict.files} files are there with the rows and bytes that were written, by their footers"
    if deep:
        files = f"all {verdict.files} files have the content that was written, and each row index once"
    parts = ["manifests follow one another without a gap", files]
    if is_consumer_known:
        parts.append("the consumer is not ahead of them")
    if is_queue_known:
        parts.append("the queue has the tablets that were exported")
    missing = [] if deep else ["the content of files (--deep)"]
    missing += [] if is_queue_known else ["the queue"]
    text = "; ".join(parts)
    return f"{text}. Not checked: {', '.join(missing)}" if missing else text


def find_missing_numbers(numbers: Sequence[int]) -> list[str]:
    """Manifests that are not there although later ones are."""
    missing = sorted(set(range(max(numbers, default=-1) + 1)) - set(numbers))
    return [f"manifest {number} is missing" for number in missing]


def check_tiling(
    manifests: Iterable[Manifest], continues: Mapping[int, int]
) -> tuple[dict[int, tuple[int, int]], list[str], list[str]]:
    """Whether the ranges of new rows follow one another without a gap and without an overlap.

    Returns:
        By partition the first row and one past the last; faults; notes.
    """
    tiles: dict[int, list[tuple[Range, int, bool]]] = {}
    notes = []
    for manifest in manifests:
        if manifest.plan.kind != "export":
            continue
        for is_gap, ranges in ((False, manifest.plan.ranges), (True, manifest.plan.gaps)):
            for rows in ranges:
                tiles.setdefault(rows.partition_index, []).append((rows, manifest.number, is_gap))
        where = f"(manifest {manifest.number})"
        notes += [f"{_words(gap)} had been trimmed before they were exported {where}" for gap in manifest.plan.gaps]
        notes += [f"partition {index} was new {where}" for index in manifest.plan.new_partitions]
    faults = []
    bounds = {}
    for index, own in sorted(tiles.items()):
        own.sort(key=lambda tile: (tile[0].begin, tile[0].end))
        begin = own[0][0].begin
        if index in continues and begin != continues[index]:
            faults.append(f"partition {index} begins at row {begin}, the version before ends at {continues[index]}")
        end = begin
        for rows, number, _ in own:
            if rows.begin > end:
                faults.append(f"{_words(Range(index, end, rows.begin))} are in no manifest")
            elif rows.begin < end:
                overlap = Range(index, rows.begin, min(end, rows.end))
                faults.append(f"{_words(overlap)} are in more than one manifest, the last being {number}")
            end = max(end, rows.end)
        bounds[index] = (begin, end)
    return bounds, faults, notes


def check_counts(manifest: Manifest, *, filtered: bool) -> list[str]:
    """Whether the files of a manifest have as many rows as its ranges, and none beyond."""
    faults = []
    wanted: Counter[int] = Counter()
    written: Counter[int] = Counter()
    for rows in manifest.plan.ranges:
        wanted[rows.partition_index] += rows.row_count
    for file in manifest.files:
        written[file.rows.partition_index] += file.row_count
        if file.row_count > file.rows.row_count:
            faults.append(f"{file.path} has {file.row_count} rows, more than its range")
        if not any(
            rows.partition_index == file.rows.partition_index
            and rows.begin <= file.rows.begin
            and file.rows.end <= rows.end
            for rows in manifest.plan.ranges
        ):
            faults.append(f"{file.path} has rows that manifest {manifest.number} does not claim")
    return faults + [
        f"manifest {manifest.number} claims {wanted[index]} rows of partition {index}, its files have {written[index]}"
        for index in sorted({*wanted, *written})
        if written[index] > wanted[index] or (written[index] != wanted[index] and not filtered)
    ]


def check_live(files: Iterable[ExportFile], manifests: Iterable[Manifest], *, filtered: bool) -> list[str]:
    """Whether the files that count, after replacements, have every row once."""
    wanted: Counter[int] = Counter()
    for manifest in manifests:
        if manifest.plan.kind == "export":
            for rows in manifest.plan.ranges:
                wanted[rows.partition_index] += rows.row_count
    have: Counter[int] = Counter()
    dense: dict[int, list[ExportFile]] = {}
    for file in files:
        have[file.rows.partition_index] += file.row_count
        if file.row_count == file.rows.row_count:
            dense.setdefault(file.rows.partition_index, []).append(file)
    faults = [
        f"{wanted[index]} rows of partition {index} were exported, the files have {have[index]}"
        for index in sorted({*wanted, *have})
        if have[index] > wanted[index] or (have[index] != wanted[index] and not filtered)
    ]
    for own in dense.values():
        own.sort(key=lambda file: file.rows)
        faults += [
            f"{before.path} and {file.path} have rows in common"
            for before, file in pairwise(own)
            if file.rows.begin < before.rows.end
        ]
    return faults


def check_stored(live: Mapping[str, ExportFile], stored: Iterable[StoredFile]) -> list[str]:
    """Whether all files are there, as large as they were."""
    sizes = {file.path: file.byte_count for file in stored}
    faults = []
    for path, file in sorted(live.items()):
        if path not in sizes:
            faults.append(f"{path} is missing: {_words(file.rows)} are lost")
        elif sizes[path] != file.byte_count:
            faults.append(f"{path} has {sizes[path]} bytes, {file.byte_count} were written")
    return faults


def find_strangers(
    live: Mapping[str, ExportFile], manifests: Iterable[Manifest], stored: Iterable[StoredFile]
) -> list[str]:
    """Files that are not, or no longer, part of the export; readers that only look at names would read them."""
    replaced = {file.path for manifest in manifests for file in manifest.plan.replaces}
    notes = []
    for file in stored:
        if file.path in live or layout.is_document(file.path) or layout.is_temporary(file.path.rpartition("/")[2]):
            continue
        if file.path in replaced:
            notes.append(f"{file.path} has been replaced and waits to be removed")
        else:
            notes.append(f"{file.path} is in no manifest")
    return notes


def check_completions(
    completions: Sequence[Completion], manifests: Sequence[Manifest], state: ExportState | None
) -> list[str]:
    """Whether what is said of complete periods is so, and said of all of them.

    Args:
        completions: what is said; read after the state.
        manifests: all of them; read after both.
        state: how far the exporter has drawn its conclusions; None if that is not known.
    """
    settled = -1 if state is None else state.last_number
    counts: dict[int, Counter[str]] = {}

    def counted(last_number: int) -> Counter[str]:
        """Rows by directory once manifests up to this one were there."""
        if last_number not in counts:
            counts[last_number] = Counter()
            for file in live_files(one for one in manifests if one.number <= last_number).values():
                counts[last_number][file.label] += file.row_count
        return counts[last_number]

    faults = []
    for completion in completions:
        have = counted(max(settled, completion.last_number))[completion.label]
        if completion.tally.row_count != have:
            faults.append(
                f"{completion.label} is said to be complete with {completion.tally.row_count} rows and has {have}"
            )
    said = {completion.label for completion in completions}
    return faults + [
        f"{label} is complete by the progress, and its document is missing"
        for label in sorted(counted(settled))
        if state is not None and state.is_closed(label) and label not in said
    ]


def check_progress(state: ExportState | None, ranges: Mapping[int, tuple[int, int]]) -> list[str]:
    """Whether what is kept of the progress is not ahead of the manifests."""
    if state is None:
        return []
    return [
        f"the progress says that partition {index} is exported up to row {row}, the manifests say "
        f"{ranges[index][1] if index in ranges else 'nothing'}"
        for index, row in sorted(state.next_row_indexes.items())
        if index not in ranges or row > ranges[index][1]
    ]


def check_consumer(consumed: Mapping[int, int], ranges: Mapping[int, tuple[int, int]]) -> list[str]:
    """Whether the consumer lets no rows go that are not exported."""
    return [
        f"the consumer is at row {row} of partition {index}, but only rows below {ranges[index][1]} are exported"
        for index, row in sorted(consumed.items())
        if index in ranges and row > ranges[index][1]
    ]


def _check_contents(storage: Storage, files: Iterable[ExportFile], identity: Identity, *, deep: bool) -> list[str]:
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
        faults.append(f"{file.path} can not be read: {error}")
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


def _words(rows: Range) -> str:
    return f"rows {rows.begin} to {rows.end - 1} of partition {rows.partition_index}"
