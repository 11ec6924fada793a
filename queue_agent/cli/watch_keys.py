"""What keys do to the screen of `queue-agent watch`."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from prompt_toolkit.keys import Keys

_MAX_FILTER: Final = 200
"""Characters; a paste can have any number."""

HELP: Final = (
    ("up, down, j, k", "move by one line"),
    ("page up, page down, home, end", "move further"),
    ("enter, right", "open the queue or consumer"),
    ("1 to 9", "in a queue, open a consumer; in a consumer, open a queue"),
    ("escape, left, backspace", "go back"),
    ("s", "sort by the next: worst first, name, rows, lag"),
    ("/", "show only names or states with what you type; enter keeps it, escape drops it"),
    ("p", "show problems only, or all"),
    ("? or h", "this help"),
    ("q, ctrl-c", "quit"),
)


class Order(enum.Enum):
    """How rows are sorted."""

    WORST = "worst first"
    NAME = "name"
    ROWS = "rows"
    LAG = "lag"


@dataclass(frozen=True, slots=True)
class Screen:
    """What somebody has chosen to see."""

    order: Order = Order.WORST
    words: str = ""
    """Only names and states that contain it are shown."""

    only_problems: bool = False
    is_typing: bool = False
    """Keys go into `words`."""

    shows_help: bool = False
    has_ended: bool = False
    selected: str = ""
    """Key of the selected row; it stays selected when rows are sorted again."""

    opened: tuple[str, ...] = ()
    """Names of queues and consumers, each opened from the one before; the last is shown."""

    first_line: int = 0
    """How far an opened object is scrolled."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What is on the screen while a key is pressed."""

    keys: Sequence[str] = ()
    """Of rows, from the top."""

    names: Mapping[str, str] | None = None
    """What a row opens, by its key."""

    links: Sequence[str] = ()
    """What the digits open."""

    page: int = 10
    """Lines that fit."""

    line_count: int = 0
    """Lines of an opened object."""


def press(screen: Screen, key: str, shown: Shown) -> Screen:
    """The screen after a key.

    Args:
        screen: before.
        key: a character, or one of `Keys`; others do nothing.
        shown: what is on the screen.
    """
    if key in (Keys.ControlC, Keys.ControlD):
        return replace(screen, has_ended=True)
    if screen.is_typing:
        return _type(screen, key)
    if screen.shows_help:
        return replace(screen, shows_help=False, has_ended=key == "q")
    if key in _ACTIONS:
        return _ACTIONS[key](screen, shown)
    if key in _MOVES:
        return _move(screen, _MOVES[key], shown)
    if key.isdigit() and 0 < int(key) <= len(shown.links):
        return _open(screen, shown.links[int(key) - 1])
    return screen


def _type(screen: Screen, key: str) -> Screen:
    if key == Keys.Enter:
        return replace(screen, is_typing=False)
    if key == Keys.Escape:
        return replace(screen, is_typing=False, words="")
    if key == Keys.Backspace:
        return replace(screen, words=screen.words[:-1])
    if len(key) == 1 and key.isprintable() and len(screen.words) < _MAX_FILTER:
        return replace(screen, words=screen.words + key)
    return screen


def _move(screen: Screen, pages: tuple[int, int], shown: Shown) -> Screen:
    lines, whole = pages
    step = lines + whole * max(1, shown.page - 1)
    if screen.opened:
        last = max(0, shown.line_count - shown.page)
        return replace(screen, first_line=min(max(0, screen.first_line + step), last))
    if not shown.keys:
        return screen
    index = shown.keys.index(screen.selected) if screen.selected in shown.keys else 0
    return replace(screen, selected=shown.keys[min(max(0, index + step), len(shown.keys) - 1)])


def _open_selected(screen: Screen, shown: Shown) -> Screen:
    if screen.opened or not shown.keys or shown.names is None:
        return screen
    key = screen.selected if screen.selected in shown.keys else shown.keys[0]
    return _open(replace(screen, selected=key), shown.names[key])


def _open(screen: Screen, name: str) -> Screen:
    return replace(screen, opened=(*screen.opened, name), first_line=0)


def _back(screen: Screen, shown: Shown) -> Screen:
    if screen.opened:
        return replace(screen, opened=screen.opened[:-1], first_line=0)
    return replace(screen, words="")


def _sort(screen: Screen, shown: Shown) -> Screen:
    orders = list(Order)
    return replace(screen, order=orders[(orders.index(screen.order) + 1) % len(orders)])


_FAR: Final = 1 << 20

_MOVES: Final[Mapping[str, tuple[int, int]]] = {
    Keys.Up: (-1, 0),
    "k": (-1, 0),
    Keys.Down: (1, 0),
    "j": (1, 0),
    Keys.PageUp: (0, -1),
    Keys.PageDown: (0, 1),
    " ": (0, 1),
    Keys.Home: (0, -_FAR),
    "g": (0, -_FAR),
    Keys.End: (0, _FAR),
    "G": (0, _FAR),
}
"""Lines and pages."""

_ACTIONS: Final[Mapping[str, Callable[[Screen, Shown], Screen]]] = {
    "q": lambda screen, _: replace(screen, has_ended=True),
    "?": lambda screen, _: replace(screen, shows_help=True),
    "h": lambda screen, _: replace(screen, shows_help=True),
    "/": lambda screen, _: replace(screen, is_typing=not screen.opened),
    "p": lambda screen, _: replace(screen, only_problems=not screen.only_problems),
    "s": _sort,
    Keys.Enter: _open_selected,
    Keys.Right: _open_selected,
    Keys.Escape: _back,
    Keys.Left: _back,
    Keys.Backspace: _back,
}
