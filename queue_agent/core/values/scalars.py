"""Numbers, durations and instants as others have written them: within bounds, or a ValueError and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from queue_agent.core.values.encoding import MAX_UNSIGNED

MAX_SIGNED: Final = 2**63 - 1

MAX_DURATION: Final = timedelta(days=365 * 1000)
"""Longer ones make no sense, and an instant so far from today is still one."""

MAX_SECOND: Final = 253_402_300_799
"""Since the epoch: the last one there is an instant of."""

_MAX_MILLISECONDS: Final = MAX_DURATION // timedelta(milliseconds=1)


_BOOLEAN_WORDS: Final = {"true": True, "false": False}


def read_integer(value: Any, name: str, least: int = 0, most: int = MAX_SIGNED) -> int:
    """A whole number; ValueError for anything else, be it a boolean or a double."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f'Error reading "{name}": expected a number from {least} to {most}, got {shown(value)}')
    return int(value)


def read_boolean(value: Any, name: str) -> bool:
    """A boolean, or the word for it: `{enable=true}` in YSON is the string "true", and YTsaurus reads it so."""
    # The bindings' own booleans are ints with the word for a text, other ints are not.
    found = _BOOLEAN_WORDS.get(str(value).lower()) if isinstance(value, int | str) else None
    if found is None:
        raise ValueError(f'Error reading "{name}": expected a boolean, got {shown(value)}')
    return found


def read_text(value: Any, name: str) -> str:
    """A string in UTF-8; ValueError for anything else."""
    if not isinstance(value, str):
        raise ValueError(f'Error reading "{name}": expected a string, got {shown(value)}')
    return str(value)


def find_unsigned(value: Any) -> int | None:
    """A number that fits a uint64; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_UNSIGNED:
        return None
    return int(value)


def read_milliseconds(value: Any, name: str, least: int = 0) -> timedelta:
    """A duration, at most `MAX_DURATION`; ValueError for anything else."""
    return timedelta(milliseconds=read_integer(value, name, least, _MAX_MILLISECONDS))


def read_instant(value: Any, name: str) -> datetime:
    """An instant in ISO 8601, in UTC unless it says otherwise; ValueError for anything else."""
    try:
        instant = datetime.fromisoformat(value if isinstance(value, str) else "")
        return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f'Error reading "{name}": expected an instant, got {shown(value)}') from error


def shown(value: Any) -> str:
    """A value for people, cut short: whoever sets an attribute must not fill logs and alerts."""
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."
