"""How many values a body may have: each takes far more memory than the byte or two that it takes on the wire."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from yt_wire.error import YtError

MAX_VALUE_COUNT: Final = 10_000_000
"""Of one request; it takes 64 to 100 bytes for each."""


def check_value_count(data: bytes, marks: Iterable[bytes]) -> None:
    """YtError if there are more values than a request may have.

    Args:
        data: what is about to be read.
        marks: bytes of which one comes with each value; those inside of strings count as well.
    """
    if len(data) > MAX_VALUE_COUNT and sum(map(data.count, marks)) > MAX_VALUE_COUNT:
        raise too_many_values()


def too_many_values() -> YtError:
    """The error for whoever counts otherwise."""
    return YtError(f"Request has more than {MAX_VALUE_COUNT} values; send it in parts")
