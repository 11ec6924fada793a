"""The sentence about a verdict, and what to do: made here alone, so that all surfaces say the same."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.advice import NO_ADVICE, Advice, Turn, command
from queue_agent.core.verdicts.rebuilding import Rebuild, RebuildKind
from queue_agent.core.verdicts.values import Loss, Seconds, Verdict, encode_seconds

_ONE_ROW: Final = ("--max-row-count", "1", "--format", "json")


class Facts(NamedTuple):
    """What a sentence is made from."""

    verdict: Verdict
    queue: CrossClusterRef
    consumer: CrossClusterRef
    partition: int | None
    """The worst one; None: it makes no difference, for there is one only."""

    since: Seconds
    now: Seconds
    drainable: int
    silent: Seconds
    offset: int
    end: int
    age: Seconds | None
    """Of the next row to read; None: not known."""

    usual: Seconds | None
    max_gap: Seconds | None
    """What the owner calls usual; None: it is learned."""

    loss: Loss | None
    read: float | None
    """Rows a second; None: not known."""

    written: float | None
    held_rows: int = 0
    """Rows that the queue could do without if it were not for this consumer."""

    is_vital: bool = False
    chosen: Collection[int] = ()
    """Partitions that the consumer is registered for; empty: all."""

    rebuild: Rebuild | None = None
    """What became of the queue, as long as the consumer has not shown that it knows."""

    was_unwatched: bool = False
    """Whether the queue was created again while no agent looked: more rows may have been lost than are known."""


def make_sentence(facts: Facts) -> str | None:
    """One sentence that states what was measured; None where nothing is to be said."""
    where = "" if facts.partition is None else f" in partition {facts.partition}"
    rows = count(facts.drainable, "unread row")
    match facts.verdict:
        case Verdict.AHEAD:
            partition = 0 if facts.partition is None else facts.partition
            sentence = f"Offset is {facts.offset - facts.end:,} past the end of partition {partition}"
            if facts.rebuild is not None:
                sentence += f"; the {facts.rebuild.phrase}"
        case Verdict.RECREATED:
            assert facts.rebuild is not None, "the verdict comes with what became of the queue"
            sentence = f"The {facts.rebuild.phrase}; offset {facts.offset:,}{where}"
            older = "one" if facts.rebuild.kind is RebuildKind.RECREATION else "partition"
            sentence += f" is of the old {older}, and rows before it go unread"
        case Verdict.RESHARDED:
            assert facts.rebuild is not None, "the verdict comes with what became of the queue"
            sentence = f"Nothing committed{where} since the {facts.rebuild.phrase}; {rows}"
        case Verdict.LOSING | Verdict.RACING | Verdict.LOST:
            return _loss_sentence(facts, where)
        case Verdict.STOPPED:
            usual = "" if facts.usual is None else f"; usually commits every {duration(facts.usual)}"
            if facts.max_gap is not None:
                usual = f"; its owner allows {duration(facts.max_gap)}"
            sentence = f"Silent for {duration(facts.silent)} with {rows}{where}{usual}"
        case Verdict.STALLED:
            sentence = f"Commits row {facts.offset:,}{where or ' of partition 0'} again and again"
        case Verdict.LAGGING:
            age = "" if facts.age is None else f"{duration(facts.age)} behind"
            sentence = f"{age or rows}{where}{_rates(facts)}"
        case Verdict.WAITING:
            sentence = f"{rows}{where} for {duration(facts.silent)}; the usual pace is not known yet"
        case Verdict.NOT_STARTED:
            sentence = f"Has read nothing yet; {rows}{where}"
        case Verdict.CATCHING_UP:
            age = "" if facts.age is None else f"{duration(facts.age)} behind, "
            sentence = f"Catches up: {age}{rows}{where}"
        case _:
            return None
    if facts.held_rows:
        sentence += f". It holds {count(facts.held_rows, 'row')} of the queue"
    return sentence


def advise(facts: Facts) -> Advice:
    """Whose turn it is, and what helps."""
    queue = facts.queue
    match facts.verdict:
        case Verdict.AHEAD | Verdict.RECREATED:
            return _from_earliest(facts)
        case Verdict.RESHARDED:
            words = "see that somebody reads each partition; readers of fixed partitions have to be told"
            return Advice(Turn.OWNER, words)
        case Verdict.LOSING | Verdict.RACING:
            return _keep_rows(facts)
        case Verdict.STOPPED:
            return Advice(Turn.OWNER, "restart the reader")
        case Verdict.STALLED:
            partition = 0 if facts.partition is None else facts.partition
            row = ("--offset", str(facts.offset), "--partition-index", str(partition), *_ONE_ROW)
            return command(Turn.OWNER, (*_yt(queue, "pull-queue", queue.path), *row))
        case Verdict.LAGGING:
            return Advice(Turn.OWNER, "start more readers, up to one for each partition")
        case Verdict.LOST:
            return Advice(Turn.OWNER, "read the rows from another copy, and acknowledge the loss then")
        case _:
            return NO_ADVICE


def _keep_rows(facts: Facts) -> Advice:
    """What keeps rows until the consumer has read them."""
    assert facts.loss is not None, "a verdict about losses comes with a loss"
    queue, cause = facts.queue, facts.loss.cause.value
    if facts.rebuild is not None and facts.rebuild.kind is RebuildKind.RECREATION:
        return _from_earliest(facts)
    if cause == "ttl":  # it removes rows of vital consumers as well
        keep = _yt(queue, "set", f"{queue.path}/@min_data_versions", "1")
        return command(Turn.OWNER, keep, _yt(queue, "remount-table", queue.path))
    if cause == "quarantine":
        return command(Turn.OWNER, ("queue-agent", "consumer", "protect", str(queue), str(facts.consumer)))
    if facts.is_vital or cause not in ("vital_trimming", "export_trimming"):
        return NO_ADVICE  # it holds its rows now, or somebody else trims whom that would not stop
    chosen = ("--partitions", *map(str, sorted(facts.chosen))) if facts.chosen else ()
    register = _yt(queue, "register-queue-consumer", queue.path, str(facts.consumer), "--vital")
    return command(Turn.OPERATOR, (*register, *chosen))


def _from_earliest(facts: Facts) -> Advice:
    reset = ("queue-agent", "consumer", "reset", str(facts.queue), str(facts.consumer), "--to", "earliest")
    is_reshard = facts.rebuild is not None and facts.rebuild.kind is RebuildKind.RESHARD
    one = ("--partition", str(facts.partition or 0)) if is_reshard else ()
    return command(Turn.OWNER, (*reset, *one))


def _yt(queue: CrossClusterRef, *words: str) -> tuple[str, ...]:
    return ("yt", "--proxy", queue.cluster, *words)


def _loss_sentence(facts: Facts, where: str) -> str:
    loss = facts.loss
    assert loss is not None, "a verdict about losses comes with a loss"
    if loss.cause.value == "recreation":
        rows = f"at least {count(loss.proved, 'row')}" if facts.was_unwatched else count(loss.rows, "row")
        return f"Lost {rows}{where} when the queue was re-created at {_clock(loss.since)}"
    who = {
        "vital_trimming": f"{loss.subject or 'another consumer'} trims ahead of it",
        "export_trimming": f"export {loss.subject or ''} trims ahead of it".replace("  ", " "),
        "ttl": "max_data_ttl of the queue removes them unread",
        "quarantine": "it is in quarantine",
    }.get(loss.cause.value, "trimmed by hand, by TTL or by another agent")
    possibly = "" if loss.proved == loss.rows else f"{loss.rows - loss.proved:,} of them possibly"
    if facts.verdict is Verdict.LOST:
        until = f"from {_clock(loss.since)} to {_clock(loss.until)}"
        who = who.replace("trims", "trimmed").replace("removes", "removed").replace("is in", "was in")
        possibly = f" ({possibly})" if possibly else ""
        return f"Lost {count(loss.rows, 'row')}{possibly}{where} {until}; {who}"
    rate = f"{loss.rows_per_second:,.0f} rows/s" if loss.rows_per_second >= 1 else "rows"
    if facts.verdict is Verdict.RACING:
        begun = f"{count(loss.rows, 'row')} since {_clock(loss.since)}"
        rate = rate.capitalize()
        return f"{rate}{where} are trimmed before it commits them, {begun}; it may not have read them; {who}"
    rows = f"{count(loss.rows, 'row')}, {possibly}" if possibly else count(loss.rows, "row")
    return f"Loses {rate}{where} since {_clock(loss.since)} ({rows}); {who}"


def _rates(facts: Facts) -> str:
    if facts.read is None or facts.written is None:
        return ""
    if facts.written > 1.05 * facts.read:
        return f"; reads {facts.read:,.0f} rows/s, producers write {facts.written:,.0f}"
    return f"; reads {facts.read:,.0f} rows/s"


def count(rows: int, noun: str) -> str:
    """A number and what is counted."""
    return f"{rows:,} {noun}" if rows == 1 else f"{rows:,} {noun}s"


def duration(seconds: Seconds) -> str:
    """The two largest units, such as `2 min 4 s`."""
    rest = round(seconds)
    if rest < 60:
        return f"{rest} s"
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    first = next(index for index, (_, size) in enumerate(units) if rest >= size)
    texts: list[str] = []
    for name, size in units[first : first + 2]:
        if rest // size:
            texts.append(f"{rest // size} {name}")
        rest %= size
    return " ".join(texts)


def _clock(instant: Seconds) -> str:
    return encode_seconds(instant)[:19] + "Z"
