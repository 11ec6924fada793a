"""Composite values in the form they are kept in: members of structs that are left out are null."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from yt_local.schema.column_types import is_nullable
from yt_wire import yson
from yt_wire.yson import Yson

Completion: TypeAlias = Callable[[Yson], Yson]


def completion(type_v3: Yson) -> Completion | None:
    """What gives values of a type the members they lack, as proxies do; None if values of the type lack none.

    What is not of the type is left as it is: such values have other errors.
    """
    if isinstance(type_v3, str):
        return None
    match type_v3["type_name"]:
        case "optional":
            inner = completion(type_v3["item"])
            wrapped = is_nullable(type_v3["item"])
            return None if inner is None else _of_list(inner) if wrapped else _unless_null(inner)
        case "tagged":
            return completion(type_v3["item"])
        case "list":
            inner = completion(type_v3["item"])
            return None if inner is None else _of_list(inner)
        case "dict":
            pair = _of_tuple([completion(type_v3["key"]), completion(type_v3["value"])])
            return None if pair is None else _of_list(pair)
        case "tuple":
            return _of_tuple([completion(element["type"]) for element in type_v3["elements"]])
        case "struct":
            return _of_struct([(member["name"], member["type"]) for member in type_v3["members"]])
    return None


def _unless_null(inner: Completion) -> Completion:
    return lambda value: value if yson.is_null(value) else inner(value)


def _of_list(inner: Completion) -> Completion:
    return lambda value: [inner(item) for item in value] if isinstance(value, list) else value


def _of_tuple(inner: list[Completion | None]) -> Completion | None:
    if not any(inner):
        return None

    def complete(value: Yson) -> Yson:
        if not isinstance(value, list) or len(value) != len(inner):
            return value
        return [item if change is None else change(item) for item, change in zip(value, inner, strict=True)]

    return complete


def _of_struct(members: list[tuple[str, Yson]]) -> Completion:
    inner = {name.encode(): completion(member) for name, member in members}
    optional = [name.encode() for name, member in members if is_nullable(member)]

    def complete(value: Yson) -> Yson:
        if not isinstance(value, dict):
            return value
        given = {yson.bytes_of(name): item for name, item in value.items()}
        missing = {name: None for name in optional if name not in given}
        changed = {name: change(item) if (change := inner.get(name)) else item for name, item in given.items()}
        return {**changed, **missing}

    return complete
