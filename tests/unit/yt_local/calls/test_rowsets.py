"""Rowsets as bytes."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yt_local.calls.rowsets import (
    NamedRowEncoder,
    decode_named_rows,
    decode_rows,
    descriptor,
    encode_rows,
    encode_versioned_rows,
    pack_refs,
    unpack_refs,
)
from yt_local.schema.keys import Row
from yt_local.schema.schema import Column
from yt_wire import yson
from yt_wire.error import ErrorCode, YtError

COLUMNS = [
    Column("i", "int64"),
    Column("u", "uint64"),
    Column("d", "double"),
    Column("b", "boolean"),
    Column("s", "string"),
    Column("n", "null"),
]
ROWS = st.tuples(
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.integers(0, 2**64 - 1),
    st.none() | st.floats(allow_nan=False),
    st.none() | st.booleans(),
    st.none() | st.binary(max_size=20),
    st.none(),
)


@given(st.lists(ROWS, max_size=5), st.integers(0, 200))
def test_rows_come_back_however_the_attachments_are_cut(rows: list[Row], cut: int) -> None:
    data = encode_rows(COLUMNS, rows)
    assert len(data) % 8 == 0
    found = decode_rows(descriptor(COLUMNS), [None, data[:cut], data[cut:]])
    assert [tuple(row.values.values()) for row in found] == rows
    assert all(list(row.values) == [column.name.encode() for column in COLUMNS] for row in found)


def test_structured_values_are_yson() -> None:
    columns = [Column("a", "any"), Column("l", "any", composite={"type_name": "list", "item": "int64"})]
    data = encode_rows(columns, [(yson.dumps({"x": 1}), yson.dumps([1, 2]))])
    (row,) = decode_rows(descriptor(columns), [data])
    assert row.values == {b"a": {b"x": 1}, b"l": [1, 2]}
    assert [entry.type for entry in descriptor(columns).name_table_entries] == [0x11, 0x12]


def test_values_that_are_to_be_added_are_marked() -> None:
    value = struct.pack("<HBBIq", 0, 0x03, 1, 0, 5)
    (row,) = decode_named_rows([b"sum"], struct.pack("<QQ", 1, 1) + value)
    assert row.aggregated == {b"sum"} and row.values == {b"sum": 5}


ONE_VALUE = struct.pack("<QQ", 1, 1)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        bytes(7),
        struct.pack("<Q", 1),
        struct.pack("<QQ", 1, 2**64 - 1),
        ONE_VALUE + struct.pack("<HBBIq", 9, 0x03, 0, 0, 5),
        ONE_VALUE + struct.pack("<HBBI", 0, 0x07, 0, 0),
        ONE_VALUE + struct.pack("<HBBI", 0, 0x10, 0, 100),
        struct.pack("<Q", 2**63),
    ],
)
def test_what_is_no_rowset_is_refused(data: bytes) -> None:
    with pytest.raises(YtError, match="Error parsing rowset") as caught:
        decode_named_rows([b"a"], data)
    assert caught.value.code == ErrorCode.PROTOCOL


@given(st.binary(max_size=200))
def test_any_bytes_are_rows_or_an_error(data: bytes) -> None:
    for parse in (lambda: decode_named_rows([b"a"], data), lambda: unpack_refs(data)):
        try:
            parse()
        except YtError:
            continue


def test_columns_of_a_stream_are_named_once() -> None:
    encoder = NamedRowEncoder([Column("k", "int64"), Column("v", "any")])
    batches: list[list[dict[bytes, Any]]] = [
        [{b"k": 1, b"v": {"x": 1}}],
        [{b"k": 2, b"new": b"text"}, {b"new": 7, b"v": None}],
        [],
    ]
    names: list[bytes] = []
    for rows in batches:
        message, data = encoder.encode(rows)
        names += [entry.name for entry in message.name_table_entries]
        found = [row.values for row in decode_named_rows(names, data)]
        assert found == [
            {name: {b"x": 1} if value == {"x": 1} else value for name, value in row.items()} for row in rows
        ]
    assert names == [b"k", b"v", b"new"]


def test_a_versioned_row_is_laid_out_as_clients_read_it() -> None:
    columns = [Column("k", "string", sort_order="ascending"), Column("n", "int64", sort_order="ascending")]
    columns.append(Column("v", "int64"))
    versions = [yson.with_attributes(value, {"timestamp": yson.Uint64(at)}) for value, at in ((7, 20), (None, 10))]
    row = yson.with_attributes(
        {"k": b"ab", "n": None, "v": versions},
        {"write_timestamps": [yson.Uint64(20), yson.Uint64(10)], "delete_timestamps": [yson.Uint64(15)]},
    )
    assert encode_versioned_rows(columns, [row, None]) == b"".join(
        [
            struct.pack("<Q", 2),
            struct.pack("<IIII", 2, 2, 2, 1),
            struct.pack("<QQQ", 20, 10, 15),
            struct.pack("<Q", 0b10),
            struct.pack("<Q8s", 2, b"ab"),
            struct.pack("<HBBIqQ", 2, 0x03, 0, 0, 7, 20),
            struct.pack("<HBBIQ", 2, 0x02, 0, 0, 10),
            struct.pack("<Q", 2**64 - 1),
        ]
    )


@given(st.lists(st.binary(max_size=20), max_size=5))
def test_pieces_are_packed_and_unpacked(parts: list[bytes]) -> None:
    assert unpack_refs(pack_refs(parts)) == parts


def test_columns_are_told_by_numbers_of_two_bytes() -> None:
    encoder = NamedRowEncoder([])
    encoder.encode([{b"%d" % number: number for number in range(2**16)}])
    encoder.encode([{b"0": 0}])
    with pytest.raises(YtError, match="more than 65536 columns"):
        encoder.encode([{b"one more": 0}])
