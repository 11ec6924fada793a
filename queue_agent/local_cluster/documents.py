"""Reading and changing inside a YSON value by a path of keys."""

from __future__ import annotations

from collections.abc import Sequence

from queue_agent.wire import yson
from queue_agent.wire.error import ErrorCode, YtError


def get_inside(value: yson.Yson, keys: Sequence[str], where: str) -> yson.Yson:
    """Follow keys (of maps) and indexes (of lists; negative ones count from the end).

    Args:
        value: where to start.
        keys: unescaped path components; `@name` reads an attribute of the value reached.
        where: path of `value`, for errors.

    Raises:
        YtError: code 500 naming the first component that is not there.
    """
    for key in keys:
        value = _step(value, key, where)
        where = f"{where}/{key}"
    return value


def set_inside(value: yson.Yson, keys: Sequence[str], new: yson.Yson, where: str) -> yson.Yson:
    """A copy of `value` with `new` at the end of the path; the last key of a map may be a new one."""
    if not keys:
        return new
    key, *rest = keys
    if isinstance(value, dict):
        inner = set_inside(_step(value, key, where), rest, new, f"{where}/{key}") if rest else new
        return _like(value, {**value, key: inner})
    if isinstance(value, list):
        if key == "end" and not rest:
            return _like(value, [*value, new])
        index = _list_index(value, key, where)
        return _like(
            value, [*value[:index], set_inside(value[index], rest, new, f"{where}/{key}"), *value[index + 1 :]]
        )
    raise _no_children(where)


def remove_inside(value: yson.Yson, keys: Sequence[str], where: str) -> yson.Yson:
    """A copy of `value` without what the path names."""
    key, *rest = keys
    inner = _step(value, key, where)
    if rest:
        return set_inside(value, [key], remove_inside(inner, rest, f"{where}/{key}"), where)
    if isinstance(value, dict):
        return _like(value, {name: item for name, item in value.items() if name != key})
    index = _list_index(value, key, where)
    return _like(value, [*value[:index], *value[index + 1 :]])


def _step(value: yson.Yson, key: str, where: str) -> yson.Yson:
    if isinstance(value, dict):
        if key not in value:
            raise YtError(f'Node {where} has no child with key "{key}"', ErrorCode.RESOLVE)
        return value[key]
    if isinstance(value, list):
        return value[_list_index(value, key, where)]
    raise _no_children(where)


def _list_index(value: list[yson.Yson], key: str, where: str) -> int:
    try:
        index = int(key)
    except ValueError:
        raise YtError(f'Invalid index "{key}" in list {where}', ErrorCode.RESOLVE) from None
    if not -len(value) <= index < len(value):
        raise YtError(f"Node {where} has no child with index {index}", ErrorCode.RESOLVE)
    return index % len(value)


def _like(original: yson.Yson, changed: yson.Yson) -> yson.Yson:
    attributes = yson.attributes_of(original)
    return yson.with_attributes(changed, attributes) if attributes else changed


def _no_children(where: str) -> YtError:
    return YtError(f"Node {where} cannot have children", ErrorCode.RESOLVE)
