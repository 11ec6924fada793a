from __future__ import annotations

import json
import math
from typing import Any

import pytest

from queue_agent.adapters.process.json_values import to_json
from queue_agent.core.values.encoding import Entity, Unsigned
from yt_wire import yson


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (-1, -1),
        (Unsigned(2**64 - 1), 2**64 - 1),
        (yson.Uint64(2**64 - 1), 2**64 - 1),
        (1.5, 1.5),
        (math.nan, None),
        (math.inf, None),
        ("путь", "путь"),
        ("путь".encode(), "путь"),
        (b"\xff\xfe", "ÿþ"),
        ((1, [2]), [1, [2]]),
        ({b"\xff": {"a": b"b"}}, {"ÿ": {"a": "b"}}),
        (
            yson.loads(b'{a=5u;b=%true;c=#;d="\\xff";e=1.5;f=[1]}'),
            {"a": 5, "b": True, "c": None, "d": "ÿ", "e": 1.5, "f": [1]},
        ),
        (yson.loads(b'<x=1u>"s"'), {"$attributes": {"x": 1}, "$value": "s"}),
        (yson.loads(b"<x=1>#"), {"$attributes": {"x": 1}, "$value": None}),
        (Entity({"error": {"code": Unsigned(1)}}), {"$attributes": {"error": {"code": 1}}, "$value": None}),
        (yson.loads(b"<strict=%true>[{name=a}]"), {"$attributes": {"strict": True}, "$value": [{"name": "a"}]}),
    ],
)
def test_published_values_become_json(value: Any, expected: Any) -> None:
    converted = to_json(value)
    assert converted == expected
    assert isinstance(converted, type(expected))
    assert json.loads(json.dumps(converted, allow_nan=False)) == expected
