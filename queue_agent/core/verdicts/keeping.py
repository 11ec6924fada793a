"""What is kept of verdicts beyond the life of an agent: marks, counters and pace, as rows of a table.

Each older version of a row is a valid state: what happened since follows from its marks at the next poll.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from queue_agent.core.values.encoding import MAX_UNSIGNED
from queue_agent.core.values.scalars import MAX_SECOND, read_integer, read_text, shown
from queue_agent.core.verdicts.counts import MOST_COUNTED, NO_COUNTS, Counts
from queue_agent.core.verdicts.ledger import NO_TABLETS, Ledger, Reading
from queue_agent.core.verdicts.objectives import NO_SECONDS, ObjectiveSeconds
from queue_agent.core.verdicts.pace import Habit, Pace
from queue_agent.core.verdicts.position import Position, open_position
from queue_agent.core.verdicts.queue_state import Pair, QueueState
from queue_agent.core.verdicts.race import Race
from queue_agent.core.verdicts.rebuilding import Rebuild, RebuildKind
from queue_agent.core.verdicts.values import Loss, LossCause, Seconds, Verdict

_LAST_BUCKET: Final = 160
"""Of gaps: some 30,000 years."""

PAIR: Final = -1
"""Partition index of the row about all partitions."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One row: a position, or what is known of the consumer in all partitions of a queue."""

    pair: Pair
    partition_index: int
    state: Mapping[str, Any]
    verdict: str | None = None
    """For people who look at the table; None in the row about all partitions."""

    lost_rows: int | None = None
    """For people who look at the table; None in the row about all partitions."""


@dataclass(frozen=True, slots=True)
class Written:
    """What is remembered of a state that was written: as little as the next one is compared with."""

    seen_at: Mapping[int, Seconds]
    """By partition index: the poll from which the position is. Each that matters makes another position."""

    counts: Mapping[int, Counts]
    """By partition index, also of those that are no more."""

    pace: Pace
    last_poll: Seconds | None
    seconds: ObjectiveSeconds
    is_told_dead: bool

    @classmethod
    def of(cls, state: QueueState) -> Written:
        known = {**state.left, **state.positions}
        seen_at = {index: one.seen_at for index, one in known.items()}
        return cls(seen_at, state.counts, state.pace, state.last_poll, state.seconds, state.is_told_dead)


def is_worth_keeping(state: QueueState, before: QueueState) -> bool:
    """Whether more has happened since another state than that time has passed; what only time brings comes again."""
    if state.seconds is not before.seconds or state.is_told_dead is not before.is_told_dead:
        return True
    if state.positions.keys() != before.positions.keys() or state.left.keys() != before.left.keys():
        return True
    pairs = ((one, before.positions[index]) for index, one in state.positions.items())
    return any(new is not old and _lasting(new) != _lasting(old) for new, old in pairs)


def _lasting(position: Position) -> tuple[object, ...]:
    return (
        position.ledger._replace(settled_at=0.0),
        position.written_at,
        position.ahead_since,
        position.verdict,
        position.activity,
        position.race,
        position.rebuild,
    )


def has_losses_of(written: Written, state: QueueState) -> bool:
    """Whether all losses of a state are among those that were written."""
    return all(one.told_as(written.counts.get(index, NO_COUNTS)) is one for index, one in state.counts.items())


def is_urgent(old: QueueState, new: QueueState) -> bool:
    """Whether a change is to be kept at once: another verdict, or what older marks cannot reproduce."""
    if old.verdict is None or new.verdict is None:
        return True
    before, now = old.verdict.whole, new.verdict.whole
    return before.verdict is not now.verdict or _unrepeatable(before.counts) != _unrepeatable(now.counts)


def _unrepeatable(counts: Counts) -> tuple[int, ...]:
    return counts.lost, counts.possibly_lost, counts.skipped, counts.rewinds


def changed_rows(state: QueueState, kept: Written | None) -> list[LedgerRow]:
    """Rows that tell what was not known when a state was kept.

    Args:
        state: as of now.
        kept: what was written before; None: nothing.
    """
    rows = [
        LedgerRow(state.pair, index, _position_map(position), position.verdict.value, position.ledger.counts.lost)
        for index, position in {**state.left, **state.positions}.items()
        if kept is None or position.seen_at != kept.seen_at.get(index)
    ]
    told = state.pace, state.last_poll, state.seconds, state.is_told_dead
    if rows or kept is None or told != (kept.pace, kept.last_poll, kept.seconds, kept.is_told_dead):
        whole = {
            **_pace_map(state.pace),
            "last_poll": state.last_poll,
            "objective": _seconds_map(state.seconds),
            "told_dead": state.is_told_dead,
        }
        rows.append(LedgerRow(state.pair, PAIR, whole))
    return rows


@dataclass(frozen=True, slots=True)
class Restored:
    """What rows tell of."""

    state: QueueState | None
    """None: nothing."""

    errors: Sequence[str] = ()
    """Of rows that make no sense: whatever they were about starts again, and nothing else does."""


def restore(pair: Pair, rows: Iterable[tuple[Any, Any]], now: Seconds) -> Restored:
    """The state that rows tell of.

    Of rows from the future, which a wrong clock wrote, marks and counters stay. All that goes by time starts again: a
    poll before the last one does not count, so the verdict would stay as it is until that time comes.

    Args:
        pair: whose rows these are.
        rows: partition index and state.
        now: time of day.
    """
    positions: dict[int, Position] = {}
    pace, last_poll, seconds, is_told_dead = Pace(), None, NO_SECONDS, False
    errors: list[str] = []
    for index, state in rows:
        try:
            if index == PAIR:
                read = _read_pace(state, now), _read_optional(state["last_poll"])
                seconds = _read_objective_seconds(state.get("objective"), now)
                pace, last_poll = read
                is_told_dead = state.get("told_dead") is True  # an earlier version did not tell
            else:
                positions[read_integer(index, "partition_index")] = _read_position(state)
        except (KeyError, TypeError, AttributeError, OverflowError, ValueError) as error:
            errors.append(f"Row {index} of the ledger of {pair.consumer} in {pair.queue} makes no sense: {error!r}")
    if last_poll is None and positions:
        last_poll = max(one.seen_at for one in positions.values())
    if last_poll is None:
        known = None if seconds == NO_SECONDS else QueueState(pair, is_kept=True, seconds=seconds)
        return Restored(known, errors)
    if last_poll > now:
        positions = {index: _begun_anew(position, now) for index, position in positions.items()}
        pace, last_poll = Pace(), now
    state = QueueState(
        pair,
        dict(sorted(positions.items())),
        pace,
        last_poll,
        is_kept=True,
        seconds=seconds,
        is_told_dead=is_told_dead,
    )
    return Restored(state, errors)


def _begun_anew(position: Position, now: Seconds) -> Position:
    """The marks and counters of a position, and nothing that goes by time."""
    old = position.ledger
    reading = old.reading._replace(next_row_time=None)
    ledger = old._replace(reading=reading, reach=None, reach_at=0.0, loss=None)
    return open_position(reading, now)._replace(ledger=ledger, rebuild=position.rebuild)


def _position_map(position: Position) -> dict[str, Any]:
    ledger, reading = position.ledger, position.reading
    return {
        "start": reading.start,
        "end": reading.end,
        "offset": reading.offset,
        "committed_at": reading.committed_at,
        "tablet_id": reading.tablet_id,
        "object_id": reading.object_id,
        "next_row_time": reading.next_row_time,
        "accounted": ledger.accounted,
        "settled_at": ledger.settled_at,
        "reach": ledger.reach,
        "reach_at": ledger.reach_at,
        "counts": {one.name: getattr(ledger.counts, one.name) for one in fields(Counts)},
        "missed_before_start": ledger.missed_before_start,
        "loss": None if ledger.loss is None else _loss_map(ledger.loss),
        "stale_offset": ledger.stale_offset,
        "older_tablets": sorted(ledger.older_tablets),
        "offset_tablet": ledger.offset_tablet,
        "rebuild": None if position.rebuild is None else _rebuild_map(position.rebuild),
        "race": None if position.race is None else asdict(position.race),
        "seen_at": position.seen_at,
        "silent": position.silent,
        "still": position.still,
        "written_at": position.written_at,
        "ahead_since": position.ahead_since,
        "verdict": position.verdict.value,
        "since": position.since,
        "activity": position.activity.value,
    }


def _read_position(state: Mapping[str, Any]) -> Position:
    reading = Reading(
        _row_index(state["start"]),
        _row_index(state["end"]),
        _row_index(state["offset"]),
        _read_optional(state["committed_at"]),
        read_text(state["tablet_id"], "tablet_id"),
        None if state["object_id"] is None else read_text(state["object_id"], "object_id"),
        _read_optional(state["next_row_time"]),
    )
    ledger = Ledger(
        reading,
        _row_index(state["accounted"]),
        _read_optional(state["reach"]),
        _read_seconds(state["reach_at"]),
        # A counter of a later version is none of this one's.
        Counts(**{one.name: _count(state["counts"].get(one.name, 0)) for one in fields(Counts)}),
        _count(state["missed_before_start"]),
        # An earlier version settled everything at each poll.
        _read_seconds(state.get("settled_at", state["seen_at"])),
        None if state["loss"] is None else _read_loss(state["loss"]),
        # An earlier version did not tell.
        None if state.get("stale_offset") is None else _row_index(state["stale_offset"]),
        frozenset(read_text(one, "older_tablets") for one in state.get("older_tablets", ())) or NO_TABLETS,
        read_text(state.get("offset_tablet", reading.tablet_id), "offset_tablet"),
    )
    return Position(
        ledger,
        _read_seconds(state["seen_at"]),
        _read_seconds(state["silent"]),
        _read_seconds(state["still"]),
        _read_seconds(state["written_at"]),
        _read_optional(state["ahead_since"]),
        Verdict(state["verdict"]),
        _read_seconds(state["since"]),
        Verdict(state["activity"]),
        # Earlier versions did not tell.
        race=None if state.get("race") is None else _read_race(state["race"]),
        rebuild=None if state.get("rebuild") is None else _read_rebuild(state["rebuild"]),
    )


def _loss_map(loss: Loss) -> dict[str, Any]:
    return {
        "since": loss.since,
        "until": loss.until,
        "cause": loss.cause.value,
        "subject": loss.subject,
        "rows": loss.rows,
        "proved": loss.proved,
        "data_weight": loss.data_weight,
    }


def _read_loss(state: Mapping[str, Any]) -> Loss:
    subject = state["subject"]
    return Loss(
        _read_seconds(state["since"]),
        _read_seconds(state["until"]),
        LossCause(state["cause"]),
        None if subject is None else read_text(subject, "subject"),
        _count(state["rows"]),
        # Of an earlier version, which counted no others.
        _count(state.get("proved", state["rows"])),
        None if state.get("data_weight") is None else _count(state["data_weight"]),
    )


def _rebuild_map(rebuild: Rebuild) -> dict[str, Any]:
    return {"kind": rebuild.kind.value, "at": rebuild.at}


def _read_rebuild(state: Mapping[str, Any]) -> Rebuild:
    return Rebuild(RebuildKind(state["kind"]), _read_seconds(state["at"]))


def _read_race(state: Mapping[str, Any]) -> Race:
    return Race(
        _read_seconds(state["since"]),
        _row_index(state["end"]),
        _count(state["rows"]),
        _read_seconds(state["grew_at"]),
        state["is_lasting"] is True,
    )


def _pace_map(pace: Pace) -> dict[str, Any]:
    return {
        "gaps": pace.gaps,
        "longest": pace.longest,
        "seconds": {str(bucket): seconds for bucket, seconds in pace.seconds.items()},
        "origin": pace.origin,
        "outages": [list(outage) for outage in pace.outages],
        "habits": [[habit.length, habit.last_at] for habit in pace.habits],
        "polled_since": pace.polled_since,
    }


def _read_pace(state: Mapping[str, Any], now: Seconds) -> Pace:
    return Pace(
        _count(state["gaps"]),
        _read_seconds(state["longest"]),
        {_bucket(bucket): _read_seconds(seconds) for bucket, seconds in state["seconds"].items()},
        min(_read_seconds(state["origin"]), now),
        tuple((_read_seconds(end), _read_seconds(length)) for end, length in state["outages"]),
        tuple(Habit(_read_seconds(length), _read_seconds(last_at)) for length, last_at in state["habits"]),
        _read_optional(state["polled_since"]),
    )


def _seconds_map(seconds: ObjectiveSeconds) -> dict[str, Any]:
    return {"good": seconds.good, "bad": seconds.bad, "unknown": seconds.unknown, "until": seconds.until}


def _read_objective_seconds(state: Any, now: Seconds) -> ObjectiveSeconds:
    """What was counted; time that a wrong clock has counted is not counted again until it is over."""
    if state is None:  # of an earlier version
        return NO_SECONDS
    good, bad, unknown = (_read_seconds(state[name]) for name in ("good", "bad", "unknown"))
    until = _read_optional(state["until"])
    return ObjectiveSeconds(good, bad, unknown, None if until is None else min(until, now))


def _row_index(value: Any) -> int:
    """One as consumers may have it: an offset may be any number of 64 bits."""
    return read_integer(value, "row index", most=MAX_UNSIGNED)


def _count(value: Any) -> int:
    return read_integer(value, "count", most=MOST_COUNTED)


def _bucket(value: Any) -> int:
    """Of a pace: powers of two are computed from it."""
    return read_integer(int(value), "bucket", most=_LAST_BUCKET)


def _read_seconds(value: Any) -> float:
    """A number of seconds, or an instant that there is a date for."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_SECOND:
        raise ValueError(f"expected seconds, got {shown(value)}")
    return float(value)


def _read_optional(value: Any) -> float | None:
    return None if value is None else _read_seconds(value)
