"""YSON in pieces."""

from __future__ import annotations

import pytest

from yt_wire import yson
from yt_wire.error import YtError


def test_rows_as_they_are_make_up_their_fragment() -> None:
    rows = [{b"number": yson.Uint64(5), b"data": b"x;\xff}"}, {b"data": None}, {b"list": [1, {b"a": 2.5}]}]
    fragment = yson.dumps_rows(rows)

    raw = yson.raw_rows(fragment)

    assert b"".join(raw) == fragment
    assert [yson.loads_rows(row) for row in raw] == [[row] for row in rows]
    with pytest.raises(YtError, match="Error parsing YSON"):
        yson.raw_rows(fragment[:-3])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "#"),
        (yson.with_attributes(None, {}), "#"),
        ("it's", '"it\'s"'),
        ("\udcff", '"\\xFF"'),
        (b"\xff", '"\\xFF"'),
        (yson.loads(rb'"\xff"'), '"\\xFF"'),
        (yson.loads(rb'{"\xff"=5u}'), '{"\\xFF"=5u;}'),
        (yson.with_attributes("x", {"a": 1}), '<"a"=1;>"x"'),
        ("x" * 300, '"' + "x" * 199 + "..."),
        (2**70, "1180591620717411303424"),
        ("\ud800", r"'\ud800'"),
        ({"a": "\ud800"}, r"{'a': '\ud800'}"),
    ],
)
def test_values_in_messages_are_yson_and_short(value: yson.Yson, text: str) -> None:
    assert yson.shown(value) == text
