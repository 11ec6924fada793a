"""Numbers, times and amounts in words for people."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

UNKNOWN: Final = "?"
"""Stands for what is not known; nothing else is shown as if it were a value."""

_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def count(value: int | None) -> str:
    """Such as `1,234,567`."""
    return UNKNOWN if value is None else f"{value:,}"


def rows(value: int) -> str:
    """Such as `1 row`."""
    return "1 row" if value == 1 else f"{value:,} rows"


def amount(value: float | None) -> str:
    """Bytes, such as `1.2 MiB`."""
    if value is None:
        return UNKNOWN
    for unit in _UNITS:
        if abs(value) < 1024 or unit == _UNITS[-1]:
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def rate(value: float | None) -> str:
    """Per second, such as `12.3/s`; what is left of an average long ago is zero."""
    if value is None:
        return UNKNOWN
    return "0" if value < 0.005 else f"{value:,.2f}/s" if value < 10 else f"{value:,.0f}/s"


def byte_rate(value: float | None) -> str:
    """Per second, such as `1.2 MiB/s`."""
    return UNKNOWN if value is None else "0" if value < 0.5 else f"{amount(value)}/s"


def duration(milliseconds: int | None) -> str:
    """The two largest units, such as `3 h 20 min`."""
    if milliseconds is None:
        return UNKNOWN
    if milliseconds < 1000:
        return "0" if milliseconds == 0 else "< 1 s"
    seconds = milliseconds // 1000
    parts = [(seconds // 86400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s")]
    first = next(index for index, (value, _) in enumerate(parts) if value)
    return " ".join(f"{value} {unit}" for value, unit in parts[first : first + 2] if value)


def age(instant: str | None, now: datetime) -> str:
    """Time since an instant as agents publish it, such as `3 h 20 min ago`."""
    if instant is None:
        return "never"
    seconds = (now - datetime.fromisoformat(instant).astimezone(UTC)).total_seconds()
    return "just now" if seconds < 1 else f"{duration(int(seconds) * 1000)} ago"
