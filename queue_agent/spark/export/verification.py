"""Proves that an export is whole: what the manifests claim is compared with itself, with files, and with the queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from queue_agent.spark.export import layout
from queue_agent.spark.export.archive import Archive
from queue_agent.spark.export.completeness import Completion
from queue_agent.spark.export.contents import check_contents
from queue_agent.spark.export.documents import ExportFile, Identity, Manifest, Range
from queue_agent.spark.export.errors import TargetDamaged
from queue_agent.spark.export.file_sets import Listing, find_changed
from queue_agent.spark.export.findings import Findings
from queue_agent.spark.export.identity import find_other_tablets
from queue_agent.spark.export.incremental import (
    Verified,
    after,
    check_replaced,
    files_left,
    list_files_since,
    replaced_before,
    rows_by_label,
    rows_replaced,
    tiles_of,
)
from queue_agent.spark.export.state import ExportState, live_files
from queue_agent.spark.export.storage import StoredFile


@dataclass(slots=True)
class Verdict(Findings):
    """Of an export to files."""

    files: int = 0
    bytes: int = 0
    manifests: int = 0
    closed_periods: int = 0
    verified: Verified | None = None
    """What the next verification may begin with; None if there are faults, or if the earlier one read more."""

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
    since: Verified | None = None,
) -> Verdict:
    """Look at everything an export has, or at what came since an earlier verification.

    Args:
        archive: the export.
        export: its name, for the verdict.
        consumed: next rows of its consumer by partition; None: not known.
        tablet_ids: of the queue as it is now, by index; None: not known.
        deep: read all data too: checksums, and the row indexes in files. Else footers of files are read.
        since: what an earlier verification kept; memory and time are those of later manifests and their files.

    Returns:
        With what the next verification may begin with, if all is whole. Sizes are those of what was looked at.

    Raises:
        TargetDamaged: a document cannot be read; or there is no export.
    """
    if (identity := archive.find_identity()) is None:
        raise TargetDamaged(f"there is no export at {export}")
    if since is None or not since.covers(identity.export_id, deep=deep):
        since = Verified(identity.export_id)
    # An exporter may be at work: what is derived from manifests is read before them, so they say all that it knows of.
    state = archive.find_state()
    completions = list(archive.completions())
    numbers = archive.manifest_numbers()
    manifests = list(archive.manifests(after=since.last_number))
    live = live_files(manifests)
    earlier = replaced_before(since, manifests)
    verdict = _sized(Verdict(export, manifests=len(manifests), closed_periods=len(completions)), live.values())
    verdict.faults += find_missing_numbers([*numbers, since.last_number], numbers)
    _check_manifests(verdict, manifests, identity, since)
    verdict.faults += check_replaced(since, earlier)
    verdict.faults += check_live(live.values(), manifests, rows_replaced(earlier), filtered=identity.filtered)
    listing = list_files_since(archive.storage, since, manifests, live, verdict.ranges)
    changed = find_changed(files_left(since, earlier), listing.earlier)
    if changed:
        verdict = verify(archive, export, consumed=consumed, tablet_ids=tablet_ids, deep=deep)
        verdict.notes[:0] = [
            f"{label}: other files than at {since.verified_at}, so all was checked" for label in changed
        ]
        return verdict
    verdict.faults += check_stored(live, listing.stored)
    if since.last_number < 0:
        verdict.notes += find_strangers(live, manifests, listing.stored)
    verdict.faults += check_contents(archive.storage, live.values(), deep=deep)
    verdict.faults += check_completions(completions, manifests, state, since)
    verdict.faults += check_progress(state, verdict.ranges) + check_consumer(consumed or {}, verdict.ranges)
    verdict.faults += check_tablets(manifests, tablet_ids, since.tablet_ids)
    verdict.checked = _checked(verdict, since, listing, consumed is not None, tablet_ids is not None, deep=deep)
    if verdict.is_whole and (deep or not since.deep or since.last_number < 0):
        verdict.verified = after(since, manifests, live, verdict.ranges, listing.others, deep=deep)
    return verdict


def _sized(verdict: Verdict, files: Collection[ExportFile]) -> Verdict:
    verdict.files = len(files)
    verdict.rows = sum(file.row_count for file in files)
    verdict.bytes = sum(file.byte_count for file in files)
    return verdict


def _check_manifests(verdict: Verdict, manifests: Sequence[Manifest], identity: Identity, since: Verified) -> None:
    """What manifests claim, compared with themselves and with one another; into the verdict."""
    verdict.faults += [
        f"manifest {manifest.number} belongs to another export, {manifest.export_id}"
        for manifest in manifests
        if manifest.export_id != identity.export_id
    ]
    verdict.ranges, faults, notes = check_tiling(manifests, identity.continues, tiles_of(since))
    verdict.faults += faults
    verdict.notes += notes
    for manifest in manifests:
        verdict.faults += check_counts(manifest, filtered=identity.filtered)


def check_tablets(
    manifests: Iterable[Manifest], tablet_ids: Sequence[str] | None, before: Mapping[int, str]
) -> list[str]:
    """Whether all rows of a partition are of one tablet, that of earlier manifests and of the queue now."""
    exported = dict(before)
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


def _checked(
    verdict: Verdict,
    since: Verified,
    listing: Listing,
    is_consumer_known: bool,
    is_queue_known: bool,
    *,
    deep: bool,
) -> str:
    """What was looked at, in a sentence that claims nothing else."""
    parts = ["manifests follow one another without a gap"]
    if not verdict.files:
        parts.append("there is no file to check")
    elif deep:
        parts.append(f"all {verdict.files} files have the content that was written, and each row index once")
    else:
        parts.append(f"all {verdict.files} files are there with the rows and bytes that were written, by their footers")
    if is_consumer_known:
        parts.append("the consumer is not ahead of them")
    if is_queue_known:
        parts.append("the queue has the tablets that were exported")
    missing = [] if deep else ["the content of files (--deep)"]
    if since.last_number >= 0:
        how = "with all data" if since.deep else "by footers"
        earlier_files = sum(files.count for files in listing.earlier.values())
        parts.append(f"all {earlier_files} earlier files that count are still there")
        missing.append(
            f"the content of {since.row_count} rows up to manifest {since.last_number}, which were whole at "
            f"{since.verified_at}, {how}"
        )
    missing += [] if is_queue_known else ["the queue"]
    text = "; ".join(parts)
    return f"{text}. Not checked: {', '.join(missing)}" if missing else text


def find_missing_numbers(known: Sequence[int], numbers: Sequence[int]) -> list[str]:
    """Manifests that are not there although later ones are, or were."""
    missing = sorted(set(range(max(known, default=-1) + 1)) - set(numbers))
    return [f"manifest {number} is missing" for number in missing]


def check_tiling(
    manifests: Iterable[Manifest], continues: Mapping[int, int], before: Mapping[int, Range]
) -> tuple[dict[int, tuple[int, int]], list[str], list[str]]:
    """Whether the ranges of new rows follow one another, and those before, without a gap and without an overlap.

    Returns:
        By partition the first row and one past the last; faults; notes.
    """
    tiles: dict[int, list[tuple[Range, int]]] = {index: [(rows, -1)] for index, rows in before.items()}
    notes = []
    for manifest in manifests:
        if manifest.plan.kind != "export":
            continue
        for rows in [*manifest.plan.ranges, *manifest.plan.gaps]:
            tiles.setdefault(rows.partition_index, []).append((rows, manifest.number))
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
        for rows, number in own:
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


def check_live(
    files: Iterable[ExportFile], manifests: Iterable[Manifest], replaced: Mapping[int, int], *, filtered: bool
) -> list[str]:
    """Whether the files that count, after replacements, have every row once.

    Args:
        files: of these manifests.
        manifests: all, or those that are looked at.
        replaced: by partition, rows of files of earlier manifests that these replace.
        filtered: whether files may hold fewer rows than were read.
    """
    wanted = Counter(replaced)
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
    completions: Sequence[Completion], manifests: Sequence[Manifest], state: ExportState | None, since: Verified
) -> list[str]:
    """Whether what is said of complete periods is so, and said of all of them.

    Args:
        completions: what is said; read after the state.
        manifests: that came after an earlier verification; read after both.
        state: how far the exporter has drawn its conclusions; None if that is not known.
        since: the earlier verification.
    """
    settled = -1 if state is None else state.last_number
    counts: dict[int, Counter[str]] = {}

    def counted(last_number: int) -> Counter[str]:
        """Rows by directory once manifests up to this one were there."""
        if last_number not in counts:
            known = [one for one in manifests if one.number <= last_number]
            files = live_files(known).values()
            counts[last_number] = rows_by_label(since, files, replaced_before(since, known))
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


def _words(rows: Range) -> str:
    return f"rows {rows.begin} to {rows.end - 1} of partition {rows.partition_index}"
