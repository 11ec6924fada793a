"""Rows: types of values, weights, stored form, order of keys, output."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yt_local.rows.row_codec import RowCodec
from yt_local.schema.keys import KeyEncoder, Row, Value, encode_key
from yt_local.schema.rows import (
    MISSING,
    data_weight,
    decode_values,
    encode_values,
    to_map,
)
from yt_local.schema.schema import Column, SortOrder, TableSchema, parse_schema
from yt_wire import yson
from yt_wire.error import YtError
from yt_wire.yson import Uint64, Yson

QUEUE = parse_schema(
    [
        {"name": "data", "type": "string"},
        {"name": "$timestamp", "type": "uint64"},
        {"name": "$cumulative_data_weight", "type": "int64"},
    ]
)
SORTED = TableSchema(
    (
        Column("k", "string", required=True, sort_order="ascending"),
        Column("i", "uint64", sort_order="ascending"),
        Column("v", "int64"),
        Column("m", "any"),
    ),
    unique_keys=True,
)

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(),
    st.binary(),
)


def exact(value: Value) -> object:
    """Distinguishes what compares equal: types, the sign of zero, kinds of NaN."""
    return (type(value), struct.pack("d", value) if isinstance(value, float) else value)


def test_every_type_has_its_weight() -> None:
    assert data_weight((None, True, 5, -1.5, b"four", 2**64 - 1)) == 1 + 0 + 1 + 8 + 8 + 4 + 8


def test_a_queue_row_begins_with_the_tablet_index_or_null() -> None:
    codec = RowCodec(QUEUE)
    assert codec.parse_row({b"data": b"x", b"$tablet_index": 2}) == (2, b"x")
    assert codec.parse_row({}) == (None, None)


@given(st.lists(VALUES).map(tuple))
def test_stored_rows_come_back_exactly(values: Row) -> None:
    assert [exact(value) for value in decode_values(encode_values(values))] == [exact(value) for value in values]


def test_the_stored_form_does_not_change_between_versions() -> None:
    values = (None, True, False, 5, -1, 2**64 - 1, 1.5, b"a\xff")
    assert encode_values(values) == bytes.fromhex(
        "2808000000" "4e" "54" "46" "6905000000" "69ffffffff" "6c05000000ff7fff7fff7fff7f0f00" "67000000000000f83f"
        "730200000061ff"
    )  # fmt: skip


def test_missing_columns_are_null_and_marked_when_rows_are_partial() -> None:
    codec = RowCodec(SORTED)
    assert codec.parse_row({b"k": b"a", b"i": 1}) == (b"a", 1, None, None)
    assert codec.parse_partial_row({b"k": b"a", b"i": None, b"m": None}) == (b"a", None, MISSING, None)
    assert codec.parse_row({b"k": b"a"}) == (b"a", None, None, None)


def test_numbers_become_what_the_column_holds() -> None:
    schema = parse_schema([{"name": name, "type": name} for name in ("int64", "uint64", "double", "boolean", "int8")])
    row = RowCodec(schema).parse_row(
        {
            b"int64": Uint64(5),
            b"uint64": 6,
            b"double": 7.0,
            b"boolean": True,
            b"int8": -128,
            b"$tablet_index": Uint64(1),
        }
    )
    assert row == (1, 5, 6, 7.0, True, -128)
    assert [type(value) for value in row] == [int, int, int, float, bool, int]


def test_any_columns_keep_every_value_as_binary_yson() -> None:
    value = yson.loads_raw(b'{a=[1;2u;"\xff";#;%true;1.5];b=<x=1>q}')
    row = RowCodec(SORTED).parse_row({b"k": b"", b"i": 0, b"m": value})
    assert row[3] == yson.dumps(value)
    assert to_map(SORTED.columns, row)["m"] == value


@pytest.mark.parametrize(
    ("column_type", "value", "words"),
    [
        ("int64", b"x", 'Cannot write type "string" into column "c" of type "int64"'),
        ("int64", True, 'Cannot write type "boolean" into column "c" of type "int64"'),
        ("uint64", 1.0, 'Cannot write type "double" into column "c" of type "uint64"'),
        ("boolean", 1, 'Cannot write type "int64" into column "c" of type "boolean"'),
        ("string", Uint64(1), 'Cannot write type "uint64" into column "c" of type "string"'),
        ("string", [], 'Cannot write type "any" into column "c" of type "string"'),
        ("double", b"1", 'Cannot write type "string" into column "c" of type "double"'),
        ("double", 1, 'Cannot write type "int64" into column "c" of type "double"'),
        ("float", Uint64(1), 'Cannot write type "uint64" into column "c" of type "float"'),
        ("int64", Uint64(2**63), "out of range"),
        ("uint64", -1, "out of range"),
        ("int8", 128, "out of range"),
        ("uint16", 65536, "out of range"),
        ("date", 49673, "out of range"),
        ("interval", 49673 * 86400 * 10**6, "out of range"),
        ("float", 1e39, "out of range"),
        ("utf8", b"\xff", 'not valid for type "utf8"'),
        ("json", b"{", 'not valid for type "json"'),
        ("uuid", b"short", 'not valid for type "uuid"'),
        ("void", 1, 'Cannot write type "int64" into column "c" of type "void"'),
    ],
)
def test_values_which_do_not_fit_the_column_are_refused(column_type: str, value: Yson, words: str) -> None:
    codec = RowCodec(parse_schema([{"name": "c", "type": column_type}]))
    with pytest.raises(YtError) as caught:
        codec.parse_row({b"c": value})
    assert words in caught.value.message
    assert caught.value.code == 307


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({b"k": b"a", b"i": 1, b"x": 1}, 'No such column "x"'),
        ({b"k": None, b"i": 1}, 'Required column "k" cannot have "null" value'),
        ({b"i": 1}, 'Required column "k" cannot have "null" value'),
    ],
)
def test_rows_which_do_not_fit_the_schema_are_refused(row: dict[bytes, Yson], words: str) -> None:
    codec = RowCodec(SORTED)
    with pytest.raises(YtError, match=words):
        codec.parse_row(row)
    with pytest.raises(YtError, match=words):
        codec.parse_partial_row(row)


@pytest.mark.parametrize("name", [b"$timestamp", b"$cumulative_data_weight", b"$row_index"])
def test_clients_can_not_write_system_columns(name: bytes) -> None:
    with pytest.raises(YtError, match="No such column"):
        RowCodec(QUEUE).parse_row({b"data": b"", name: 1})


def test_values_with_attributes_are_refused_at_the_top_level() -> None:
    value = yson.loads_raw(b"<a=1>5")
    with pytest.raises(YtError, match="top-level attributes"):
        RowCodec(SORTED).parse_row({b"k": b"", b"i": 0, b"m": value})


def test_keys_are_all_key_columns_and_nothing_else() -> None:
    codec = RowCodec(SORTED)
    assert codec.parse_key({b"i": 1, b"k": b"a"}) == (b"a", 1)
    assert codec.parse_key({b"k": b"a"}) == (b"a", None)
    with pytest.raises(YtError, match='Column "v" is not a key column'):
        codec.parse_key({b"k": b"a", b"i": 1, b"v": 1})


def test_not_a_number_can_not_be_a_key() -> None:
    schema = TableSchema((Column("k", "double", sort_order="ascending"), Column("v", "any")), unique_keys=True)
    with pytest.raises(YtError, match='Key column "k" cannot have NaN value'):
        RowCodec(schema).parse_row({b"k": math.nan})


def test_computed_columns_are_filled_in_and_not_taken() -> None:
    schema = TableSchema(
        (
            Column("h", "uint64", sort_order="ascending", expression="k % 10u"),
            Column("k", "uint64", sort_order="ascending"),
            Column("g", "int64", sort_order="ascending", expression="7"),
            Column("v", "any"),
        ),
        unique_keys=True,
    )
    codec = RowCodec(schema)
    assert codec.parse_row({b"k": 123}) == (3, 123, 7, None)
    assert codec.parse_key({b"k": 123}) == (3, 123, 7)
    assert codec.parse_partial_row({b"k": 123, b"v": None}) == (3, 123, 7, None)
    assert codec.parse_row({}) == (None, None, 7, None)
    for read in (codec.parse_row, codec.parse_partial_row, codec.parse_key):
        with pytest.raises(YtError, match='Column "h" is computed automatically'):
            read({b"k": 1, b"h": 1})


def test_output_keeps_the_types_of_yson() -> None:
    columns = [Column(name, name) for name in ("uint64", "int64", "string", "any", "double")]
    row = to_map(columns, (2**64 - 1, -1, b"\xff", yson.dumps({"a": 1}), 1.0))
    assert (
        yson.dumps(row, "text")
        == b'{"uint64"=18446744073709551615u;"int64"=-1;"string"="\\xFF";"any"={"a"=1;};"double"=1.;}'
    )
    assert to_map(columns, (None,) * 5) == dict.fromkeys(("uint64", "int64", "string", "any", "double"))


COMPONENTS: dict[str, st.SearchStrategy[Any]] = {
    "int64": st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3),
    "uint64": st.integers(0, 2**64 - 1) | st.integers(0, 3),
    "double": st.floats(allow_nan=False),
    "boolean": st.booleans(),
    "string": st.binary(max_size=4) | st.sampled_from([b"", b"\x00", b"\x00\xff", b"a", b"a\x00", b"\xff"]),
}


@st.composite
def two_keys(draw: st.DrawFn) -> tuple[list[Column], Row, Row]:
    orders: st.SearchStrategy[SortOrder] = st.sampled_from(["ascending", "descending"])
    types = draw(st.lists(st.sampled_from(sorted(COMPONENTS)), min_size=1, max_size=3))
    columns = [Column(f"k{index}", name, sort_order=draw(orders)) for index, name in enumerate(types)]
    keys = [tuple(draw(st.none() | COMPONENTS[name]) for name in types) for _ in range(2)]
    return columns, keys[0], keys[1]


def order_of(columns: list[Column], left: Row, right: Row) -> int:
    for column, first, second in zip(columns, left, right, strict=True):
        a: Any = (first is not None, first)
        b: Any = (second is not None, second)
        if a != b:
            return (1 if a > b else -1) * (-1 if column.sort_order == "descending" else 1)
    return 0


@given(two_keys())
def test_encoded_keys_sort_as_the_keys_do(case: tuple[list[Column], Row, Row]) -> None:
    columns, left, right = case
    encoder = KeyEncoder(columns)
    first, second = encoder.encode(left), encoder.encode(right)
    assert (first > second) - (first < second) == order_of(columns, left, right)


def test_the_key_of_a_row_is_encoded_from_its_beginning() -> None:
    row = RowCodec(SORTED).parse_row({b"k": b"a", b"i": 1, b"v": 5})
    assert RowCodec(SORTED).encode_key(row) == encode_key(SORTED, (b"a", 1))
