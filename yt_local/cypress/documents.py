"""Reading and changing inside a YSON value by a path of keys."""

from __future__ import annotations

import re
from collections.abc import Sequence

from yt_wire import yson
from yt_wire.error import ErrorCode, YtError

_MAX_NEW_KEYS = 256
"""Values are not nested more deeply."""

_NEW_ITEM = re.compile(r"begin|end|(before|after):(-?[0-9]+)")

_INDEX = re.compile(r"-?[0-9]{1,18}")


class AttributeKey(str):
    """A path component behind `@`: an attribute of the value reached so far, or all of them if it is empty."""

    __slots__ = ()


def get_inside(value: yson.Yson, keys: Sequence[str], where: str) -> yson.Yson:
    """Follow keys (of maps), indexes (of lists; negative ones count from the end) and attributes.

    Args:
        value: where to start.
        keys: unescaped path components.
        where: path of `value`, for errors.

    Raises:
        YtError: code 500 naming the first component that is not there.
    """
    for key in keys:
        value = _step(value, key, where)
        where = _below(where, key)
    return value


def set_inside(
    value: yson.Yson, keys: Sequence[str], new: yson.Yson, where: str, *, recursive: bool = False
) -> yson.Yson:
    """A copy of `value` with `new` at the end of the path.

    The last component may be new: a key of a map, an attribute, or in a list `begin`, `end`, `before:i` or `after:i`;
    with `recursive` maps on the way there may be new, too.
    """
    if not keys:
        return new
    if len(keys) > _MAX_NEW_KEYS:
        raise YtError(f"Depth limit exceeded: {where} can have no value {len(keys)} levels below")
    key, *rest = keys
    if isinstance(key, AttributeKey) and not key:
        raise YtError(f"All attributes of {where} cannot be set at once")
    if isinstance(value, list) and not isinstance(key, AttributeKey) and not rest:
        position = new_position(len(value), key, where)
        if position is not None:
            return _like(value, [*value[:position], new, *value[position:]])
    if not rest:
        return _replaced(value, key, new, where)
    is_new = recursive and isinstance(value, dict) and not isinstance(key, AttributeKey) and key not in value
    inner = {} if is_new else _step(value, key, where)
    return _replaced(value, key, set_inside(inner, rest, new, _below(where, key), recursive=recursive), where)


def remove_inside(value: yson.Yson, keys: Sequence[str], where: str) -> yson.Yson:
    """A copy of `value` without what the path names."""
    get_inside(value, keys[:-1], where)
    key, *rest = keys
    inner = _step(value, key, where)
    if rest:
        return _replaced(value, key, remove_inside(inner, rest, _below(where, key)), where)
    if isinstance(key, AttributeKey):
        kept = {name: item for name, item in yson.attributes_of(value).items() if key and name != key}
        return yson.with_attributes(value, kept) if kept else yson.plain(value)
    if isinstance(value, dict):
        return _like(value, {name: item for name, item in value.items() if name != key})
    index = list_index(len(value), key, where)
    return _like(value, [*value[:index], *value[index + 1 :]])


def clear_inside(value: yson.Yson, keys: Sequence[str], where: str) -> yson.Yson:
    """A copy of `value` where the map or list at the end of the path has nothing in it, but still its attributes."""
    found = get_inside(value, keys, where)
    if not isinstance(found, (dict, list)):
        path = "/".join((where, *keys))
        raise YtError(f"Node {path} cannot have children", ErrorCode.RESOLVE)
    return set_inside(value, keys, _like(found, type(yson.plain(found))()), where)


def _step(value: yson.Yson, key: str, where: str) -> yson.Yson:
    if isinstance(key, AttributeKey):
        attributes = yson.attributes_of(value)
        if not key:
            return attributes
        if key not in attributes:
            raise YtError(f'Attribute "{key}" is not found in {where}', ErrorCode.RESOLVE)
        return attributes[key]
    if isinstance(value, dict):
        if key not in value:
            raise YtError(f'Node {where} has no child with key "{key}"', ErrorCode.RESOLVE)
        return value[key]
    if isinstance(value, list):
        return value[list_index(len(value), key, where)]
    raise YtError(f"Node {where} cannot have children", ErrorCode.RESOLVE)


def _replaced(value: yson.Yson, key: str, inner: yson.Yson, where: str) -> yson.Yson:
    if isinstance(key, AttributeKey):
        return yson.with_attributes(value, {**yson.attributes_of(value), str(key): inner})
    if isinstance(value, dict):
        return _like(value, {**value, key: inner})
    if isinstance(value, list):
        index = list_index(len(value), key, where)
        return _like(value, [*value[:index], inner, *value[index + 1 :]])
    raise YtError(f"Node {where} cannot have children", ErrorCode.RESOLVE)


def new_position(count: int, key: str, where: str) -> int | None:
    """Where in a list an item with such a key is to be inserted; None if the key can only name one that is there.

    Args:
        count: how many items the list has.
        key: a path component.
        where: path of the list, for errors.

    Raises:
        YtError: code 500: the place is said by an item that is not there.
    """
    match = _NEW_ITEM.fullmatch(key)
    if match is None:
        return None
    if match[1] is None:
        return 0 if key == "begin" else count
    return list_index(count, match[2], where) + (match[1] == "after")


def list_index(count: int, key: str, where: str) -> int:
    """Index of the item that a path component names, in a list of so many; arguments and errors as above."""
    if not _INDEX.fullmatch(key):
        raise YtError(f'Invalid index "{key[:100]}" in list {where}', ErrorCode.RESOLVE)
    index = int(key)
    if not -count <= index < count:
        raise YtError(f"Node {where} has no child with index {index}", ErrorCode.RESOLVE)
    return index % count


def _below(where: str, key: str) -> str:
    return f"{where}/@{key}" if isinstance(key, AttributeKey) else f"{where}/{key}"


def _like(original: yson.Yson, changed: yson.Yson) -> yson.Yson:
    attributes = yson.attributes_of(original)
    return yson.with_attributes(changed, attributes) if attributes else changed
