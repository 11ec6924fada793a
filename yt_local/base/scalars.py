"""Scalars of requests, read as leniently as real clusters read them: foreign-clients.md §1.6."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from yt_wire import yson

_WORDS: Final = {"true": True, "1": True, "false": False, "0": False}
_MILLISECONDS: Final[Mapping[str, float]] = {
    "ns": 1e-6,
    "us": 1e-3,
    "ms": 1,
    "": 1000,
    "s": 1000,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
}
"""By unit of durations as text; a number alone is seconds there."""

_DURATION: Final = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)(ns|us|ms|s|m|h|d|w|)")


def boolean(value: Any) -> bool:
    """A boolean: also `true`, `false`, `1` and `0` as text, and the numbers 0 and 1; ValueError for anything else."""
    plain = yson.plain(value)
    if isinstance(plain, str):
        if plain not in _WORDS:
            raise ValueError(f"Error parsing boolean value {yson.shown(plain)}")
        return _WORDS[plain]
    if isinstance(plain, int):
        if plain not in (0, 1):
            raise ValueError(f"Expected 0 or 1 but found {plain}")
        return bool(plain)
    raise ValueError("must be a boolean")


def integer(value: Any) -> int:
    """A number, signed or not; ValueError for anything else, text with digits included."""
    plain = yson.plain(value)
    if isinstance(plain, bool) or not isinstance(plain, int):
        raise ValueError("must be an integer")
    return plain


def milliseconds(value: Any) -> int:
    """A duration: milliseconds, whole or not, or text such as `5s`; ValueError for anything else."""
    plain = yson.plain(value)
    if isinstance(plain, str):
        match = _DURATION.fullmatch(plain)
        if match is None:
            raise ValueError(f"Error parsing duration {yson.shown(plain)}")
        return int(float(match[1]) * _MILLISECONDS[match[2]])
    if isinstance(plain, float) and abs(plain) < 2**63:
        return int(plain)
    return integer(plain)
