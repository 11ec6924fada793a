from __future__ import annotations

import json
from typing import Any

import pytest

from queue_agent.adapters.serving.row_cells import MAX_TEXT, show_cell, show_row
from yt_wire import yson


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (None, "null", ""),
        (True, "boolean", "true"),
        (-(2**63), "int64", "-9223372036854775808"),
        (yson.Uint64(2**64 - 1), "uint64", "18446744073709551615"),
        (0.1, "double", "0.1"),
        (float("inf"), "double", "inf"),
        (b"", "string", ""),
        ("grüße\u202e\x1b[31m".encode(), "string", "grüße\u202e\x1b[31m"),
        ({b"a": [1, None]}, "any", '{"a"=[1;#;];}'),
    ],
)
def test_values_keep_their_types(value: Any, kind: str, text: str) -> None:
    cell = show_cell(value)
    assert (cell["type"], cell["text"], cell["truncated"]) == (kind, text, False)
    json.dumps(cell)


def test_bytes_that_are_no_text_are_shown_as_bytes() -> None:
    assert show_cell(b"\xff\x00ab") == {
        "type": "string",
        "text": "\\xff\\x00ab",
        "truncated": False,
        "size": 4,
        "binary": True,
    }


@pytest.mark.parametrize("value", [b"x" * 5_000_000, "ä".encode() * 5000, "\U0001f600".encode() * 5000, b"\xff" * 5000])
def test_large_values_are_cut(value: bytes) -> None:
    cell = show_cell(value)
    assert cell["truncated"] is True
    assert cell["size"] == len(value)
    assert len(cell["text"]) <= 4 * MAX_TEXT
    assert ("binary" in cell) == (value[0] == 0xFF)


def test_a_row_has_its_place_its_time_and_the_columns_that_were_asked_for() -> None:
    row = {b"$row_index": 7, b"$timestamp": yson.Uint64(0), b"a": b"x", b"$tablet_index": 0}
    assert show_row(row, ["a", "b"]) == {
        "offset": 7,
        "timestamp": "1970-01-01T00:00:00.000000Z",
        "columns": {"a": show_cell(b"x"), "b": show_cell(None)},
    }
    assert show_row({b"$row_index": 7}, [])["timestamp"] is None
