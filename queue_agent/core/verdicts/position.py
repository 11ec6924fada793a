"""A consumer in one partition: from poll to poll, what it does and which verdict that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from queue_agent.core.verdicts.incidents import INCIDENT_ENDS_AFTER, NOBODY, Blame, blame_age
from queue_agent.core.verdicts.ledger import Ledger, Reading, Step, Trim, account, open_ledger
from queue_agent.core.verdicts.pace import Pace
from queue_agent.core.verdicts.race import RACE_SECONDS, Race, go_on
from queue_agent.core.verdicts.rebuilding import Rebuild, RebuildKind
from queue_agent.core.verdicts.recent import NOTHING_RECENT, Recent
from queue_agent.core.verdicts.reopening import has_other_rows, is_recreated, reopen
from queue_agent.core.verdicts.values import Seconds, Verdict

AHEAD_AFTER: Final = 60.0
WAITING_AFTER: Final = 120.0
IDLE_AFTER: Final = 3600.0
LOST_FOR: Final = 86400.0
MENDED_AFTER: Final = 30.0
"""Seconds without a loss, since what took the rows can take no more: trims that were under way have ended."""

_SILENT_FOR: Final = 10.0
"""Seconds; a shorter silence proves nothing, however often a consumer usually commits."""

_NEED_TWO_POLLS: Final = frozenset({Verdict.LOSING, Verdict.STOPPED, Verdict.STALLED, Verdict.LAGGING})
_FINAL_WHILE_SILENT: Final = frozenset({Verdict.STOPPED, Verdict.STALLED})
_REBUILT: Final = frozenset({Verdict.RECREATED, Verdict.RESHARDED})
_BEHIND: Final = frozenset({Verdict.LAGGING, Verdict.CATCHING_UP})


class Poll(NamedTuple):
    """When a position is polled."""

    last: Seconds
    """The poll before, whatever it found."""

    now: Seconds
    is_blind: bool
    """Long after the poll before: a restart, or errors."""

    is_watched: bool
    """Whether it was this agent that read the partition at the poll before; what another kept of it may be older."""


class Position(NamedTuple):
    """State of a position; replaced by each poll that matters."""

    ledger: Ledger
    seen_at: Seconds
    """The poll from which the state is."""

    silent: Seconds = 0.0
    """Time with rows to read since the last commit."""

    still: Seconds = 0.0
    """Time with rows to read since the last commit that advanced."""

    written_at: Seconds = 0.0
    """When the end was last seen to grow."""

    ahead_since: Seconds | None = None
    verdict: Verdict = Verdict.OK
    since: Seconds = 0.0
    activity: Verdict = Verdict.OK
    """The verdict without regard to losses."""

    nearly: Verdict | None = None
    """A verdict that needs one more poll."""

    nearly_active: Verdict | None = None
    recent: Recent = NOTHING_RECENT
    trimmed_at: Seconds | None = None
    """When rows were last seen to be gone; None: never since this agent looks."""

    race: Race | None = None
    """None: no rows were trimmed lately that were not committed."""

    first_written: Seconds | None = None
    """When the first row was written of those that were not settled at the last poll; None: not known."""

    rebuild: Rebuild | None = None
    """What became of the queue, as long as the consumer has not shown that it knows."""

    @property
    def reading(self) -> Reading:
        return self.ledger.reading

    @property
    def open_rebuild(self) -> Rebuild | None:
        """As people see it: where there is nothing to read, no commit can show that a reshard is known."""
        if self.rebuild is None or self.rebuild.kind is RebuildKind.RECREATION or self.has_stale_offset:
            return self.rebuild
        return self.rebuild if self.reading.drainable else None

    @property
    def offset_tablet(self) -> str | None:
        """The tablet of whose rows the offset is for sure; None: of one that is no more."""
        return None if self.has_stale_offset else self.ledger.offset_tablet

    @property
    def has_stale_offset(self) -> bool:
        """Whether the offset is one of rows that the partition had before."""
        return self.ledger.stale_offset is not None

    def knowing(self, until: Seconds | None) -> Position:
        """The position once its owner has said that what happened until then is known; None: nothing was said."""
        is_known = until is not None and self.rebuild is not None and self.rebuild.at <= until
        return self._replace(rebuild=None) if is_known else self


def open_position(
    reading: Reading,
    now: Seconds,
    written_at: Seconds | None = None,
    trims: Sequence[Trim] = (),
    known_to: int | None = None,
) -> Position:
    """A position seen for the first time; `trims` and `known_to`: see `open_ledger`."""
    written_at = now if written_at is None else written_at
    return Position(
        open_ledger(reading, now, trims, known_to),
        now,
        written_at=written_at,
        ahead_since=None if reading.offset <= reading.end else now,
        since=now,
        recent=Recent(known_since=now),
    )


def find_rebuild(pairs: Sequence[tuple[Reading, Reading]], now: Seconds) -> Rebuild | None:
    """What became of the queue since the last poll; None: nothing. Each tablet that has part in it is another one.

    Args:
        pairs: readings of the last poll and of this one, of each partition that has both.
        now: of this poll.
    """
    if all(old.tablet_id == new.tablet_id for old, new in pairs):
        return None
    is_new = any(is_recreated(old, new) for old, new in pairs)
    return Rebuild(RebuildKind.RECREATION if is_new else RebuildKind.RESHARD, now)


def observe(
    position: Position,
    reading: Reading,
    trims: Sequence[Trim],
    pace: Pace,
    poll: Poll,
    blame: Blame = NOBODY,
    known_to: int | None = None,
    rebuild: Rebuild | None = None,
) -> tuple[Position, Pace, Step]:
    """The position and the pace after a poll, and what the poll has changed; arguments as for `account`.

    `rebuild`: what became of the queue since the last poll; None: nothing.
    """
    now = poll.now
    old = position.reading
    if has_other_rows(old, reading):
        is_watched = poll.is_watched and not poll.is_blind
        step = reopen(position.ledger, reading, trims, now, is_watched=is_watched)
        return _reopened(position, step, now, rebuild), pace, step
    position = _rolled(position, poll.last)
    was_stopped = position.activity in _FINAL_WHILE_SILENT
    first_written = old.next_row_time if position.ledger.is_settled else position.first_written
    step = account(
        position.ledger,
        reading,
        trims,
        now,
        known_to=known_to,
        is_blind=poll.is_blind,
        is_silent=was_stopped or _is_silent(position, pace),
        blame=blame_age(blame, first_written, position.ledger.loss, now),
    )
    if step.is_advance and old.committed_at is not None and not poll.is_blind:
        is_outage = was_stopped and pace.gaps > 0  # of whose pace nothing is known, this is what is usual
        pace = pace.interrupted(position.still, now) if is_outage else pace.learned(position.still, now)
    had_rows = bool(old.drainable) and not step.is_commit
    # Who has committed while nobody polled may have done so all the time.
    # Nor does anybody know when rows were written meanwhile that have no time of their own.
    is_unknown = poll.is_blind and (step.is_commit or (not had_rows and reading.next_row_time is None))
    exposed = 0.0 if is_unknown else _exposure(reading, poll.last, now, had_rows=had_rows)
    ended = step.is_advance and was_stopped
    position = position._replace(
        ledger=step.ledger,
        seen_at=now,
        silent=exposed if step.is_commit else position.silent + exposed,
        still=exposed if step.is_advance or step.is_rewind else position.still + exposed,
        written_at=now if reading.end > old.end else position.written_at,
        ahead_since=None if reading.offset <= reading.end else position.ahead_since or now,
        activity=Verdict.OK if ended else position.activity,
        recent=_next_recent(position.recent, old, step, poll, pace.window, restarts=step.is_rewind or ended),
        trimmed_at=now if reading.start > old.start else position.trimmed_at,
        first_written=first_written,
        race=go_on(position.race, step.lost + step.possibly_lost, reading.end, now),
        rebuild=_next_rebuild(position.rebuild, rebuild, step),
    )
    return position, pace, step


def _reopened(position: Position, step: Step, now: Seconds, rebuild: Rebuild | None) -> Position:
    """The position once its rows are others."""
    opened = open_position(step.ledger.reading, now)
    return opened._replace(
        ledger=step.ledger,
        verdict=position.verdict,
        since=position.since,
        rebuild=_next_rebuild(None, rebuild, step),
    )


def _next_recent(recent: Recent, old: Reading, step: Step, poll: Poll, window: Seconds, *, restarts: bool) -> Recent:
    """What was read and written lately, after a poll; `restarts`: what was before says nothing of the reader now."""
    now, since = poll.now, poll.last
    reading = step.ledger.reading
    written = max(0, reading.end - old.end)
    if poll.is_blind or recent == NOTHING_RECENT:  # nobody knows when rows were read and written
        recent, since = Recent(known_since=now, judged_since=poll.last), now
    elif restarts:
        recent = recent.restarted(poll.last)
    if not (step.is_advance or step.read or written):
        return recent
    advance = (_age(reading, now), reading.drainable) if step.is_advance else None
    rows = (0, 0) if since == now else (step.read, written)
    return recent.after(since, now, window, *rows, advance)


def _next_rebuild(known: Rebuild | None, new: Rebuild | None, step: Step) -> Rebuild | None:
    """What the consumer still has to know: until a commit, but for one that repeats the offset of another queue."""
    if step.ledger.stale_offset is not None:
        return new if step.is_reopened else known
    if new is not None and new.kind is RebuildKind.RESHARD:
        return new
    return None if step.is_commit else known


def judge(
    position: Position,
    patience: Seconds | None,
    window: Seconds,
    now: Seconds,
    acknowledged: Seconds | None = None,
    *,
    is_known: bool,
    is_mended: bool = False,
) -> Position:
    """The position with the verdict that holds now; some need to hold for two polls.

    Args:
        position: after the poll.
        patience: a longer silence is a stop; None: no silence is.
        window: to judge rates by.
        now: of the poll.
        acknowledged: losses until then are known to the owner; None: none is.
        is_known: the usual pace is.
        is_mended: what took rows can take no more of them.
    """
    active = _find_activity(position, patience, window, now, is_known=is_known)
    activity, nearly_active = _calm(position.activity, position.nearly_active, active)
    loss = _find_loss(position, now, acknowledged, is_mended=is_mended)
    rebuild = _find_rebuild(position)
    whole = min(activity, loss, rebuild, key=_severity)
    # A loss that is not sure yet does not hide what became of the queue.
    held = min(activity, rebuild, key=_severity) if position.verdict in _REBUILT else position.verdict
    verdict, nearly = (activity, None) if whole is activity else _calm(held, position.nearly, whole)
    if (verdict, activity, nearly, nearly_active) == (
        position.verdict,
        position.activity,
        position.nearly,
        position.nearly_active,
    ):
        return position
    since = position.since if verdict is position.verdict else now
    return position._replace(
        verdict=verdict, since=since, activity=activity, nearly=nearly, nearly_active=nearly_active
    )


def _find_loss(position: Position, now: Seconds, acknowledged: Seconds | None, *, is_mended: bool) -> Verdict:
    """The verdict by losses alone."""
    loss, race = position.ledger.loss, position.race
    ends_after = MENDED_AFTER if is_mended else INCIDENT_ENDS_AFTER
    if loss is not None and loss.proved and now - loss.until <= ends_after:
        return Verdict.LOSING
    if race is not None and race.is_lasting:
        return Verdict.RACING
    is_known = loss is not None and acknowledged is not None and loss.until <= acknowledged
    if loss is not None and loss.proved and now - loss.until <= LOST_FOR and not is_known:
        return Verdict.LOST
    return Verdict.OK


def _find_rebuild(position: Position) -> Verdict:
    """The verdict by what became of the queue alone."""
    rebuild = position.open_rebuild
    if rebuild is None:
        return Verdict.OK
    is_recreated = rebuild.kind is RebuildKind.RECREATION or position.has_stale_offset
    return Verdict.RECREATED if is_recreated else Verdict.RESHARDED


def next_deadline(position: Position, patience: Seconds | None, now: Seconds) -> Seconds:
    """When time alone may change the verdict; infinity: never."""
    if position.nearly is not None or position.nearly_active is not None:
        return now
    due: list[Seconds] = []
    if position.ahead_since is not None:
        due.append(position.ahead_since + AHEAD_AFTER)
    if position.race is not None:
        due.append(position.race.since + RACE_SECONDS)
    if position.ledger.loss is not None:
        due += [position.ledger.loss.until + after for after in (MENDED_AFTER, INCIDENT_ENDS_AFTER, LOST_FOR)]
    if position.reading.drainable and position.reading.committed_at is not None:
        due.append(position.seen_at + WAITING_AFTER - position.silent)
        if patience is not None:
            due += [position.seen_at + patience - position.silent, position.seen_at + patience - position.still]
    if not position.reading.drainable:
        due.append(position.written_at + IDLE_AFTER)
    return min((one for one in due if one >= now), default=float("inf"))


def _is_silent(position: Position, pace: Pace) -> bool:
    """Whether a reader that has rows in flight would have committed them already."""
    if position.silent <= _SILENT_FOR:
        return False
    return pace.usual is not None and position.silent > 2 * pace.usual


def _severity(verdict: Verdict) -> int:
    return verdict.severity


def _rolled(position: Position, last: Seconds) -> Position:
    """The position as of the poll before, which was not worth a state of its own."""
    if last <= position.seen_at:
        return position
    exposed = _exposure(position.reading, position.seen_at, last, had_rows=True)
    return position._replace(seen_at=last, silent=position.silent + exposed, still=position.still + exposed)


def _exposure(reading: Reading, last: Seconds, now: Seconds, *, had_rows: bool) -> Seconds:
    """Time since the last poll in which there were rows to read; a consumer that has not begun is not exposed.

    Where there were rows already, the next of them may have been trimmed, and the age of the one that is next now tells
    nothing.
    """
    if not reading.drainable or reading.committed_at is None:
        return 0.0
    written = reading.next_row_time
    return max(0.0, now - (last if had_rows or written is None else max(last, written)))


def _age(reading: Reading, now: Seconds) -> Seconds | None:
    if not reading.drainable:
        return 0.0
    return None if reading.next_row_time is None else max(0.0, now - reading.next_row_time)


def _calm(current: Verdict, nearly: Verdict | None, found: Verdict) -> tuple[Verdict, Verdict | None]:
    """The verdict to hold, and the one that needs another poll."""
    if found is current or found not in _NEED_TWO_POLLS:
        return found, None
    return (found, None) if nearly is found else (current, found)


def _find_activity(
    position: Position, patience: Seconds | None, window: Seconds, now: Seconds, *, is_known: bool
) -> Verdict:
    reading = position.reading
    if position.ahead_since is not None and now - position.ahead_since >= AHEAD_AFTER:
        return Verdict.AHEAD
    if position.activity in _FINAL_WHILE_SILENT:
        return position.activity
    if patience is not None and position.silent > patience:
        return Verdict.STOPPED
    if patience is not None and position.still > patience:
        return Verdict.STALLED
    was = position.activity
    trend = None
    if reading.drainable:
        recent = position.recent.at(now, window)
        trend = recent.trend(patience, window, was_behind=was in _BEHIND, was_falling=was is Verdict.CATCHING_UP)
    if trend is not None and not (trend.falls if trend.is_certain else was is not Verdict.LAGGING):
        return Verdict.LAGGING
    if not is_known and position.silent >= WAITING_AFTER:
        return Verdict.WAITING
    if reading.drainable and reading.committed_at is None:
        return Verdict.NOT_STARTED
    if trend is not None:
        return Verdict.CATCHING_UP
    if not reading.drainable and now - position.written_at >= IDLE_AFTER:
        return Verdict.IDLE
    return Verdict.OK
