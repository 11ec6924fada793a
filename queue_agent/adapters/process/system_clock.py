"""Time of day, by the machine."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """`ports.Clock`."""

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 - this is the clock the others are given
