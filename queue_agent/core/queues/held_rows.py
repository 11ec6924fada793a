"""Which share of a queue's rows somebody keeps from being trimmed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from queue_agent.core.queues.snapshots import QueuePartition, QueueSnapshot
from queue_agent.core.values.trim_constraints import ConstraintKind

_HOLDERS: Final = frozenset({ConstraintKind.VITAL_CONSUMER, ConstraintKind.NOTHING_READ, ConstraintKind.EXPORT})


def held_shares(snapshot: QueueSnapshot) -> Mapping[str, float]:
    """Rows that were not trimmed because of a vital consumer or an export, as a share of all rows, by who it is.

    Rows count that something else would keep, too: their number does not grow, and it is growth that matters.
    """
    view, trims = snapshot.view, snapshot.trims
    if view is None or not trims:
        return {}
    known = {index: one for index, one in enumerate(view.partitions) if isinstance(one, QueuePartition)}
    rows = sum(one.available_row_count for one in known.values())
    held: dict[str, int] = {}
    for index, one in trims.items():
        kind, subject = one.constraint.kind, one.constraint.subject
        if kind not in _HOLDERS or subject is None or not one.constraint.held_row_count or index not in known:
            continue
        partition = known[index]
        limit = max(one.constraint.row_index or 0, partition.lower_row_index)
        held[subject] = held.get(subject, 0) + partition.upper_row_index - limit
    return {subject: count / rows for subject, count in held.items() if count > 0}
