"""Accounting of rows that were trimmed before a consumer had committed them: counted once and for ever."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Final, NamedTuple

from queue_agent.core.verdicts.counts import MOST_COUNTED, NO_COUNTS, Counts
from queue_agent.core.verdicts.incidents import NOBODY, Blame, extend_loss
from queue_agent.core.verdicts.values import Loss, LossCause, Seconds

NO_TABLETS: Final[frozenset[str]] = frozenset()
"""One for all ledgers: Python makes another empty set each time, of 216 bytes."""

LOOKED_BACK: Final = 600.0
"""Seconds before a ledger is opened in which another agent may have trimmed for a consumer that it had just seen."""

_DAY: Final = 86400.0
_PROBABLY_SKIPPED: Final = 100
"""A jump to the end over more than so many times the largest read is no reading."""


class Reading(NamedTuple):
    """What one poll read of a consumer in a partition: the offset first, then the queue.

    A row that was committed by then, and is there after it, was there when it was committed.
    """

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

    later_offset: int = 0
    """As read after the queue, if it was: what is gone beyond both offsets went uncommitted."""

    @property
    def drainable(self) -> int:
        first = self.offset if self.offset > self.start else self.start
        return self.end - first if self.end > first else 0

    @property
    def committed(self) -> int:
        """Rows below that exist are committed."""
        return min(self.offset, self.end)


@dataclass(frozen=True, slots=True)
class Trim:
    """What an agent of this stage was about to remove."""

    start: int
    """First row that was there."""

    to: int
    offset: int | None
    """Of the consumer, read right before; None: it could not be read."""

    cause: LossCause = LossCause.VITAL_TRIMMING
    subject: str | None = None
    data_weight: int | None = None
    """Bytes of the rows from `offset` to `to` that were there; None: not known."""

    is_harmless: bool = False
    """The consumer had committed these very rows, or had no offset; otherwise `offset` may be one of other rows."""


class Ledger(NamedTuple):
    """Marks and counters of a position. Each older version is a valid state: what came later follows from it."""

    reading: Reading
    """The last."""

    accounted: int
    """Rows below are settled: committed while they were there, or counted. Never less while the tablet is the same."""

    reach: float | None = None
    """Largest number of rows that one poll has shown read; halves every day; None before the first commit."""

    reach_at: Seconds = 0.0
    counts: Counts = NO_COUNTS
    missed_before_start: int = 0
    """Rows trimmed before the consumer had an offset."""

    settled_at: Seconds = 0.0
    """A poll at which no row was left to settle: what is not settled now was there after it."""

    loss: Loss | None = None
    stale_offset: int | None = None
    """The consumer's, from before the rows were others, see `reopening`: rows below are not read. None: it is new."""

    older_tablets: frozenset[str] = NO_TABLETS
    """Ids of those that had the rows before this one, since all were settled."""

    offset_tablet: str = ""
    """Of whose rows the offset is for sure: where it was last seen to move. At first the one that is there."""

    @property
    def is_settled(self) -> bool:
        """Whether it is known what became of all rows that are gone."""
        return self.accounted >= self.reading.start

    @property
    def tablets(self) -> frozenset[str]:
        """Ids of those whose trims took the rows that are not settled."""
        return self.older_tablets | {self.reading.tablet_id}

    def offset_tablet_at(self, reading: Reading) -> str:
        """The tablet of whose rows the offset is; a commit that repeats it may be by a reader of older rows."""
        old = self.reading
        has_moved = reading.offset != old.offset and reading.tablet_id == old.tablet_id
        return reading.tablet_id if has_moved else self.offset_tablet

    def reach_now(self, now: Seconds) -> float | None:
        return None if self.reach is None else self.reach * 0.5 ** (max(0.0, now - self.reach_at) / _DAY)


class Step(NamedTuple):
    """What a poll has changed."""

    ledger: Ledger
    read: int = 0
    """Rows really read since the last poll."""

    lost: int = 0
    possibly_lost: int = 0
    is_commit: bool = False
    is_advance: bool = False
    is_rewind: bool = False
    is_reopened: bool = False
    """Marks began again, as the rows are others."""


def covers(trims: Sequence[Trim], rows: range) -> bool:
    """Whether each of the rows is one that some trim was to remove."""
    rest = [rows] if rows else []
    for trim in trims:
        rest = [part for rows in rest for part in _parts_outside(rows, trim)]
    return not rest


def _parts_outside(rows: range, trim: Trim) -> Iterator[range]:
    """What a trim does not touch."""
    taken = range(max(rows.start, trim.start), min(rows.stop, trim.to))
    if not taken:
        yield rows
        return
    yield from (part for part in (range(rows.start, taken.start), range(taken.stop, rows.stop)) if part)


def open_ledger(reading: Reading, now: Seconds, trims: Sequence[Trim] = (), known_to: int | None = None) -> Ledger:
    """The ledger of a position seen for the first time: nothing is lost before.

    Args:
        reading: of this poll.
        now: of this poll.
        trims: in order of time; those that name the consumer were seen by a judge who could not keep what it saw.
        known_to: trims of rows below are all known; None: of all rows. The others are settled later.
    """
    first = max(reading.start, reading.committed)
    named = [max(one.start, one.offset) for one in trims if one.offset is not None and one.offset < one.to]
    if reading.committed_at is None:
        first = reading.start
    if known_to is not None and first == reading.start:  # whoever is past what went has mostly committed it
        first = min(first, known_to)
    accounted = min([first, *named])
    settled_at = now if accounted >= reading.start else now - LOOKED_BACK
    return Ledger(reading, accounted, settled_at=settled_at, offset_tablet=reading.tablet_id)


def account(
    ledger: Ledger,
    reading: Reading,
    trims: Sequence[Trim],
    now: Seconds,
    *,
    known_to: int | None = None,
    is_blind: bool,
    is_silent: bool,
    blame: Blame = NOBODY,
) -> Step:
    """Settle what happened between two polls of a tablet.

    Args:
        ledger: as of the last poll, of the same tablet or of one that has its rows, see `reopening`.
        reading: of this poll.
        trims: by agents of this stage, in order of time. If two of them were to remove the same row, the later one did:
            when it was decided the row was still there.
        now: of this poll.
        known_to: trims of rows below are all known; None: of all rows. The others are settled later.
        is_blind: much time has passed since the last poll; what was read meanwhile says nothing about one read.
        is_silent: the reader has no rows in flight.
        blame: for what was trimmed beyond `trims`.
    """
    old = ledger.reading
    settled_to = reading.start if known_to is None else min(known_to, reading.start)
    reach = 0.0 if is_silent or ledger.stale_offset is not None else ledger.reach_now(now)
    gaps = _find_gaps(ledger, *_as_of_this_queue(ledger, reading, trims), settled_to, reach, blame)
    charge = _charged(ledger, gaps, now)
    accounted, passed = max(ledger.accounted, settled_to), 0
    if settled_to == reading.start:
        accounted, passed = _committed_to(ledger, reading, accounted)
    if old.committed_at is None:
        move, missed = _begun(reading), max(0, reading.start - old.start - charge.rows)
    else:
        move, missed = _moved(ledger, reading, accounted, charge.rows + passed, now, is_blind=is_blind), 0
    counts = ledger.counts + charge.counts + move.counts
    return Step(
        Ledger(
            reading,
            accounted,
            reach=ledger.reach if move.reach is None else move.reach,
            reach_at=ledger.reach_at if move.reach is None else now,
            counts=counts + Counts(skipped=passed) if passed else counts,
            missed_before_start=ledger.missed_before_start + missed,
            settled_at=now if accounted >= reading.start else ledger.settled_at,
            loss=charge.loss,
            stale_offset=ledger.stale_offset if reading.offset == ledger.stale_offset else None,
            older_tablets=ledger.tablets - {reading.tablet_id} if accounted < reading.start else NO_TABLETS,
            offset_tablet=ledger.offset_tablet_at(reading),
        ),
        move.read,
        charge.counts.lost,
        charge.counts.possibly_lost,
        is_commit=move.is_commit,
        is_advance=reading.offset > old.offset and move.is_commit,
        is_rewind=bool(move.counts.rewinds),
    )


@dataclass(frozen=True, slots=True)
class _Gap:
    """Rows that one trim took from the consumer."""

    lost: int
    possibly_lost: int
    blame: Blame
    data_weight: int | None = None
    """Bytes of the lost rows; None: not known."""


def _find_gaps(
    ledger: Ledger, reading: Reading, trims: Sequence[Trim], to: int, reach: float | None, blame: Blame
) -> Iterator[_Gap]:
    """What was taken of the rows that are not settled, by each trim and by others."""
    rest = [range(ledger.accounted, to)] if ledger.accounted < to else []
    for trim in reversed(trims):
        for rows in rest:
            taken = range(max(rows.start, trim.start), min(rows.stop, trim.to))
            if taken:
                yield _gap_of(trim, taken, reach)
        rest = [part for rows in rest for part in _parts_outside(rows, trim)]
    for rows in rest:
        yield _gap_of_others(ledger.reading, reading, rows, reach, blame)


def _gap_of(trim: Trim, rows: range, reach: float | None) -> _Gap:
    blame = Blame(trim.cause, trim.subject)
    if trim.offset is None:
        return _Gap(0, len(rows), blame)
    lost, doubtful = _split(max(rows.start, trim.offset), rows.stop, trim.offset, reach)
    if not lost or trim.data_weight is None:
        return _Gap(lost, doubtful, blame, None if lost else 0)
    # What is known is the weight of all rows that it had not committed.
    return _Gap(lost, doubtful, blame, trim.data_weight * lost // (trim.to - max(trim.start, trim.offset)))


def _gap_of_others(old: Reading, new: Reading, rows: range, reach: float | None, blame: Blame) -> _Gap:
    """Nobody knows whether what was committed meanwhile was still there: it is possibly lost."""
    if new.committed_at is None:
        return _Gap(0, 0, blame)
    offset = max(new.offset, new.later_offset)
    passed = range(rows.start, max(rows.start, min(rows.stop, offset)))
    lost, doubtful = _split(passed.stop, rows.stop, offset, reach)
    # Who has just begun may have begun anywhere up to its offset.
    return _Gap(lost, doubtful + (0 if old.committed_at is None else len(passed)), blame, None if lost else 0)


def _split(low: int, high: int, offset: int, reach: float | None) -> tuple[int, int]:
    """Lost and possibly lost rows: the reader may have what is near its offset in flight."""
    trimmed = max(0, high - low)
    if reach is None:
        return 0, trimmed
    lost = max(0, high - max(low, offset + ceil(2 * reach)))
    return lost, trimmed - lost


class _Charge(NamedTuple):
    """What trims took from the consumer."""

    counts: Counts
    loss: Loss | None

    @property
    def rows(self) -> int:
        return self.counts.trimmed_uncommitted


def _charged(ledger: Ledger, found: Iterable[_Gap], now: Seconds) -> _Charge:
    """All gaps of a poll; the largest of them names the cause."""
    gaps = list(found)
    lost = sum(one.lost for one in gaps)
    possibly_lost = sum(one.possibly_lost for one in gaps)
    if not lost + possibly_lost:
        return _Charge(NO_COUNTS, ledger.loss)
    weights = [one.data_weight for one in gaps if one.lost]
    known = [weight for weight in weights if weight is not None]
    weight = min(sum(known), MOST_COUNTED - ledger.counts.lost_data_weight)
    worst = max(gaps, key=lambda one: (one.lost, one.possibly_lost)).blame
    is_weighed = len(known) == len(weights)
    loss = extend_loss(ledger.loss, lost, possibly_lost, worst, now, weight if is_weighed else None)
    return _Charge(Counts(lost=lost, possibly_lost=possibly_lost, lost_data_weight=weight), loss)


def _as_of_this_queue(ledger: Ledger, reading: Reading, trims: Sequence[Trim]) -> tuple[Reading, Sequence[Trim]]:
    """What was read, with what the consumer has committed of this queue in place of an offset of the one before."""
    if ledger.stale_offset is None:
        return reading, trims
    stale, offset = ledger.stale_offset, ledger.accounted
    seen = reading if reading.offset < stale else reading._replace(offset=offset, later_offset=0)
    known = [
        one if one.is_harmless or one.offset is None or one.offset < stale else replace(one, offset=offset)
        for one in trims
    ]
    return seen, known


def _committed_to(ledger: Ledger, reading: Reading, accounted: int) -> tuple[int, int]:
    """Where settled rows end after a commit, and how many it passed by going on from an offset of another queue."""
    stale = ledger.stale_offset
    if reading.committed_at is None or reading.offset == stale:
        return accounted, 0
    passed = 0 if stale is None or reading.offset < stale else max(0, min(stale, reading.end) - accounted)
    return max(accounted, reading.committed), passed


class _Move(NamedTuple):
    """What the offset tells of the reader."""

    is_commit: bool
    counts: Counts = NO_COUNTS
    read: int = 0
    reach: float | None = None
    """None: nothing new."""


def _begun(reading: Reading) -> _Move:
    """A consumer without an offset loses nothing; its first commit only opens the account."""
    return _Move(reading.committed_at is not None)


def _moved(before: Ledger, reading: Reading, accounted: int, charged: int, now: Seconds, *, is_blind: bool) -> _Move:
    """What became of the offset.

    Args:
        before: as of the last poll.
        reading: of this poll.
        accounted: of this poll.
        charged: rows of this poll that were trimmed before they were committed.
        now: of this poll.
        is_blind: see `account`.
    """
    old = before.reading
    is_commit = reading.offset != old.offset or reading.committed_at != old.committed_at
    fresh = accounted - before.accounted - charged
    if reading.offset <= old.offset:
        if reading.offset < old.offset:
            return _Move(is_commit, Counts(read=fresh, rewinds=1), fresh)
        return _Move(is_commit, Counts(read=fresh) if fresh else NO_COUNTS, fresh)
    again = max(0, min(reading.committed, before.accounted) - max(old.offset, old.start))
    read = fresh + again
    counts = Counts(read=read, replayed=again)
    # A commit over rows that were trimmed before it, or may have been, says nothing of one read.
    is_whole = old.start <= old.offset and before.accounted >= old.committed and accounted >= reading.committed
    if is_blind or charged or not is_whole:
        return _Move(is_commit, counts, read)
    reach = before.reach_now(now)
    if reach is not None and read > _PROBABLY_SKIPPED * max(reach, 1.0) and reading.offset == reading.end:
        return _Move(is_commit, counts)
    return _Move(is_commit, counts, read, reach=max(reach or 0.0, float(read)))
