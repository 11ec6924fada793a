"""Accounting of lost rows: what was trimmed before a consumer read it, counted once and for ever."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Final

from queue_agent.core.verdicts.values import NO_COUNTS, Counts, Loss, LossCause, Seconds

INCIDENT_ENDS_AFTER: Final = 600.0
_DAY: Final = 86400.0
_PROBABLY_SKIPPED: Final = 100
"""A jump to the end over more than so many times the largest read is no reading."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one poll read of a consumer in a partition; offsets are read before the ends."""

    start: int
    """First available row."""

    end: int
    """One past the last row."""

    offset: int
    committed_at: Seconds | None
    """When the offset was written; None: the consumer has no offset there."""

    tablet_id: str
    object_id: str | None = None
    """Of the queue; None: not known."""

    next_row_time: Seconds | None = None
    """When the next row to read that is still there was written; None: there is none, or it is not known."""

    was_reset: bool = False
    """The offset was set by a reset since the last poll."""

    @property
    def drainable(self) -> int:
        return max(0, self.end - max(self.offset, self.start))


@dataclass(frozen=True, slots=True)
class Trim:
    """A trim by agents of this stage."""

    to: int
    offset: int | None
    """Read right before the trim; None: it could not be read."""

    cause: LossCause = LossCause.VITAL_TRIMMING
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class Blame:
    """Why rows were trimmed of which no record tells."""

    cause: LossCause = LossCause.FOREIGN
    subject: str | None = None


NOBODY: Final = Blame()


@dataclass(frozen=True, slots=True)
class Ledger:
    """Marks and counters of a position. Each older version is a valid state: later events follow from its marks."""

    reading: Reading
    """The last."""

    accounted: int
    """Rows below are settled: read, lost, possibly lost or skipped. Never less while the tablet is the same."""

    reach: float | None = None
    """Largest number of rows that one poll has shown read; halves every day; None before the first commit."""

    reach_at: Seconds = 0.0
    counts: Counts = NO_COUNTS
    missed_before_start: int = 0
    """Rows trimmed before the consumer had an offset."""

    loss: Loss | None = None

    def reach_now(self, now: Seconds) -> float | None:
        return None if self.reach is None else self.reach * 0.5 ** ((now - self.reach_at) / _DAY)


@dataclass(frozen=True, slots=True)
class Step:
    """What a poll has changed."""

    ledger: Ledger
    read: int = 0
    """Rows really read since the last poll."""

    lost: int = 0
    possibly_lost: int = 0
    is_commit: bool = False
    is_advance: bool = False
    is_rewind: bool = False
    is_recreation: bool = False
    is_skip: bool = False
    """Passed rows on purpose, or probably so."""


def open_ledger(reading: Reading) -> Ledger:
    """The ledger of a position seen for the first time: nothing is lost before."""
    return Ledger(reading, accounted=max(reading.offset, reading.start))


def account(
    ledger: Ledger,
    reading: Reading,
    trims: Sequence[Trim],
    now: Seconds,
    *,
    is_blind: bool,
    is_stopped: bool,
    blame: Blame = NOBODY,
) -> Step:
    """Settle what happened between two polls.

    Args:
        ledger: as of the last poll.
        reading: of this poll.
        trims: by agents of this stage since the last poll, in order.
        now: of this poll.
        is_blind: much time has passed since the last poll; what was read meanwhile says nothing about one read.
        is_stopped: the reader is silent, so it has no rows in flight.
        blame: for what was trimmed beyond `trims`.
    """
    old = ledger.reading
    if reading.tablet_id != old.tablet_id and not _is_continued(old, reading):
        return _recreated(ledger, reading, now)
    if old.committed_at is None:
        return _before_start(ledger, reading)
    reach = 0.0 if is_stopped else ledger.reach_now(now)
    lost = possible = 0
    accounted, low = ledger.accounted, old.start
    causes: list[tuple[int, LossCause, str | None]] = []
    for trim in trims:
        offset = old.offset if trim.offset is None else trim.offset
        gone, doubtful = _split(max(accounted, low, offset), trim.to, offset, None if trim.offset is None else reach)
        lost, possible = lost + gone, possible + doubtful
        causes.append((gone, trim.cause, trim.subject))
        accounted, low = max(accounted, trim.to), max(low, trim.to)
    if reading.start > low:
        passed = max(0, min(reading.offset, reading.start) - max(accounted, low, old.offset))
        gone, doubtful = _split(max(accounted, low, reading.offset), reading.start, reading.offset, reach)
        lost, possible = lost + gone, possible + passed + doubtful
        causes.append((gone, blame.cause, blame.subject))
        accounted = max(accounted, reading.start)
    starts = (old.start, *(trim.to for trim in trims), reading.start)
    step = _committed(replace(ledger, accounted=accounted), reading, starts, now, is_blind=is_blind)
    counts = step.ledger.counts + Counts(lost=lost, possibly_lost=possible)
    worst = max(causes, key=lambda one: one[0], default=None)
    loss = ledger.loss if worst is None or not lost else extend_loss(ledger.loss, lost, worst[1], worst[2], now)
    return replace(
        step, ledger=replace(step.ledger, counts=counts, loss=loss, reading=reading), lost=lost, possibly_lost=possible
    )


def extend_loss(loss: Loss | None, rows: int, cause: LossCause, subject: str | None, now: Seconds) -> Loss:
    """The incident after more rows were lost: the same, or a new one after a pause."""
    if loss is None or now - loss.until > INCIDENT_ENDS_AFTER:
        return Loss(now, now, cause, subject, rows)
    return Loss(loss.since, now, cause, subject, loss.rows + rows)


def _is_continued(old: Reading, new: Reading) -> bool:
    """Whether a queue was resharded in place, rather than created again."""
    same_object = old.object_id is not None and old.object_id == new.object_id
    return same_object and new.start >= old.start and new.end >= old.end


def _recreated(ledger: Ledger, reading: Reading, now: Seconds) -> Step:
    old = ledger.reading
    lost = 0 if old.committed_at is None else max(0, old.end - max(ledger.accounted, old.offset))
    loss = extend_loss(ledger.loss, lost, LossCause.RECREATION, None, now) if lost else ledger.loss
    opened = replace(
        open_ledger(reading), counts=ledger.counts + Counts(lost=lost), loss=loss, reach=ledger.reach, reach_at=now
    )
    return Step(opened, lost=lost, is_recreation=True)


def _before_start(ledger: Ledger, reading: Reading) -> Step:
    """A consumer without an offset loses nothing; its first commit only opens the account."""
    missed = max(0, reading.start - ledger.reading.start)
    accounted = max(ledger.accounted, reading.start, min(reading.offset, reading.end))
    new = replace(
        ledger,
        reading=reading,
        accounted=accounted,
        missed_before_start=ledger.missed_before_start + missed,
    )
    has_begun = reading.committed_at is not None
    return Step(new, is_commit=has_begun, is_advance=has_begun and reading.offset > ledger.reading.offset)


def _split(low: int, high: int, offset: int, reach: float | None) -> tuple[int, int]:
    """Lost and possibly lost rows of those trimmed: the reader may have what is near its offset in flight."""
    trimmed = max(0, high - low)
    if reach is None:
        return 0, trimmed
    lost = max(0, high - max(low, offset + ceil(2 * reach)))
    return lost, trimmed - lost


def _committed(ledger: Ledger, reading: Reading, starts: Sequence[int], now: Seconds, *, is_blind: bool) -> Step:
    """Settle the offset; trims are settled already.

    Args:
        ledger: as of the last poll.
        reading: of this poll.
        starts: first available rows known since the last poll; what is below the last of them was not read.
        now: of this poll.
        is_blind: see `account`.
    """
    old = ledger.reading
    is_commit = reading.committed_at != old.committed_at or reading.offset != old.offset
    if reading.offset < old.offset:
        counts = ledger.counts + Counts(rewinds=1)
        return Step(replace(ledger, counts=counts), is_commit=True, is_rewind=True)
    if reading.offset == old.offset:
        return Step(ledger, is_commit=is_commit)
    base = max((one for one in starts if one < reading.offset), default=old.offset)
    first = max(old.offset, base)
    rows = max(0, min(reading.offset, reading.end) - first)
    accounted = max(ledger.accounted, min(reading.offset, reading.end))
    if reading.was_reset:
        counts = ledger.counts + Counts(skipped=rows)
        return Step(replace(ledger, accounted=accounted, counts=counts), is_commit=True, is_advance=True, is_skip=True)
    replayed = max(0, min(reading.offset, ledger.accounted, reading.end) - first)
    reach = ledger.reach_now(now)
    far = reach is not None and rows > _PROBABLY_SKIPPED * max(reach, 1.0)
    is_skip = far and not is_blind and reading.offset == reading.end
    counts = ledger.counts + Counts(read=rows, replayed=replayed)
    known = replace(ledger, accounted=accounted, counts=counts)
    if not is_blind and not is_skip:
        known = replace(known, reach=max(reach or 0.0, float(rows)), reach_at=now)
    return Step(known, read=0 if is_skip else rows, is_commit=True, is_advance=True, is_skip=is_skip)
