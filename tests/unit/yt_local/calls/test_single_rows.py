"""Single rows in fields of messages."""

from __future__ import annotations

from yt_local.calls.single_rows import serialized_key, serialized_values
from yt_local.schema.schema import Column
from yt_wire import yson


def test_keys_are_serialized_as_single_values_are() -> None:
    columns = [Column("s", "string"), Column("i", "int64"), Column("u", "uint64"), Column("d", "double")]
    assert serialized_key(columns, ()) == b"\x00\x00"
    key = serialized_key(columns, (b"ab", -2, 300, 0.0))
    assert key == b"\x00\x04\x00\x10\x02ab\x01\x03\x03\x02\x04\xac\x02\x03\x05" + bytes(8)
    assert serialized_key(columns, (None,)) == b"\x00\x01\x00\x02"


def test_values_are_serialized_as_what_they_are() -> None:
    assert serialized_values([]) == b"\x00\x00"
    assert serialized_values(["ab", -2, yson.Uint64(300), 0.0, True, None]) == (
        b"\x00\x06\x00\x10\x02ab\x01\x03\x03\x02\x04\xac\x02\x03\x05" + bytes(8) + b"\x04\x06\x01\x05\x02"
    )
