"""Values of a cluster as plain Python ones."""

from __future__ import annotations

from typing import Any

from yt_wire import yson


def to_plain(value: yson.Yson) -> Any:
    """A value of plain Python kinds, without attributes at any depth; a string that is not UTF-8 is bytes."""
    match yson.plain(value):
        case dict() as members:
            return {key: to_plain(member) for key, member in members.items()}
        case list() as members:
            return [to_plain(member) for member in members]
        case int() as number if not isinstance(number, bool):
            return int(number)
        case scalar:
            return scalar
