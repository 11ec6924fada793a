"""Where an error that nobody expected stops: it becomes the error of the one object it showed at.

Every loop over objects of several owners does its work for one of them through `isolate`, or hands what it caught to
`contain`. A parser that meets a value nobody thought of then costs its own object a pass, and no other. Cancellation
passes: it is no `Exception`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeVar, get_args

import structlog

from queue_agent.errors import UnexpectedError

log = structlog.get_logger(__name__)

T = TypeVar("T")

Place = Literal[
    "agent",
    "discovery",
    "dynamic_config",
    "exports",
    "fleet",
    "polls",
    "history",
    "metrics",
    "orchid",
    "page",
    "pass",
    "questions",
    "rounds",
    "state_tables",
]
"""A loop over objects of several owners."""

REPEATED_AFTER_SECONDS: Final = 60.0
"""A bug that shows again and again is a line so often, without its traceback."""

_MAX_WORDS: Final = 500
"""Of an error's words: some name the whole value that caused them."""

_Bug = tuple[Place, str, str, int]
"""Place, type of the error, and the line of code that raised it."""


@dataclass(slots=True)
class _Told:
    """What was logged of a bug."""

    at: float
    untold: int = 0


_lock: Final = threading.Lock()
_told: Final[dict[_Bug, _Told]] = {}
_counts: Final[dict[Place, int]] = dict.fromkeys(get_args(Place), 0)


def isolate(place: Place, subject: object, work: Callable[[], T]) -> T | UnexpectedError:
    """What some work for one object gives; if it raises anything, that object's error.

    Args:
        place: the loop.
        subject: the object, for people.
        work: does not wait for anything.
    """
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - this is the place where errors of one object are kept from others
        return contain(place, subject, error)


def contain(place: Place, subject: object, error: Exception) -> UnexpectedError:
    """Log and count an error that nobody expected; may be called by any thread.

    The first time a bug shows it is logged with its traceback. Arguments and result are as for `isolate`.
    """
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = ("", 0) if frame is None else (frame.tb_frame.f_code.co_filename, frame.tb_lineno)
    words = repr(error)[:_MAX_WORDS]
    fields = {"place": place, "subject": str(subject), "error": words}
    untold = _note((place, type(error).__name__, *where))
    if untold is None:
        pass
    elif untold == 0:
        log.error("unexpected error of one object", **fields, exc_info=error)
    else:
        log.error("unexpected error of one object again", **fields, times=untold)
    result = UnexpectedError(f"Unexpected error in {place} of {subject}, a bug of the queue agent: {words}")
    result.__cause__ = error
    return result


def contained_errors() -> Mapping[Place, int]:
    """How many errors were contained since the process began, by place; 0 where there were none."""
    with _lock:
        return dict(_counts)


def _note(bug: _Bug) -> int | None:
    """Count it; 0 if it is new, how often it came up since the last log line, or None if none is due."""
    now = time.monotonic()
    with _lock:
        _counts[bug[0]] += 1
        told = _told.get(bug)
        if told is None:
            _told[bug] = _Told(now)
            return 0
        told.untold += 1
        if now - told.at < REPEATED_AFTER_SECONDS:
            return None
        untold, told.untold, told.at = told.untold, 0, now
        return untold
