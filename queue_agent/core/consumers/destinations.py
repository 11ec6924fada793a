"""Where a consumer is to be moved, as people write it."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from queue_agent.core.consumers.offset_reset import Destination, Earliest, Instant, Latest, RowIndex

_AGE: Final = re.compile(r"([0-9]{1,18})(s|m|h|d)")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_ROW: Final = re.compile(r"[0-9]{1,18}")


def parse_destination(text: str, now: datetime) -> Destination:
    """Read `earliest`, `latest`, a row index, an age such as `2h`, or an instant with its zone; else ValueError."""
    if text == "earliest":
        return Earliest()
    if text == "latest":
        return Latest()
    if _ROW.fullmatch(text):
        return RowIndex(int(text))
    if age := _AGE.fullmatch(text):
        try:
            return Instant(now - timedelta(seconds=int(age[1]) * _SECONDS[age[2]]))
        except OverflowError as error:
            raise ValueError(f"destination {text} is before the beginning of time") from error
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(
            f"a destination is earliest, latest, a row index, an age such as 90s, 30m, 2h or 7d, or an instant such as"
            f" 2026-03-01T12:00:00Z; got {text!r}"
        ) from error
    if instant.tzinfo is None:
        raise ValueError(
            f"destination {text} does not say in which zone, as 2026-03-01T12:00:00Z or +03:00 in place of Z"
        )
    return Instant(instant)
