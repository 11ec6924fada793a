"""What static tables are made of: blocks of columns, keys that sort as bytes, rows out of pieces of a body, ranges."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yt_local.formats.format import RowShape
from yt_local.formats.formats import parse_format
from yt_local.store.chunks import KeyPart
from yt_local.tables.static.chunk_blocks import ABSENT, decode_column, encode_column, rows_of
from yt_local.tables.static.chunk_keys import encode_key, encode_limit
from yt_local.tables.static.read_ranges import ReadLimit, parse_selection
from yt_wire import yson
from yt_wire.error import YtError
from yt_wire.ypath import RichPath
from yt_wire.yson import Uint64

SIGNED = st.integers(-(2**63), 2**63 - 1)
UNSIGNED = st.integers(0, 2**64 - 1).map(Uint64)
SIMPLE = st.one_of(st.none(), SIGNED, UNSIGNED, st.floats(), st.booleans(), st.binary())
COMPOSITE = st.recursive(
    SIMPLE, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.binary(), inner, max_size=3), max_leaves=8
)
COMPARABLE = st.one_of(
    st.none(), SIGNED, UNSIGNED, st.floats(allow_nan=False), st.booleans(), st.binary(max_size=4), st.just(b"\x00\xff")
)


def exact(value: Any) -> object:
    """Distinguishes what compares equal: types, the sign of zero, kinds of NaN."""
    if isinstance(value, list):
        return [exact(item) for item in value]
    if isinstance(value, dict):
        return {yson.bytes_of(name): exact(item) for name, item in value.items()}
    if yson.is_string(value):
        return yson.bytes_of(value)
    return type(value), struct.pack("d", value) if isinstance(value, float) else value


def rank(value: Any) -> object:
    """A key that sorts as YTsaurus compares values of any types."""
    kinds: tuple[type, ...] = (type(None), int, Uint64, float, bool, bytes)
    return kinds.index(type(value)), 0 if value is None else value


@given(st.lists(COMPOSITE | st.just(ABSENT), max_size=20))
def test_a_column_is_read_as_it_was_written(values: list[Any]) -> None:
    found = decode_column(encode_column(values))
    assert [value is ABSENT or exact(value) for value in found] == [value is ABSENT or exact(value) for value in values]


def test_rows_have_the_columns_they_were_given() -> None:
    columns: dict[bytes, list[Any]] = {b"a": [1, ABSENT], b"b": [None, 2]}
    assert rows_of(columns, 2) == [{b"a": 1, b"b": None}, {b"b": 2}]
    assert rows_of({}, 3) == [{}, {}, {}]


@given(COMPARABLE, COMPARABLE, COMPARABLE, COMPARABLE)
def test_bytes_of_keys_sort_as_keys_do(first: Any, second: Any, third: Any, fourth: Any) -> None:
    parts = (KeyPart(b"a", descending=False), KeyPart(b"b", descending=True))
    left, right = encode_key(parts, (first, third)), encode_key(parts, (second, fourth))
    if rank(first) != rank(second):
        assert (left < right) == (rank(first) < rank(second))  # type: ignore[operator] # of one type only if it matters
    else:
        assert (left < right) == (rank(fourth) < rank(third))  # type: ignore[operator] # as above


@given(st.lists(COMPARABLE, min_size=2, max_size=2), st.integers(0, 2))
def test_a_limit_stands_before_all_keys_that_begin_with_it(key: list[Any], length: int) -> None:
    parts = (KeyPart(b"a", descending=False), KeyPart(b"b", descending=False))
    encoded = encode_key(parts, key)
    assert encode_limit(parts, key[:length]) <= encoded
    least, greatest = (yson.with_attributes(None, {"type": kind}) for kind in ("min", "max"))
    assert encode_limit(parts, [*key[:length], greatest]) > encoded
    assert length == 2 or encode_limit(parts, [*key[:length], least]) <= encoded
    assert encode_limit(parts, [*key, 1]) > encoded


@pytest.mark.parametrize(("value", "code"), [(float("nan"), 302), ([1], 303), ({}, 303)])
def test_not_everything_can_be_a_key(value: Any, code: int) -> None:
    with pytest.raises(YtError) as caught:
        encode_key((KeyPart(b"a", descending=False),), [value])
    assert caught.value.code == code


FORMATS = {
    "binary": parse_format(yson.with_attributes("yson", {"format": "binary"})),
    "text": parse_format(yson.with_attributes("yson", {"format": "text"})),
    "pretty": parse_format(yson.with_attributes("yson", {"format": "pretty"})),
    "json": parse_format("json"),
    "dsv": parse_format("dsv"),
}
ROWS: list[dict[str, Any]] = [
    {"a": 1, "b": 'text; with }{ \\ " and \n'},
    {},
    {"c": [1, {"d": None}], "e": -1.5, "f": True},
    {"unicode": "\N{CYRILLIC SMALL LETTER ZHE}\N{GRINNING FACE}", "b": ""},
]
LINES: list[dict[str, Any]] = [{"a": "1", "b": "tab \t, = and \n"}, {"c": "\\"}]


@pytest.mark.parametrize("name", FORMATS)
def test_it_does_not_matter_where_a_body_is_cut(name: str) -> None:
    row_format = FORMATS[name]
    body = b"".join(row_format.encode_rows([LINES if name == "dsv" else ROWS], RowShape()))
    whole = row_format.read_rows(body, ())
    assert len(whole) == (2 if name == "dsv" else 4)
    for size in range(1, len(body) + 1):
        reader = row_format.row_reader(())
        rows = [row for start in range(0, len(body), size) for row in reader.feed(body[start : start + size])]
        assert [*rows, *reader.finish()] == whole


@pytest.mark.parametrize("name", ["binary", "text", "json"])
def test_a_body_that_ends_in_a_row_is_refused(name: str) -> None:
    row_format = FORMATS[name]
    body = b"".join(row_format.encode_rows([ROWS], RowShape())).rstrip(b"\n;")
    for end in range(len(body) - 20, len(body)):
        reader = row_format.row_reader(())
        reader.feed(body[:end])
        with pytest.raises(YtError):
            reader.finish()


@pytest.mark.parametrize(
    ("text", "columns", "ranges"),
    [
        ("", None, [({}, {})]),
        ("{a,b}", (b"a", b"b"), [({}, {})]),
        ("{}", (), [({}, {})]),
        ('{"a,b"}[#1:]', (b"a,b",), [({"row_index": 1}, {})]),
        ("[#1:#5,#7]", None, [({"row_index": 1}, {"row_index": 5}), ({"row_index": 7}, {"row_index": 8})]),
        ("[a:(b,-1)]", None, [({"key": (b"a",)}, {"key": (b"b", -1)})]),
        ("[5u:%true]", None, [({"key": (Uint64(5),)}, {"key": (True,)})]),
        ("[:#3]", None, [({}, {"row_index": 3})]),
        ("[]", None, [({}, {})]),
    ],
)
def test_selectors_are_read(text: str, columns: Any, ranges: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    selection = parse_selection(RichPath(f"//t{text}"))
    assert selection.columns == columns
    found = [(found.lower, found.upper) for found in selection.ranges]
    assert found == [(ReadLimit(**lower), ReadLimit(**upper)) for lower, upper in ranges]


@pytest.mark.parametrize("text", ["{", "{a", "{a}[", "[#x]", "[#1:#2:#3]", "{a}{b}", "[1 2]", "[#1:]x", "{1}"])
def test_selectors_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(YtError):
        parse_selection(RichPath(f"//t{text}"))
