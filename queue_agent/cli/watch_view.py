"""What `queue-agent watch` shows: rows that can be sorted and filtered, and one queue or consumer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text

from queue_agent.cli import words
from queue_agent.cli.plain import plain
from queue_agent.cli.status_view import COLORS, view_consumer, view_queue
from queue_agent.cli.statuses import Document, Overview, consumer_problems, name_of, position_problems, queue_problems
from queue_agent.cli.watch_keys import HELP, Order, Screen, Shown
from queue_agent.core.verdicts.values import Verdict

_LONGEST: Final = 500
"""Characters of a name or an error; a cluster allows thousands, and a screen has room for few."""

_MAX_LINKS: Final = 9
_PROBLEM_LINES: Final = 3
_NARROW: Final = 40
_FINE: Final = len(Verdict)
_QUEUE_PROBLEM: Final = Verdict.LAGGING.severity


@dataclass(frozen=True, slots=True)
class Row:
    """A queue, or a consumer in one of its queues."""

    key: str
    name: str
    """Of what it opens."""

    label: str
    state: str
    style: str
    severity: int
    """0 is the worst."""

    problem: str
    """What is wrong and what to do; empty if nothing is."""

    row_count: int | None
    """Rows of a queue, unread rows of a consumer."""

    lag: int | None
    """Milliseconds."""


def list_rows(overview: Overview) -> list[Row]:
    """All rows, in the order of the lists they come from."""
    rows = [_queue_row(one) for one in overview.queues]
    for one in overview.consumers:
        positions = one["overview"] or ()
        rows += [_position_row(one, position) for position in positions] or [_consumer_row(one)]
    return rows


def choose_rows(rows: Sequence[Row], screen: Screen) -> list[Row]:
    """Those that the screen asks for, sorted."""
    wanted = screen.words.casefold()
    chosen = [
        one
        for one in rows
        if (one.problem or not screen.only_problems) and (wanted in one.label.casefold() or wanted in one.state)
    ]
    return sorted(chosen, key=_SORTED[screen.order])


def view_rows(
    rows: Sequence[Row], screen: Screen, console: Console, head: Text, room: int
) -> tuple[RenderableType, Shown]:
    """The table, scrolled to the selected row, and below it what is wrong with that.

    Args:
        rows: as chosen.
        screen: what is selected.
        console: the terminal.
        head: lines above.
        room: lines below them.
    """
    keys = [one.key for one in rows]
    index = keys.index(screen.selected) if screen.selected in keys else 0
    size = max(1, room - 1 - _PROBLEM_LINES)
    start = max(0, min(index - size // 2, len(rows) - size))
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold", expand=False)
    is_narrow = console.width < _NARROW
    on_screen = rows[start : start + size]
    table.add_column("state", no_wrap=True, min_width=max((len(one.state) for one in on_screen), default=0))
    for name in () if is_narrow else ("rows", "lag"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("queue or consumer", no_wrap=True, overflow="ellipsis")
    for place, one in enumerate(on_screen, start):
        figures = () if is_narrow else (words.count(one.row_count), words.duration(one.lag))
        table.add_row(Text(one.state, one.style), *figures, Text(one.label), style="reverse" if place == index else "")
    problem = Text(rows[index].problem, "red") if rows else Text("nothing to show", "dim")
    shown = Shown(keys, {one.key: one.name for one in rows}, (), size)
    return Group(head, table, _cut(problem, console, 0, _PROBLEM_LINES)[0]), shown


def view_object(
    kind: str, document: Document, screen: Screen, console: Console, head: Text, room: int, now: datetime
) -> tuple[RenderableType, Shown]:
    """A queue or a consumer, with what the digits open."""
    links = links_of(kind, document)[:_MAX_LINKS]
    clean = plain(document, _LONGEST)
    listed = [Text(f"[{number}] {plain(name, _LONGEST)}", "cyan") for number, name in enumerate(links, 1)]
    view = (view_queue if kind == "queue" else view_consumer)(clean, now)
    body, count = _cut(Group(*listed, view), console, screen.first_line, room)
    return Group(head, body), Shown(links=links, page=room, line_count=count)


def view_help(head: Text) -> RenderableType:
    """What each key does."""
    return Group(head, *(Text.assemble((f"{keys}: ", "bold"), what) for keys, what in HELP))


def links_of(kind: str, document: Document) -> list[str]:
    """Names of consumers of a queue, or of queues of a consumer."""
    status: Mapping[str, Any] = document["status"]
    if kind == "queue":
        return [str(one["consumer"]) for one in status.get("registrations") or ()]
    return [str(name) for name in status.get("queues") or ()]


def _cut(view: RenderableType, console: Console, first: int, count: int) -> tuple[RenderableType, int]:
    """Some lines of what would fill more, and how many there are."""
    options: ConsoleOptions = console.options.update(height=None)
    lines = console.render_lines(view, options, pad=False)
    kept = [segment for line in lines[first : first + count] for segment in (*line, Segment.line())]
    return Segments(kept[:-1]), len(lines)


def _queue_row(one: Document) -> Row:
    figures = one["overview"] or {}
    problems = queue_problems(one)
    state, style, severity = "fine", "green", _FINE
    if one["error"] is not None:
        state, style, severity = "error", "red", 0
    elif one["pass_index"] == 0:
        state, style, severity = "not polled", "dim", Verdict.UNKNOWN.severity
    elif problems:
        state, style, severity = "problem", "yellow", _QUEUE_PROBLEM
    label = plain(name_of(one), _LONGEST)
    return Row(
        f"queue {name_of(one)}",
        name_of(one),
        label,
        state,
        style,
        severity,
        plain("; ".join(problems), _LONGEST),
        figures.get("row_count"),
        None,
    )


def _position_row(consumer: Document, position: Document) -> Row:
    verdict = Verdict(position["verdict"])
    name = name_of(consumer)
    vital = "  vital" if position["vital"] else ""
    return Row(
        f"consumer {name} {position['queue']}",
        name,
        f"{plain(name, _LONGEST)} of {plain(position['queue'], _LONGEST)}{vital}",
        verdict.value.replace("_", " "),
        COLORS[verdict.color],
        verdict.severity,
        plain("; ".join(position_problems(position)), _LONGEST),
        position.get("unread_row_count"),
        position.get("processing_lag"),
    )


def _consumer_row(one: Document) -> Row:
    problems = consumer_problems(one)
    state, style, severity = ("error", "red", 0) if problems else ("not registered", "dim", _FINE)
    label = plain(name_of(one), _LONGEST)
    problem = plain("; ".join(problems), _LONGEST)
    return Row(f"consumer {name_of(one)}", name_of(one), label, state, style, severity, problem, None, None)


def _most(value: int | None) -> int:
    return 1 if value is None else -value


_SORTED: Final[Mapping[Order, Any]] = {
    Order.WORST: lambda one: (one.severity, one.label),
    Order.NAME: lambda one: one.label,
    Order.ROWS: lambda one: (_most(one.row_count), one.label),
    Order.LAG: lambda one: (_most(one.lag), one.label),
}
