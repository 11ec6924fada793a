"""Bodies that are small on the wire and large in memory."""

from __future__ import annotations

import pytest

from yt_local.formats.format import Format
from yt_local.formats.formats import parse_format
from yt_local.formats.value_count import MAX_VALUE_COUNT
from yt_wire import yson
from yt_wire.error import YtError

SKIFF = yson.with_attributes("skiff", {"table_skiff_schemas": [{"wire_type": "tuple", "children": []}]})
TOO_MANY = MAX_VALUE_COUNT + 1


@pytest.mark.parametrize(
    ("shape", "body"),
    [
        ("yson", b"{};" * TOO_MANY),
        ("yson", b"{a=[" + b"[];" * TOO_MANY + b"]}"),
        ("yson", b"<" * TOO_MANY),
        ("json", b"{}" * TOO_MANY),
        ("json", b'{"a":[' + b"1," * TOO_MANY + b"1]}"),
        ("dsv", b"\n" * TOO_MANY),
        ("dsv", b"a=\t" * TOO_MANY),
    ],
)
def test_more_values_than_memory_is_meant_for_are_refused_unread(shape: str, body: bytes) -> None:
    with pytest.raises(YtError, match=f"more than {MAX_VALUE_COUNT} values; send it in parts"):
        parse_format(shape).read_rows(body, ())


def test_rows_without_fields_are_counted_while_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yt_local.formats.skiff.MAX_VALUE_COUNT", 10)
    skiff = parse_format(SKIFF)
    assert len(skiff.read_rows(bytes(2) * 10, ())) == 10
    with pytest.raises(YtError, match="values; send it in parts"):
        skiff.read_rows(bytes(2) * 11, ())


@pytest.mark.parametrize("shape", ["yson", "json"])
def test_a_single_value_is_counted_as_well(shape: str) -> None:
    chosen: Format = parse_format(shape)
    with pytest.raises(YtError, match="values; send it in parts"):
        chosen.read_node(b"[" * TOO_MANY)


def test_long_strings_are_no_matter() -> None:
    (row,) = parse_format("yson").read_rows(b'{a="' + b"x" * (2 * MAX_VALUE_COUNT) + b'"}', ())
    assert len(row[b"a"]) == 2 * MAX_VALUE_COUNT
