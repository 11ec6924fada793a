"""Accounting of lost rows: what was trimmed before a consumer read it, counted once and for ever."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, inf
from typing import Final

from queue_agent.core.verdicts.incidents import NOBODY, Blame, blame_age, extend_loss
from queue_agent.core.verdicts.values import MOST_COUNTED, NO_COUNTS, Counts, Loss, LossCause, Seconds

RECORDS_COME_WITHIN: Final = 10.0
"""Seconds after which no record of an agent's trim is to be expected any more."""

_DAY: Final = 86400.0
_PROBABLY_SKIPPED: Final = 100
"""A jump to the end over more than so many times the largest read is no reading."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one poll read of a consumer in a partition."""

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

    read_at: Seconds = 0.0
    """When the offset had been read."""

    looked_at: Seconds = inf
    """When the queue was asked for `start` and `end`; infinity: in any case after `read_at`.

    If it was asked earlier, rows that it still showed may have gone before they were committed. Of a vital consumer
    none have: agents trim what it has committed.
    """

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
    data_weight: int | None = None
    """Bytes of the rows from `offset` to `to` that were there; None: not known."""

    start: int = 0
    """First row that was there before."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A commit over rows that may have been gone by then."""

    to: int
    at: Seconds
    """A look at the queue after this moment tells which rows were there."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """Marks and counters of a position. Each older version is a valid state: later events follow from its marks."""

    reading: Reading
    """The last."""

    accounted: int
    """Rows below are settled: read, lost, possibly lost or skipped. Never less while the tablet is the same."""

    confirmed: int
    """Rows below are settled for good. What is from here to `accounted` counts as read until a trim tells better."""

    reach: float | None = None
    """Largest number of rows that one poll has shown read; halves every day; None before the first commit."""

    reach_at: Seconds = 0.0
    counts: Counts = NO_COUNTS
    missed_before_start: int = 0
    """Rows trimmed before the consumer had an offset."""

    loss: Loss | None = None
    claim: Claim | None = None
    """The oldest commit above `confirmed`; None: there is none."""

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

    def then(self, later: Step) -> Step:
        """What both changed, one after the other."""
        return Step(
            later.ledger,
            self.read + later.read,
            self.lost + later.lost,
            self.possibly_lost + later.possibly_lost,
            self.is_commit or later.is_commit,
            self.is_advance or later.is_advance,
            self.is_rewind or later.is_rewind,
            self.is_recreation or later.is_recreation,
            self.is_skip or later.is_skip,
        )


def is_unclear(ledger: Ledger, reading: Reading, trims: Sequence[Trim]) -> bool:
    """Whether rows went of which neither the marks nor the known trims tell what became of them."""
    old = ledger.reading
    if old.committed_at is None or reading.tablet_id != old.tablet_id:
        return False
    known = max(old.start, ledger.accounted)
    for trim in trims:
        if trim.start <= known:  # else there was another trim between, of which nothing is known yet
            known = max(known, trim.to)
    return reading.start > known


def open_ledger(reading: Reading) -> Ledger:
    """The ledger of a position seen for the first time: nothing is lost before."""
    first = max(reading.offset, reading.start)
    return Ledger(reading, accounted=first, confirmed=first)


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
        trims: by agents of this stage since the last poll, in order of rows.
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
    blame = blame_age(blame, old.next_row_time, ledger.loss, now)
    # A queue may be polled less often than its consumer: then the rows of a commit come to sight after it.
    ledger = replace(ledger, accounted=max(ledger.accounted, min(old.offset, reading.end)))
    step, gaps = Step(ledger), list[_Gap]()
    starts = [old.start]
    for trim in trims:
        is_new = trim.to > old.start  # else its record has come late, and the reader may have stepped back since
        if is_new and trim.offset is not None and trim.offset > step.ledger.reading.offset:
            known = replace(reading, offset=trim.offset, was_reset=False)
            step = step.then(_committed(step.ledger, known, starts))
            step = replace(step, ledger=replace(step.ledger, reading=replace(step.ledger.reading, offset=trim.offset)))
        gaps.append(_find_gap(step.ledger, trim, reading.offset, reach))
        step = replace(step, ledger=_settled(step.ledger, trim.to))
        starts.append(max(starts[-1], trim.to))
    if reading.start > starts[-1]:
        accounted = max(step.ledger.accounted, starts[-1])
        passed = max(0, min(reading.offset, reading.start) - max(accounted, step.ledger.reading.offset))
        lost, doubtful = _split(max(accounted, reading.offset), reading.start, reading.offset, reach)
        gaps.append(_Gap(lost, passed + doubtful, blame))
        if reading.start > accounted:  # else a record may come that tells more of them
            step = replace(step, ledger=_settled(step.ledger, reading.start))
        starts.append(reading.start)
    newest = step.ledger.reading.offset
    if old.offset <= reading.offset < newest:
        # The offsets of a poll are read first, so the last trim may have seen a later one.
        reading = replace(reading, offset=newest)
    else:
        step = step.then(_committed(step.ledger, reading, starts))
    if step.is_advance and not (is_blind or reading.was_reset):
        step = _learned(step, old.offset, reading, starts, now)
    return _charged(replace(step, ledger=_confirmed(step.ledger, reading)), gaps, reading, now)


def _settled(ledger: Ledger, to: int) -> Ledger:
    return replace(ledger, accounted=max(ledger.accounted, to), confirmed=max(ledger.confirmed, to))


def _confirmed(ledger: Ledger, reading: Reading) -> Ledger:
    """The ledger after a look at the queue: rows that are still there were there when they were committed.

    Of those that are not there any more, a record may come late that tells whether they went before.
    """
    confirmed, claim = ledger.confirmed, ledger.claim
    is_doubtful = reading.start > confirmed and reading.looked_at != inf
    if claim is not None:
        is_over = reading.read_at - claim.at > RECORDS_COME_WITHIN
        if is_over or (reading.looked_at > claim.at and not is_doubtful):
            confirmed, claim = max(confirmed, claim.to), None
    if ledger.accounted <= confirmed:
        claim = None
    elif reading.looked_at > reading.read_at and not is_doubtful:
        confirmed, claim = ledger.accounted, None
    elif claim is None:
        claim = Claim(ledger.accounted, reading.read_at)
    return replace(ledger, confirmed=confirmed, claim=claim)


@dataclass(frozen=True, slots=True)
class _Gap:
    """What one trim took from the consumer."""

    lost: int
    possibly_lost: int
    blame: Blame
    data_weight: int | None = None
    """Bytes of the lost rows; None: not known."""


def _find_gap(ledger: Ledger, trim: Trim, newest: int, reach: float | None) -> _Gap:
    """What a trim by agents of this stage took.

    Args:
        ledger: right before the trim, as far as that is known.
        trim: in question.
        newest: offset of this poll.
        reach: see `Ledger.reach_now`.
    """
    offset = ledger.reading.offset if trim.offset is None else trim.offset
    # Who is where it was at the trim, and had committed more, has most likely stepped back before it.
    mark = ledger.accounted if trim.offset == newest else ledger.confirmed
    low = max(mark, trim.start, offset)
    lost, doubtful = _split(low, trim.to, offset, None if trim.offset is None else reach)
    data_weight = 0 if not lost else None
    if lost and trim.data_weight is not None:
        # What is known is the weight of all rows that it had not committed.
        data_weight = trim.data_weight * lost // (trim.to - max(trim.start, offset))
    return _Gap(lost, doubtful, Blame(trim.cause, trim.subject), data_weight)


def _charged(step: Step, gaps: Sequence[_Gap], reading: Reading, now: Seconds) -> Step:
    """A poll with what trims took from the consumer; the largest of them names the cause."""
    lost = sum(one.lost for one in gaps)
    possibly_lost = sum(one.possibly_lost for one in gaps)
    weights = [one.data_weight for one in gaps if one.lost]
    known = [weight for weight in weights if weight is not None]
    ledger = step.ledger
    loss = ledger.loss
    weight = min(sum(known), MOST_COUNTED - ledger.counts.lost_data_weight)
    if lost:
        worst = max(gaps, key=lambda one: one.lost).blame
        loss = extend_loss(loss, lost, worst, now, weight if len(known) == len(weights) else None)
    counts = ledger.counts + Counts(lost=lost, possibly_lost=possibly_lost, lost_data_weight=weight)
    ledger = replace(ledger, counts=counts, loss=loss, reading=reading)
    return replace(step, ledger=ledger, lost=lost, possibly_lost=possibly_lost)


def _is_continued(old: Reading, new: Reading) -> bool:
    """Whether a queue was resharded in place, rather than created again."""
    same_object = old.object_id is not None and old.object_id == new.object_id
    return same_object and new.start >= old.start and new.end >= old.end


def _recreated(ledger: Ledger, reading: Reading, now: Seconds) -> Step:
    old = ledger.reading
    lost = 0 if old.committed_at is None else max(0, old.end - max(ledger.accounted, old.offset))
    loss = extend_loss(ledger.loss, lost, Blame(LossCause.RECREATION), now) if lost else ledger.loss
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
        confirmed=accounted,
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


def _committed(ledger: Ledger, reading: Reading, starts: Sequence[int]) -> Step:
    """Settle the offset; trims are settled already.

    Args:
        ledger: as of the last commit.
        reading: of the commit.
        starts: first available rows known since the last poll; what is below the last of them was not read.
    """
    old = ledger.reading
    is_commit = reading.committed_at != old.committed_at or reading.offset != old.offset
    if reading.offset < old.offset:
        counts = ledger.counts + Counts(rewinds=1)
        return Step(replace(ledger, counts=counts), is_commit=True, is_rewind=True)
    if reading.offset == old.offset:
        return Step(ledger, is_commit=is_commit)
    first = max(old.offset, _last_start(starts, reading.offset, old.offset))
    rows = max(0, min(reading.offset, reading.end) - first)
    accounted = max(ledger.accounted, min(reading.offset, reading.end))
    if reading.was_reset:
        counts = ledger.counts + Counts(skipped=rows)
        return Step(replace(ledger, accounted=accounted, counts=counts), is_commit=True, is_advance=True, is_skip=True)
    replayed = max(0, min(reading.offset, ledger.accounted, reading.end) - first)
    counts = ledger.counts + Counts(read=rows, replayed=replayed)
    known = replace(ledger, accounted=accounted, counts=counts)
    return Step(known, read=rows, is_commit=True, is_advance=True)


def _learned(step: Step, offset: int, reading: Reading, starts: Sequence[int], now: Seconds) -> Step:
    """A poll with what it tells of the reader: how far it gets at once, or that it has probably jumped.

    Args:
        step: with all trims and commits settled.
        offset: of the poll before.
        reading: of this poll.
        starts: see `_committed`; only what was read after the last trim is certain to be one read.
        now: of this poll.
    """
    rows = max(0, min(reading.offset, reading.end) - max(offset, _last_start(starts, reading.offset, offset)))
    reach = step.ledger.reach_now(now)
    is_far = reach is not None and rows > _PROBABLY_SKIPPED * max(reach, 1.0)
    if is_far and reading.offset == reading.end:
        return replace(step, read=0, is_skip=True)
    return replace(step, ledger=replace(step.ledger, reach=max(reach or 0.0, float(rows)), reach_at=now))


def _last_start(starts: Sequence[int], offset: int, default: int) -> int:
    return max((one for one in starts if one < offset), default=default)
