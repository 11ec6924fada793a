"""The header that tells browsers what to do with an answer."""

from __future__ import annotations

from typing import Any

import pytest

from yt_local.commands import COMMANDS
from yt_local.proxy.http.disposition import binary_type, content_disposition
from yt_wire import yson


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"path": "//tmp/a b.txt"}, 'attachment; filename="yt___tmp_a_b.txt"'),
        ({"path": yson.with_attributes("//t", {"append": True})}, 'attachment; filename="yt___t"'),
        ({"path": "//ä"}, 'attachment; filename="yt_____"'),
        ({"path": "//t", "filename": 'x"\r\n: y.csv'}, 'attachment; filename="x_____y.csv"'),
        ({"path": "//t", "disposition": "INLINE"}, 'inline; filename="yt___t"'),
        ({"path": "//t", "disposition": "form-data"}, 'attachment; filename="yt___t"'),
        ({"path": 5, "disposition": [], "filename": {}}, "attachment"),
        ({}, "attachment"),
    ],
)
def test_heavy_commands_name_a_file_without_odd_characters(parameters: dict[str, Any], expected: str) -> None:
    assert content_disposition(COMMANDS["read_file"], parameters) == expected


def test_light_commands_have_none() -> None:
    assert content_disposition(COMMANDS["get"], {"path": "//t", "filename": "x"}) is None


def test_bytes_that_are_shown_are_text() -> None:
    assert binary_type('inline; filename="x"') == 'text/plain; charset="utf-8"'
    assert binary_type('attachment; filename="inline"') == "application/octet-stream"
    assert binary_type(None) == "application/octet-stream"
