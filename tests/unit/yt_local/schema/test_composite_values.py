"""Composite values get the members they lack."""

from __future__ import annotations

from typing import Any

import pytest

from yt_local.schema.composite_values import completion
from yt_local.schema.schema import parse_schema

OPTIONAL = {"type_name": "optional", "item": "string"}
STRUCT = {"type_name": "struct", "members": [{"name": "a", "type": "int64"}, {"name": "b", "type": OPTIONAL}]}
FULL = {b"a": 1, b"b": None}


@pytest.mark.parametrize(
    ("type_v3", "value", "expected"),
    [
        (STRUCT, {"a": 1}, FULL),
        (STRUCT, {"a": 1, "b": "x"}, {b"a": 1, b"b": "x"}),
        (STRUCT, [1], [1]),
        ({"type_name": "optional", "item": STRUCT}, None, None),
        ({"type_name": "optional", "item": STRUCT}, {"a": 1}, FULL),
        ({"type_name": "optional", "item": {"type_name": "optional", "item": STRUCT}}, [{"a": 1}], [FULL]),
        ({"type_name": "tagged", "tag": "t", "item": STRUCT}, {"a": 1}, FULL),
        ({"type_name": "list", "item": STRUCT}, [{"a": 1}, 5], [FULL, 5]),
        ({"type_name": "dict", "key": "string", "value": STRUCT}, [["k", {"a": 1}]], [["k", FULL]]),
        ({"type_name": "tuple", "elements": [{"type": "int64"}, {"type": STRUCT}]}, [1, {"a": 1}], [1, FULL]),
        ({"type_name": "tuple", "elements": [{"type": "int64"}, {"type": STRUCT}]}, [1], [1]),
        (
            {"type_name": "struct", "members": [{"name": "inner", "type": STRUCT}]},
            {"inner": {"a": 1}},
            {b"inner": FULL},
        ),
    ],
)
def test_members_that_are_left_out_are_null(type_v3: Any, value: Any, expected: Any) -> None:
    (column,) = parse_schema([{"name": "c", "type_v3": type_v3}]).columns
    assert column.composite is not None
    complete = completion(column.composite)
    assert complete is not None
    assert complete(value) == expected


@pytest.mark.parametrize(
    "type_v3",
    [
        {"type_name": "list", "item": "string"},
        {"type_name": "dict", "key": "string", "value": "int64"},
        {"type_name": "tuple", "elements": [{"type": "int64"}]},
        {"type_name": "optional", "item": {"type_name": "list", "item": "string"}},
        {"type_name": "variant", "elements": [{"type": "int64"}]},
    ],
)
def test_values_without_structs_need_nothing(type_v3: Any) -> None:
    (column,) = parse_schema([{"name": "c", "type_v3": type_v3}]).columns
    assert completion(column.composite) is None
