"""Which chunks of a tablet are exported: by the progress of the tablet, if it is known which that is."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from queue_agent.core.exports.planning import QueueChunk
from queue_agent.core.exports.progress import NULL_ID, TabletProgress


@dataclass(frozen=True, slots=True)
class SurveyedTablet:
    """What a task finds out about one tablet."""

    progress: TabletProgress | None
    """None: what is written down is not known to be of this tablet."""

    chunks: Sequence[QueueChunk]
    """Those that are not exported."""

    is_recounted: bool
    """Rows that were exported may be among them."""

    mismatch: str | None
    """What is wrong if the last exported chunk does not end where the progress says; None: nothing."""


def identify_tablet(
    before: TabletProgress, tablet_id: str, chunks: Sequence[QueueChunk], end_row_index: int
) -> TabletProgress | None:
    """Progress as that of the tablet that has its index now.

    A reshard gives tablets new ids, and leaves the chunks of a tablet where they were: those of others come behind
    them. So a tablet goes on with the progress if it has the last exported chunk at the same rows, and before it no
    chunk that is too young to have been exported with it. It goes on as well if none of the rows that are exported is
    left: then nothing depends on whose they were.

    Args:
        before: what is written down for the index.
        tablet_id: of the tablet that has the index now.
        chunks: all that the tablet has.
        end_row_index: after its last flushed row.

    Returns:
        None if the progress is not known to be of this tablet. Without the id of the tablet if it does not fit the
        chunk: people have to decide then.
    """
    own = replace(before, tablet_id=tablet_id)
    last = _find_chunk(chunks, before.last_chunk)
    if last is None:
        first_row_index = chunks[0].row_index if chunks else end_row_index
        return own if first_row_index >= before.row_count else None
    if chunks[last].end_row_index != before.row_count:
        return before if before.tablet_id == NULL_ID else None
    is_of_old_rows = all(chunk.max_timestamp <= before.max_timestamp for chunk in chunks[:last])
    return own if is_of_old_rows else None


def survey_tablet(
    tablet_id: str,
    known: TabletProgress | None,
    left: TabletProgress | None,
    chunks: Sequence[QueueChunk],
    end_row_index: int,
    exported_chunks: Set[str],
) -> SurveyedTablet:
    """Say what of a tablet is to be exported.

    Args:
        tablet_id: of the tablet.
        known: progress that is known to be of it.
        left: what is written down for its index, and not known to be of any tablet.
        chunks: of the tablet: all of them, or, if its progress is known, those from the last exported one on.
        end_row_index: after its last flushed row.
        exported_chunks: ids of chunks that some tablet of the queue was exported up to.
    """
    progress = known
    if known is None and left is not None:
        progress = identify_tablet(left, tablet_id, chunks, end_row_index)
    last = None if progress is None else _find_chunk(chunks, progress.last_chunk)
    new = chunks if last is None else chunks[last + 1 :]
    claimed = progress or left
    is_below = last is None and claimed is not None and bool(chunks) and chunks[0].row_index < claimed.row_count
    is_recounted = is_below or any(chunk.id in exported_chunks for chunk in new)
    mismatch = None if progress is None or last is None else _find_mismatch(progress, chunks[last].end_row_index)
    return SurveyedTablet(progress, new, is_recounted, mismatch)


def _find_chunk(chunks: Sequence[QueueChunk], chunk_id: str) -> int | None:
    """Where a chunk is among others; None: nowhere, as that of rows that are trimmed."""
    return next((index for index, chunk in enumerate(chunks) if chunk.id == chunk_id), None)


def _find_mismatch(progress: TabletProgress, last_chunk_end: int) -> str | None:
    if last_chunk_end == progress.row_count:
        return None
    return (
        f"Mismatch between last chunk from tablet progress and row count from progress (LastChunk:"
        f" {progress.last_chunk}, EndRowIndex: {last_chunk_end}, RowCount: {progress.row_count})"
    )
