"""Scalars of requests: what real clusters take for a boolean, a number and a duration, and what they do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from yt_local.base.scalars import boolean, integer, milliseconds
from yt_wire import yson


@pytest.mark.parametrize(
    ("read", "value", "expected"),
    [
        (boolean, True, True),
        (boolean, "true", True),
        (boolean, "1", True),
        (boolean, 1, True),
        (boolean, yson.Uint64(1), True),
        (boolean, yson.with_attributes(True, {"a": 1}), True),
        (boolean, False, False),
        (boolean, "false", False),
        (boolean, "0", False),
        (boolean, 0, False),
        (integer, -5, -5),
        (integer, yson.Uint64(2**63), 2**63),
        (milliseconds, 5000, 5000),
        (milliseconds, yson.Uint64(5000), 5000),
        (milliseconds, 1500.7, 1500),
        (milliseconds, "5s", 5000),
        (milliseconds, "1.5m", 90_000),
        (milliseconds, "250ms", 250),
        (milliseconds, "7", 7000),
        (milliseconds, "1h", 3_600_000),
    ],
)
def test_what_clients_send_is_read(read: Callable[[Any], Any], value: Any, expected: Any) -> None:
    found = read(value)
    assert found == expected
    assert isinstance(found, type(expected))


@pytest.mark.parametrize(
    ("read", "value", "message"),
    [
        (boolean, "yes", 'Error parsing boolean value "yes"'),
        (boolean, "True", 'Error parsing boolean value "True"'),
        (boolean, 2, "Expected 0 or 1 but found 2"),
        (boolean, -1, "Expected 0 or 1 but found -1"),
        (boolean, 1.0, "must be a boolean"),
        (boolean, [], "must be a boolean"),
        (boolean, None, "must be a boolean"),
        (integer, "5", "must be an integer"),
        (integer, 5.0, "must be an integer"),
        (integer, True, "must be an integer"),
        (integer, {}, "must be an integer"),
        (milliseconds, "soon", 'Error parsing duration "soon"'),
        (milliseconds, "5 s", 'Error parsing duration "5 s"'),
        (milliseconds, float("nan"), "must be an integer"),
        (milliseconds, float("inf"), "must be an integer"),
        (milliseconds, False, "must be an integer"),
    ],
)
def test_anything_else_is_refused(read: Callable[[Any], Any], value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("[", r"\[")):
        read(value)
