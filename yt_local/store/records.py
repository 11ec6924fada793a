"""Records as storage keeps them."""

from __future__ import annotations

from typing import Final

from yt_wire import yson

_SHALLOW: Final = 200
"""Fewer brackets cannot be nested more deeply than the parser goes, which is 256."""


def dump_record(record: yson.Yson) -> bytes:
    """A record in YSON.

    Raises:
        YtError: a value in it is nested so deeply that nobody could read the record again, after a restart for example.
    """
    data = yson.dumps(record)
    if data.count(b"[") + data.count(b"{") + data.count(b"<") >= _SHALLOW:
        yson.loads_raw(data)
    return data
