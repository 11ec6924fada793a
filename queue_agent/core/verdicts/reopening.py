"""Ledgers of partitions that have other rows than before: of a queue that was created again, or of another tablet."""

from __future__ import annotations

from collections.abc import Sequence

from queue_agent.core.verdicts.counts import Counts
from queue_agent.core.verdicts.incidents import Blame, extend_loss
from queue_agent.core.verdicts.ledger import Ledger, Reading, Step, Trim, open_ledger
from queue_agent.core.verdicts.values import LossCause, Seconds


def is_recreated(old: Reading, new: Reading) -> bool:
    """Whether a queue was created again, rather than resharded in place."""
    is_same = old.object_id is not None and old.object_id == new.object_id
    return new.tablet_id != old.tablet_id and not is_same


def has_other_rows(old: Reading, new: Reading) -> bool:
    """Whether rows are not those of the old tablet: a reshard that keeps them keeps their indexes."""
    if new.tablet_id == old.tablet_id:
        return False
    return is_recreated(old, new) or new.start < old.start or new.end < old.end


def reopen(ledger: Ledger, reading: Reading, trims: Sequence[Trim], now: Seconds, *, is_watched: bool) -> Step:
    """Begin again with other rows; the offset may be one of the old rows still.

    Uncommitted rows of a queue that was removed are lost. Those of a tablet that a reshard removed are in another one.

    Args:
        ledger: of the old rows.
        reading: of this poll.
        trims: see `open_ledger`.
        now: of this poll.
        is_watched: this agent has looked right before. If not, whoever has committed may have committed old rows, and
            nobody knows how many more of them there were.
    """
    old = ledger.reading
    # An offset that the new rows do not reach was committed in the old ones, maybe after the last poll.
    is_beyond = reading.offset > reading.end
    has_begun = old.committed_at is not None or is_beyond
    committed = max(old.offset, reading.offset if is_beyond else 0)
    offset = committed if ledger.stale_offset is None else ledger.accounted
    is_known = is_watched and ledger.is_settled
    has_lost_queue = has_begun and is_recreated(old, reading)
    gone = max(0, old.end - max(ledger.accounted, offset)) if has_lost_queue else 0
    has_committed = (reading.offset, reading.committed_at) != (old.offset, old.committed_at)
    lost, possibly_lost = (0, gone) if has_committed and not is_watched else (gone, 0)
    loss = extend_loss(ledger.loss, lost, possibly_lost, Blame(LossCause.RECREATION), now) if gone else ledger.loss
    opened = open_ledger(reading, now, trims)
    is_stale = has_begun and reading.offset >= max(old.offset, reading.start + 1)
    opened = opened._replace(
        accounted=min([reading.start, *(one.start for one in trims)]) if is_stale else opened.accounted,
        counts=ledger.counts
        + Counts(lost=lost, possibly_lost=possibly_lost, unwatched_recreations=int(has_lost_queue and not is_known)),
        loss=loss,
        reach=ledger.reach,
        reach_at=now,
        stale_offset=reading.offset if is_stale else None,
        offset_tablet=ledger.offset_tablet,
    )
    return Step(opened, lost=lost, possibly_lost=possibly_lost, is_reopened=True)
