"""Reading JSON that somebody else has written."""

from __future__ import annotations

import json
from typing import Any, Final

MAX_DEPTH: Final = 200
"""Lists and maps inside of each other: fewer than clusters allow, and far fewer than Python could follow."""


def loads(text: str | bytes) -> Any:
    """Read one value; ValueError for anything that is none, and for what is nested more deeply than `MAX_DEPTH`."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [inner for outer in level if isinstance(outer, dict | list) for inner in _members(outer)]
        if not level:
            return value
    raise ValueError("nested too deeply")


def _members(value: dict[str, Any] | list[Any]) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value
