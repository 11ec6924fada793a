"""Positions in partitions that were not looked at before, or not for a while."""

from __future__ import annotations

from collections.abc import Sequence

from queue_agent.core.verdicts.ledger import Trim
from queue_agent.core.verdicts.position import Position, find_rebuild
from queue_agent.core.verdicts.rebuilding import Rebuild
from queue_agent.core.verdicts.reopening import reopen


def appear(opened: Position, trims: Sequence[Trim], left: Position | None, reshard: Rebuild | None) -> Position:
    """The position in a partition that had none at the last poll.

    Args:
        opened: as if seen for the first time.
        trims: see `open_ledger`.
        left: as of the last poll before the partition was gone, or not the consumer's; None: there was no poll so far.
        reshard: of the queue, as far as the consumer does not know it yet; None: there was none.
    """
    if left is not None:
        opened = _return(left, opened, trims)
    elif reshard is not None:  # an older partition of this index may have had that offset
        opened = opened._replace(ledger=opened.ledger._replace(offset_tablet=""))
    return opened if reshard is None else opened._replace(rebuild=reshard)


def _return(left: Position, opened: Position, trims: Sequence[Trim]) -> Position:
    """Counts continue. Rows that went meanwhile do not count: a reshard moved them, or nobody had to read them."""
    reading, now = opened.reading, opened.seen_at
    ledger = left.ledger._replace(accounted=max(left.ledger.accounted, left.reading.end))
    if reading.tablet_id == left.reading.tablet_id:
        is_stale = ledger.stale_offset == reading.offset
        kept = opened.ledger._replace(
            counts=ledger.counts,
            stale_offset=ledger.stale_offset if is_stale else None,
            offset_tablet=ledger.offset_tablet_at(reading),
        )
        return opened._replace(ledger=kept)
    step = reopen(ledger, reading, trims, now, is_watched=True)
    rebuild = find_rebuild([(left.reading, reading)], now) if step.ledger.stale_offset is not None else None
    return opened._replace(ledger=step.ledger, rebuild=rebuild)
