"""Look at the tablets of a queue: which chunks they have, and what of them an export has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from queue_agent.core.exports.planning import QueueChunk
from queue_agent.core.exports.progress import StoredProgress, TabletProgress, keep_tablets
from queue_agent.core.exports.source import ChunkFacts, ExportedQueue, TabletChunks
from queue_agent.core.exports.tablets import survey_tablet
from queue_agent.errors import ClusterError
from queue_agent.ports.exports import ExportView

_LOOKS = 3


@dataclass(frozen=True, slots=True)
class Survey:
    """What the chunks of a queue tell of an export."""

    progress: StoredProgress
    """Of the tablets that the queue has, and of no others."""

    chunks: Mapping[int, Sequence[QueueChunk]]
    """Those that are not exported, by tablet index."""

    recounted: Sequence[int]
    """Partitions of which rows may be exported twice."""

    mismatches: Mapping[int, str]
    """Of chunks and progress by tablet index, in words."""


async def survey_queue(
    view: ExportView, queue: ExportedQueue, stored: StoredProgress, tablet_ids: Sequence[str]
) -> Survey:
    """Look at all tablets of a queue.

    Args:
        view: by which to look.
        queue: as the view has it.
        stored: progress as it is written down.
        tablet_ids: of the queue by index, asked before it was locked.

    Raises:
        ClusterError: tablets or chunks change while they are looked at, or cannot be read.
    """
    tablets, ends = await _look_at_chunks(view, queue.chunk_list_id)
    # Tablets are those of before and after: so they were when the chunks were listed, or locked.
    if await view.list_tablet_ids(f"#{queue.object_id}") != tablet_ids or len(tablets) != len(tablet_ids):
        raise ClusterError(f"Tablets of queue {queue.object_id} have just changed")
    known, left, exported = stored.by_tablet(), stored.left_of(tablet_ids), stored.last_chunks
    chunk_ids = [_ids_from_last(tablet, known.get(one)) for one, tablet in zip(tablet_ids, tablets, strict=True)]
    facts = await view.describe_chunks([chunk_id for ids in chunk_ids for chunk_id in ids])
    found = [
        survey_tablet(tablet_id, known.get(tablet_id), left.get(index), _place(index, ids, end, facts), end, exported)
        for index, (tablet_id, ids, end) in enumerate(zip(tablet_ids, chunk_ids, ends, strict=True))
    ]
    return Survey(
        keep_tablets(stored, [one.progress for one in found]),
        {index: one.chunks for index, one in enumerate(found)},
        [index for index, one in enumerate(found) if one.is_recounted],
        {index: one.mismatch for index, one in enumerate(found) if one.mismatch is not None},
    )


def _ids_from_last(tablet: TabletChunks, known: TabletProgress | None) -> Sequence[str]:
    """The chunks that have to be looked at: of a tablet that is known those from the last exported one on."""
    if known is None or known.last_chunk not in tablet.chunk_ids:
        return tablet.chunk_ids
    return tablet.chunk_ids[tablet.chunk_ids.index(known.last_chunk) :]


async def _look_at_chunks(view: ExportView, chunk_list_id: str) -> tuple[Sequence[TabletChunks], Sequence[int]]:
    """The chunks of each tablet, and the index after its last flushed row, as they were together.

    By a snapshot they stay as they are; else chunks may come and go between two questions.
    """
    tablets = await view.list_chunks(chunk_list_id)
    for _ in range(_LOOKS):
        ends = await view.get_flushed_row_counts([tablet.chunk_list_id for tablet in tablets])
        before, tablets = tablets, await view.list_chunks(chunk_list_id)
        if tablets == before:
            return tablets, ends
    raise ClusterError(f"Chunks in {chunk_list_id} change too fast to be read")


def _place(index: int, chunk_ids: Sequence[str], end: int, facts: Mapping[str, ChunkFacts]) -> Sequence[QueueChunk]:
    """The last chunks of a tablet, whose rows end at an index."""
    row_index = end - sum(facts[one].row_count for one in chunk_ids)
    chunks: list[QueueChunk] = []
    for chunk_id in chunk_ids:
        one = facts[chunk_id]
        chunks.append(QueueChunk(chunk_id, index, row_index, one.row_count, one.max_timestamp, one.data_weight))
        row_index += one.row_count
    return chunks
