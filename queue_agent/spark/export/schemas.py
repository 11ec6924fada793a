"""Decides whether files with a new schema can lie beside those with the one before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def find_incompatibility(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> str | None:
    """Why readers of the old schema could not read files of the new one; None if they can.

    Columns may be added that may be null; all others have to stay what they are.

    Args:
        old, new: as `@schema` has it.
    """
    columns = {str(column["name"]): column for column in new}
    for column in old:
        name = str(column["name"])
        if name not in columns:
            return f'column "{name}" is gone'
        if _type(column) != _type(columns[name]):
            return f'column "{name}" was {_type(column)} and is {_type(columns[name])}'
    known = {str(column["name"]) for column in old}
    for name, column in columns.items():
        if name not in known and column.get("required", False):
            return f'column "{name}" is new and has to have a value'
    return None


def _type(column: Mapping[str, Any]) -> Any:
    """A type in a form that compares."""
    type_v3 = column.get("type_v3")
    if type_v3 is not None:
        return _plain(type_v3)
    return str(column["type"]), bool(column.get("required", False))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(member) for member in value]
    return value if isinstance(value, (bool, int)) else str(value)
