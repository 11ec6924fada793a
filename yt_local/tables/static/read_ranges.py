"""Which columns and rows of a table a rich path selects: by its attributes, or by `{a,b}[#1:#5,x:y]` behind it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from yt_local.tables.static.row_batches import checked_names
from yt_wire import yson
from yt_wire.error import YtError
from yt_wire.ypath import RichPath

_MAX_KEY: Final = yson.with_attributes(None, {"type": "max"})
_KEY_RELATIONS: Final = {">=": False, "<": False, ">": True, "<=": True}
"""By relation of a key bound: whether the bound lies behind all keys that begin with its values."""

_TOKEN: Final = re.compile(
    rb'\s*(?:(?P<mark>[\[\]{}(),:#])|(?P<value>"(?:[^"\\]|\\.)*"|%\w+|[^\s\[\]{}(),:#"%]+)|(?P<end>$))', re.DOTALL
)


@dataclass(frozen=True, slots=True)
class ReadLimit:
    """One end of a range; what is given in several ways must hold in all of them. None: not given."""

    key: tuple[Any, ...] | None = None
    """The first key in, or the first one out; it may be a prefix, and sentinels may stand in it."""

    row_index: int | None = None
    chunk_index: int | None = None
    tablet_index: int | None = None

    @property
    def is_trivial(self) -> bool:
        return self == ReadLimit()


@dataclass(frozen=True, slots=True)
class ReadRange:
    """Rows from one limit up to another."""

    lower: ReadLimit = ReadLimit()
    upper: ReadLimit = ReadLimit()
    exact: ReadLimit | None = None
    """What was given in place of both."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What is to be read of a table."""

    columns: tuple[bytes, ...] | None = None
    """Names in the order given; None: all columns."""

    ranges: tuple[ReadRange, ...] = (ReadRange(),)


def parse_selection(path: RichPath) -> Selection:
    """Columns and ranges of a path; YtError if they make no sense."""
    columns, ranges = _parse_selectors(path.columns_and_ranges) if path.columns_and_ranges else (None, None)
    attributes = path.attributes
    if "columns" in attributes:
        if not isinstance(attributes["columns"], list):
            raise YtError(f'Path attribute "columns" must be a list, got {yson.shown(attributes["columns"])}')
        columns = tuple(name.encode() for name in checked_names(attributes["columns"]))
    if "ranges" in attributes:
        if not isinstance(attributes["ranges"], list):
            raise YtError(f'Path attribute "ranges" must be a list, got {yson.shown(attributes["ranges"])}')
        ranges = tuple(_range(item) for item in attributes["ranges"])
    elif any(name in attributes for name in ("lower_limit", "upper_limit", "exact")):
        ranges = (_range(attributes),)
    unique = None if columns is None else tuple(dict.fromkeys(columns))
    return Selection(unique) if ranges is None else Selection(unique, ranges)


def selection_attributes(path: RichPath) -> dict[str, Any]:
    """What stands behind a path as the attributes that mean the same; empty if nothing does."""
    columns, ranges = _parse_selectors(path.columns_and_ranges) if path.columns_and_ranges else (None, None)
    attributes: dict[str, Any] = {}
    if columns is not None:
        attributes["columns"] = [name.decode() for name in columns]
    if ranges is not None:
        attributes["ranges"] = [_range_attributes(item) for item in ranges]
    return attributes


def _range_attributes(item: ReadRange) -> dict[str, Any]:
    if item.exact is not None:
        return {"exact": _limit_attributes(item.exact)}
    limits = {"lower_limit": item.lower, "upper_limit": item.upper}
    return {name: _limit_attributes(limit) for name, limit in limits.items() if not limit.is_trivial}


def _limit_attributes(limit: ReadLimit) -> dict[str, Any]:
    values = {
        "key": None if limit.key is None else list(limit.key),
        "row_index": limit.row_index,
        "chunk_index": limit.chunk_index,
        "tablet_index": limit.tablet_index,
    }
    return {name: value for name, value in values.items() if value is not None}


def _range(value: Any) -> ReadRange:
    if not isinstance(value, Mapping):
        raise YtError(f"Range of a path must be a map, got {yson.shown(value)}")
    if "exact" in value:
        if "lower_limit" in value or "upper_limit" in value:
            raise YtError('Exact limit cannot be specified together with "lower_limit" or "upper_limit"')
        return _exact(_limit(value["exact"]))
    return ReadRange(_limit(value.get("lower_limit", {})), _limit(value.get("upper_limit", {})))


def _exact(limit: ReadLimit) -> ReadRange:
    """All that begins with the limit."""
    if limit.is_trivial:
        raise YtError("Exact limit must not be empty")
    if limit.key is not None:
        upper = replace(limit, key=(*limit.key, _MAX_KEY))
    elif limit.row_index is not None:
        upper = replace(limit, row_index=limit.row_index + 1)
    elif limit.chunk_index is not None:
        upper = replace(limit, chunk_index=limit.chunk_index + 1)
    else:
        assert limit.tablet_index is not None
        upper = replace(limit, tablet_index=limit.tablet_index + 1)
    return ReadRange(limit, upper, limit)


def _limit(value: Any) -> ReadLimit:
    if not isinstance(value, Mapping):
        raise YtError(f"Limit of a range must be a map, got {yson.shown(value)}")
    for name in value:
        if name not in ("key", "key_bound", "row_index", "chunk_index", "tablet_index"):
            raise YtError(f'Selector "{name}" is not supported')
    numbers = {name: _index(value, name) for name in ("row_index", "chunk_index", "tablet_index")}
    key = value.get("key")
    if key is not None and not isinstance(key, list):
        raise YtError(f"Key of a range must be a list, got {yson.shown(key)}")
    if "key_bound" in value:
        key = _key_of_bound(value["key_bound"])
    return ReadLimit(None if key is None else tuple(key), **numbers)


def _key_of_bound(bound: Any) -> list[Any]:
    """The key of `[relation; values]`."""
    if not (isinstance(bound, list) and len(bound) == 2 and isinstance(bound[1], list) and bound[0] in _KEY_RELATIONS):
        raise YtError(f"Key bound must be a relation and a list of values, got {yson.shown(bound)}")
    return [*bound[1], _MAX_KEY] if _KEY_RELATIONS[bound[0]] else list(bound[1])


def _index(limit: Mapping[str, Any], name: str) -> int | None:
    value = limit.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise YtError(f'Selector "{name}" must be a number, got {yson.shown(value)}')
    return None if value is None else int(value)


def _parse_selectors(text: str) -> tuple[tuple[bytes, ...] | None, tuple[ReadRange, ...] | None]:
    parser = _Parser(text)
    columns = tuple(parser.columns()) if parser.take(b"{") else None
    ranges = tuple(parser.ranges()) if parser.take(b"[") else None
    parser.expect(b"")
    return columns, ranges


class _Parser:
    """Reads selectors token by token; marks are bytes, values come as YSON in a tuple of one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(self._tokenize(text.encode()))
        self._position = 0

    def columns(self) -> Iterable[bytes]:
        while not self.take(b"}"):
            value = self._value()
            if not yson.is_string(value):
                raise self._unexpected()
            yield yson.bytes_of(value)
            self._separate(b"}")

    def ranges(self) -> Iterable[ReadRange]:
        if self.take(b"]"):
            yield ReadRange()  # brackets with nothing in them select everything
            return
        while not self.take(b"]"):
            yield self._range()
            self._separate(b"]")

    def take(self, mark: bytes) -> bool:
        """Whether the next token is this mark, which then is left behind."""
        found = self._tokens[self._position] == mark
        if found:
            self._position += 1
        return found

    def expect(self, mark: bytes) -> None:
        if not self.take(mark):
            raise self._unexpected()

    def _range(self) -> ReadRange:
        lower = ReadLimit() if self._next_is(b":") else self._limit()
        if not self.take(b":"):
            return _exact(lower)
        upper = ReadLimit() if self._next_is(b",", b"]") else self._limit()
        return ReadRange(lower, upper)

    def _limit(self) -> ReadLimit:
        if self.take(b"#"):
            index = self._value()
            if isinstance(index, bool) or not isinstance(index, int):
                raise self._unexpected()
            return ReadLimit(row_index=int(index))
        if not self.take(b"("):
            return ReadLimit(key=(self._value(),))
        values = []
        while not self.take(b")"):
            values.append(None if self.take(b"#") else self._value())
            self._separate(b")")
        return ReadLimit(key=tuple(values))

    def _separate(self, closing: bytes) -> None:
        """A comma, unless the closing bracket is next."""
        if not self._next_is(closing):
            self.expect(b",")

    def _next_is(self, *marks: bytes) -> bool:
        return self._tokens[self._position] in marks

    def _value(self) -> Any:
        token = self._tokens[self._position]
        if not isinstance(token, tuple):
            raise self._unexpected()
        self._position += 1
        return token[0]

    def _tokenize(self, data: bytes) -> Iterable[bytes | tuple[Any]]:
        position = 0
        while True:
            match = _TOKEN.match(data, position)
            if match is None:
                raise YtError(f"Error parsing path selectors {yson.shown(self._text)} at position {position}")
            position = match.end()
            if match["value"] is not None:
                yield (yson.loads_raw(match["value"]),)
            else:
                yield match["mark"] or b""
                if match["mark"] is None:
                    return

    def _unexpected(self) -> YtError:
        token = self._tokens[self._position]
        shown = token[0] if isinstance(token, tuple) else token.decode() or "the end"
        return YtError(f"Error parsing path selectors {yson.shown(self._text)}: unexpected {yson.shown(shown)}")
