"""Paths with attributes in front, as text and as bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yt_wire import yson
from yt_wire.error import YtError
from yt_wire.ypath import RichPath, parse_rich

ATTRIBUTES = {
    "append": True,
    "off": False,
    "timestamp": 0x3E3C0000_00003E,
    "unsigned": yson.Uint64(62),
    "double": 1.0,
    "text": 'a>"<b\\',
    "ranges": [{"lower_limit": {"key": [None, -5, "x>"]}, "upper_limit": {"row_index": 10}}],
    "nested": yson.with_attributes("<", {"inner": ">"}),
}


@pytest.mark.parametrize("style", ["binary", "text", "pretty"])
def test_attributes_are_yson_of_any_style(style: yson.Style) -> None:
    prefix = yson.dumps(yson.with_attributes(None, ATTRIBUTES), style).removesuffix(b"#")
    assert parse_rich(prefix + b"//home/t{a}[#1:#2]") == RichPath("//home/t{a}[#1:#2]", ATTRIBUTES)


def test_what_is_given_beside_the_text_counts_more() -> None:
    value = yson.with_attributes("<cluster=a;append=%true> //t", {"cluster": "b"})
    assert parse_rich(value) == RichPath("//t", {"cluster": "b", "append": True})
    assert parse_rich("hume://t").cluster == "hume"


@pytest.mark.parametrize("name", ["5", "[hume]", '"\\xff"', "%true"])
def test_a_cluster_has_a_name(name: str) -> None:
    with pytest.raises(YtError, match='"cluster" of a path must be a string'):
        parse_rich(f"<cluster={name}>//t")
    assert parse_rich("<cluster=#>//t").cluster is None


@given(st.binary(max_size=60))
def test_any_bytes_are_a_path_or_an_error(data: bytes) -> None:
    for value in (data, b"<" + data):
        try:
            parse_rich(value)
        except YtError:
            continue
