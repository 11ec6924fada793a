"""What a position did lately, in parts of equal length: rates, and whether its backlog grows older or larger."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, MutableSequence, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import median, quantiles
from typing import Final, NamedTuple, TypedDict

from queue_agent.core.verdicts.values import Rate, Seconds

PARTS: Final = 15
_LEAST_ADVANCES: Final = 6
_FALLEN: Final = 0.05
"""Seconds by which the next row gets younger in each second; of a distance that only varies it is less."""

_KNOWN_SHARE: Final = 5 / PARTS


class Part(NamedTuple):
    """A stretch of time."""

    since: Seconds
    until: Seconds
    read: float = 0.0
    written: float = 0.0
    advances: float = 0.0
    ages: float = 0.0
    """Advances after which the age of the next row was known."""

    age_sum: float = 0.0
    unread_sum: float = 0.0

    def after(self, until: Seconds, read: int, written: int, advance: tuple[Seconds | None, int] | None) -> Part:
        """The part after a poll; arguments as for `Recent.after`."""
        age, unread = advance or (None, 0)
        return Part(
            self.since,
            until,
            self.read + read,
            self.written + written,
            self.advances + (advance is not None),
            self.ages + (age is not None),
            self.age_sum + (age or 0.0),
            self.unread_sum + unread,
        )

    @property
    def age(self) -> float | None:
        return self.age_sum / self.ages if self.ages else None

    @property
    def unread(self) -> float:
        return self.unread_sum / self.advances


class Rates(NamedTuple):
    """Of a consumer in a partition; None: not known."""

    read: Rate | None
    """Rows really read."""

    written: Rate | None


UNKNOWN_RATES: Final = Rates(None, None)


@dataclass(frozen=True, slots=True)
class Trend:
    """Whether it gets better with a consumer that is behind."""

    falls: bool
    is_certain: bool
    """There are enough advances, over enough time, to tell."""


_UNTIL: Final = Part._fields.index("until")
_NONE: Final = array("d")


class Recent(NamedTuple):
    """The parts of the judging window."""

    ended: array[float] = _NONE
    """All parts but the last, oldest first, packed: that takes a quarter of the memory, and very many have them."""

    last: Part | None = None
    known_since: Seconds = float("inf")
    """No poll was missed since."""

    judged_since: Seconds = float("-inf")
    """Ages and unread rows before say nothing any more: a step back, or an outage, has changed all of them."""

    oldest: Seconds = 0.0
    """The age of no part that has ended is larger."""

    @property
    def parts(self) -> list[Part]:
        """Oldest first."""
        size = len(Part._fields)
        ended = [Part(*self.ended[start : start + size]) for start in range(0, len(self.ended), size)]
        return ended if self.last is None else [*ended, self.last]

    def at(self, now: Seconds, window: Seconds) -> Recent:
        """The parts that are not older than the window."""
        if self.last is None:
            return self
        if (self.ended[_UNTIL] if self.ended else self.last.until) > now - window:
            return self
        parts = self.parts
        kept = [one for one in parts if one.until > now - window]
        dropped = parts[len(parts) - len(kept) - 1].until
        return self._replace(**_packed(kept), known_since=max(self.known_since, dropped))

    def after(
        self,
        last: Seconds,
        now: Seconds,
        window: Seconds,
        read: int,
        written: int,
        advance: tuple[Seconds | None, int] | None,
    ) -> Recent:
        """The parts after a poll.

        Args:
            last: the poll before.
            now: of this poll.
            window: length of the judging window.
            read: rows read since the last poll.
            written: rows written since.
            advance: age of the next row, and number of unread rows; None: the offset did not advance.
        """
        kept = self.at(now, window)
        if kept.last is not None and now - kept.last.since <= window / PARTS:
            part = kept.last.after(now, read, written, advance)
            return Recent(kept.ended, part, kept.known_since, kept.judged_since, kept.oldest)
        parts = [*kept.parts, Part(last, now).after(now, read, written, advance)]
        if len(parts) > 2 * PARTS:
            parts = list(_merged(parts))
        return Recent(**_packed(parts), known_since=kept.known_since, judged_since=kept.judged_since)

    def restarted(self, now: Seconds) -> Recent:
        """The same rates; whether the consumer is behind is judged from now on."""
        return self._replace(judged_since=now)

    def rates(self, now: Seconds, window: Seconds) -> Rates:
        """Rows read and written in equal parts of the judging window; not known if a third of it is not known."""
        start = max(self.known_since, now - window)
        length = now - start
        if length < window * _KNOWN_SHARE:
            return UNKNOWN_RATES
        read, written = [0.0] * PARTS, [0.0] * PARTS
        columns = [self.ended[column :: len(Part._fields)] for column in range(4)]
        for one in (*zip(*columns, strict=True), *(() if self.last is None else (self.last[:4],))):
            _share_out(one, start, length / PARTS, read, written)
        return Rates(rate_of(read, length), rate_of(written, length))

    def trend(self, patience: Seconds | None, window: Seconds, *, was_behind: bool, was_falling: bool) -> Trend | None:
        """Judge ages and unread rows at the moments of advances: those of the last third against those of the first.

        None: the consumer is not behind, or nobody knows.
        """
        if patience is None or self.last is None:
            return None
        limit = patience / 2 if was_behind else patience
        if max(self.oldest, self.last.age or 0.0) <= limit:
            return None
        judged = [one for one in self.parts if one.advances and one.until > self.judged_since]
        third = max(1, len(judged) // 3)
        first, last = judged[:third], judged[-third:]
        old_ages, ages = ([one.age for one in parts if one.age is not None] for parts in (first, last))
        if not ages or median(ages) <= limit:
            return None
        enough = sum(one.advances for one in judged) >= _LEAST_ADVANCES
        is_certain = enough and judged[-1].until - judged[0].since >= window / 3
        old_rows, rows = ([one.unread for one in parts] for parts in (first, last))
        passed = (last[0].since + last[-1].until - first[0].since - first[-1].until) / 2
        if was_falling:
            is_younger = bool(old_ages) and median(ages) < median(old_ages)
            are_fewer = median(rows) < median(old_rows)
        else:
            is_younger = bool(old_ages) and max(ages) < min(old_ages) - _FALLEN * passed
            are_fewer = max(rows) < min(old_rows)
        # A reader that keeps its distance in time has fewer unread rows, too, when producers become slower.
        is_burst = not old_ages or median(ages) - median(old_ages) > passed / 2
        is_rest = sum(one.written for one in judged) <= sum(one.read for one in judged) / 2
        return Trend(is_younger or (are_fewer and (is_burst or is_rest)), is_certain)


NOTHING_RECENT: Final = Recent()


def _share_out(
    part: Sequence[float], start: Seconds, size: Seconds, read: MutableSequence[float], written: MutableSequence[float]
) -> None:
    """Add its rows to the equal parts, from so many seconds on, in which they were read and written.

    Each poll does this for all parts of each partition that moves, so it takes care to be quick.
    """
    since, until, read_rows, written_rows = part
    begin = since if since > start else start
    if until <= begin:
        return
    last = min(PARTS - 1, int((until - start) / size))
    index = min(last, int((begin - start) / size))
    read_rate, write_rate = read_rows / (until - since), written_rows / (until - since)
    while index < last:
        end = start + (index + 1) * size
        read[index] += read_rate * (end - begin)
        written[index] += write_rate * (end - begin)
        index, begin = index + 1, end
    read[last] += read_rate * (until - begin)
    written[last] += write_rate * (until - begin)


def rate_of(rows: Sequence[float], length: Seconds) -> Rate:
    """Mean and quartiles of what came in equal parts of a stretch of time."""
    mean = sum(rows) / length
    low, _, high = quantiles(rows, n=4, method="inclusive")
    return Rate(mean, min(mean, low * PARTS / length), max(mean, high * PARTS / length))


class _Packed(TypedDict):
    """Of `Recent`, what parts are in."""

    ended: array[float]
    last: Part | None
    oldest: Seconds


def _packed(parts: Sequence[Part]) -> _Packed:
    ended, last = parts[:-1], parts[-1] if parts else None
    oldest = max((one.age or 0.0 for one in ended), default=0.0)
    return _Packed(ended=array("d", [*chain.from_iterable(ended)]), last=last, oldest=oldest)


def _merged(parts: Sequence[Part]) -> Iterator[Part]:
    """Half as many parts, after the window has become longer."""
    for index in range(0, len(parts), 2):
        pair = parts[index : index + 2]
        yield Part(
            pair[0].since,
            pair[-1].until,
            sum(one.read for one in pair),
            sum(one.written for one in pair),
            sum(one.advances for one in pair),
            sum(one.ages for one in pair),
            sum(one.age_sum for one in pair),
            sum(one.unread_sum for one in pair),
        )
