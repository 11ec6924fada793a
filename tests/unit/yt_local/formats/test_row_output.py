"""Rows of results are the same bytes whichever way they are written."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yt_local.formats.dsv import DsvOptions, write_dsv
from yt_local.formats.row_output import ValueRows
from yt_local.schema.keys import Row
from yt_local.schema.schema import Column
from yt_wire import yson
from yt_wire.error import YtError

COLUMNS = (
    Column("number", "int64"),
    Column("$timestamp", "uint64"),
    Column("ratio", "double"),
    Column("done", "boolean"),
    Column("content", "string"),
    Column("meta", "any"),
    Column("nothing", "null"),
)
INT64 = st.integers(-(2**63), 2**63 - 1)
UINT64 = st.integers(0, 2**64 - 1)
ANY = st.recursive(
    st.none() | INT64 | UINT64.map(yson.Uint64) | st.binary(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.binary(max_size=3), inner, max_size=3),
)
ROWS = st.tuples(
    st.none() | INT64,
    st.none() | UINT64,
    st.none() | st.floats(),
    st.none() | st.booleans(),
    st.none() | st.binary(max_size=300),
    st.none() | ANY.map(yson.dumps),
    st.none(),
)


@given(st.lists(st.none() | ROWS, max_size=20))
def test_rows_are_encoded_as_their_maps_are(rows: list[Row | None]) -> None:
    result = ValueRows(COLUMNS, rows)

    assert result.binary_yson() == yson.dumps_rows(result)


@given(st.lists(st.none() | ROWS, max_size=20), st.sampled_from(["skip_row", "print_sentinel"]), st.booleans())
def test_lines_are_those_of_the_maps(rows: list[Row | None], mode: str, escaping: bool) -> None:
    columns = ["content", "number", "ratio", "done", "$timestamp"]
    attributes = {"columns": columns, "missing_value_mode": mode, "enable_escaping": escaping}
    options = DsvOptions.parse("schemaful_dsv", {**attributes, "missing_value_sentinel": "\\N"})
    result = ValueRows(COLUMNS, rows)

    assert result.dsv(options) == write_dsv(options, result)


def test_lines_without_a_value_are_refused_by_the_name_of_the_column() -> None:
    options = DsvOptions.parse("schemaful_dsv", {"columns": ["number"]})

    with pytest.raises(YtError, match='Column "number" is in schema but missing'):
        ValueRows(COLUMNS, [(None,) * len(COLUMNS)]).dsv(options)


@pytest.mark.parametrize("bits", range(0, 65, 7))
def test_numbers_are_encoded_right_where_they_grow_by_a_byte(bits: int) -> None:
    numbers = {2**bits + change for change in range(-2, 3)}
    signed = {sign * (number // 2) for number in numbers for sign in (1, -1)}
    rows = [(number, None) for number in signed if -(2**63) <= number < 2**63]
    rows_unsigned = [(None, number) for number in numbers if 0 <= number < 2**64]
    result = ValueRows(COLUMNS[:2], [*rows, *rows_unsigned])

    assert result.binary_yson() == yson.dumps_rows(result)


@pytest.mark.parametrize("length", [0, 63, 64, 8191, 8192, 2**20 + 1])
def test_strings_of_any_length_are_encoded_as_they_are(length: int) -> None:
    result = ValueRows([Column("content", "string")], [(b"\xff" * length,)])

    assert yson.loads_rows(result.binary_yson()) == [{b"content": b"\xff" * length}]


def test_more_rows_than_are_encoded_together_come_in_order_with_missing_ones_among_them() -> None:
    rows: list[Row | None] = [(number, None) for number in range(2500)]
    rows[1700] = None

    read = yson.loads_rows(ValueRows(COLUMNS[:2], rows).binary_yson())

    assert read == [None if index == 1700 else {b"number": index, b"$timestamp": None} for index in range(2500)]


def test_zeros_keep_their_signs_and_numbers_that_are_none_stay_so() -> None:
    result = ValueRows([Column("ratio", "double")], [(0.0,), (-0.0,), (math.nan,), (math.inf,)])

    read = [row[b"ratio"] for row in yson.loads_rows(result.binary_yson())]

    assert [math.copysign(1, value) for value in read[:2]] == [1, -1]
    assert math.isnan(read[2])
    assert read[3] == math.inf


def test_rows_without_columns_are_empty_maps() -> None:
    assert ValueRows([], [(), None]).binary_yson() == yson.dumps_rows([{}, None])
