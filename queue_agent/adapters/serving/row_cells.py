"""Rows as JSON: every value as text with its type, cut where it is long, whatever bytes it has."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.timestamps import instant_of
from yt_wire import yson

MAX_TEXT: Final = 1000
_MAX_BYTES: Final = 4 * MAX_TEXT
"""No character of UTF-8 has more than four."""

_UNPRINTABLE: Final = re.compile(rb"[^\x20-\x7e]")
_PARTIAL_END: Final = 3


def show_row(row: Mapping[Any, Any], columns: Sequence[str]) -> dict[str, Any]:
    """A row: `offset`, `timestamp` and `columns`.

    Args:
        row: keys and strings are bytes.
        columns: which to show, in this order.
    """
    timestamp: Any = row.get(b"$timestamp")
    return {
        "offset": int(row[b"$row_index"]),
        "timestamp": None if yson.is_null(timestamp) else encode_instant(instant_of(int(timestamp))),
        "columns": {name: show_cell(row.get(name.encode())) for name in columns},
    }


def show_cell(value: Any) -> dict[str, Any]:
    """A value: `type`, `text`, whether it was `truncated`, and its `size` in bytes if it is a string."""
    if yson.is_null(value):
        return {"type": "null", "text": "", "truncated": False}
    if isinstance(value, bytes):
        return _show_bytes(value)
    plain = yson.plain(value) if not isinstance(value, (list, dict)) else value
    match plain:
        case bool():
            return _cell("boolean", "true" if plain else "false")
        case yson.Uint64():
            return _cell("uint64", str(int(plain)))
        case int():
            return _cell("int64", str(plain))
        case float():
            return _cell("double", repr(plain))
    return _show_bytes(yson.dumps(value, "text"), "any")


def _show_bytes(value: bytes, kind: str = "string") -> dict[str, Any]:
    piece = value[:_MAX_BYTES]
    text = _decode(piece, is_cut=len(piece) < len(value))
    binary = text is None
    if text is None:
        text = _UNPRINTABLE.sub(lambda match: b"\\x%02x" % match[0][0], piece[:MAX_TEXT]).decode("ascii")
    cell = _cell(kind, text)
    cut = len(piece) < len(value) or (binary and len(value) > MAX_TEXT)
    return {**cell, "truncated": cell["truncated"] or cut, "size": len(value), **({"binary": True} if binary else {})}


def _decode(piece: bytes, *, is_cut: bool) -> str | None:
    """The text; None if this is none. A character that was cut through is left out."""
    for end in range(len(piece), len(piece) - (_PARTIAL_END if is_cut else 0) - 1, -1):
        try:
            return piece[:end].decode()
        except UnicodeDecodeError:
            continue
    return None


def _cell(kind: str, text: str) -> dict[str, Any]:
    return {"type": kind, "text": text[:MAX_TEXT], "truncated": len(text) > MAX_TEXT}
