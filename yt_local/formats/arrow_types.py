"""Arrow's types for those of columns, and values in the form in which pyarrow takes them.

Composite columns are YSON unless a client asks for Arrow's own composites (`enable_complex_types`): lists, structs,
maps for dicts, and a struct of one member around an optional that may hold null itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from yt_local.schema.column_types import is_nullable, parse_type_v3
from yt_wire import yson
from yt_wire.error import YtError
from yt_wire.yson import Yson

Convert = Callable[[Any], Any]

_YSON: Final = {"YtType": "yson"}
_NESTED_OPTIONAL: Final = {"YtType": "nested_optional"}
_EMPTY_STRUCT: Final = {"YtType": "empty_struct"}


class ArrowType(NamedTuple):
    """How a column, or what is inside of one, is written."""

    type: Any
    convert: Convert | None = None
    """What a value becomes that is not null; None: it is taken as it is."""

    metadata: Mapping[str, str] | None = None


class ArrowTypes:
    """Types by those of YTsaurus.

    Args:
        arrow: the module `pyarrow`.
        composites: whether composite types become Arrow's own.
    """

    def __init__(self, arrow: Any, *, composites: bool) -> None:
        self._arrow = arrow
        self._composites = composites
        self._simple = _simple_types(arrow)

    def of_column(self, old_type: str, type_v3: Yson) -> ArrowType:
        """The type of a column.

        Args:
            old_type: the attribute `type` of the column.
            type_v3: its canonical `type_v3`.

        Raises:
            YtError: Arrow has no place for such values.
        """
        return self._of(type_v3) if self._composites else self._leaf(old_type)

    def _of(self, type_v3: Yson) -> ArrowType:
        bare = _without_null(type_v3)
        if isinstance(bare, str):
            return self._leaf(parse_type_v3(bare).type)
        match bare["type_name"]:
            case "list":
                return self._list(bare["item"])
            case "struct":
                return self._struct([(member["name"], member["type"]) for member in bare["members"]])
            case "dict":
                return self._dict(bare["key"], bare["value"])
            case "optional":
                return self._nested_optional(bare["item"])
        raise YtError(f'Complex type "{bare["type_name"]}" is not yet supported with Arrow complex types enabled')

    def _leaf(self, name: str) -> ArrowType:
        if name not in self._simple:
            raise YtError(f'Type "{name}" is not currently supported by Arrow encoder')
        if name == "any":
            return ArrowType(self._simple[name], yson.dumps, _YSON)
        return ArrowType(self._simple[name])

    def _list(self, item: Yson) -> ArrowType:
        inner = self._of(item)
        convert = _nullable(inner.convert)
        return ArrowType(self._arrow.list_(self._field("", item, inner)), lambda value: list(map(convert, value)))

    def _struct(self, members: list[tuple[str, Yson]]) -> ArrowType:
        inner = [(name, self._of(member)) for name, member in members]
        fields = [self._field(name, member, arrow) for (name, member), (_, arrow) in zip(members, inner, strict=True)]
        if not fields:  # a struct of Arrow has to have one
            fields = [self._arrow.field("", self._arrow.null(), metadata=_EMPTY_STRUCT)]
        converts = [(name, _nullable(arrow.convert)) for name, arrow in inner]

        def convert(value: Any) -> dict[str, Any]:
            if isinstance(value, list):
                return {name: change(item) for (name, change), item in zip(converts, value, strict=False)}
            given = {yson.bytes_of(key): item for key, item in value.items()}
            return {name: change(given.get(name.encode())) for name, change in converts}

        return ArrowType(self._arrow.struct(fields), convert)

    def _dict(self, key: Yson, value: Yson) -> ArrowType:
        of_key, of_value = self._of(key), self._of(value)
        change_key, change_value = _nullable(of_key.convert), _nullable(of_value.convert)
        arrow_type = self._arrow.map_(
            self._field("key", key, of_key).with_nullable(False), self._field("value", value, of_value)
        )
        return ArrowType(arrow_type, lambda pairs: [(change_key(one), change_value(other)) for one, other in pairs])

    def _nested_optional(self, item: Yson) -> ArrowType:
        """A value stands in a list of one, as in YSON."""
        inner = self._of(item)
        change = _nullable(inner.convert)
        arrow_type = self._arrow.struct([self._field("", item, inner)])
        return ArrowType(arrow_type, lambda value: {"": change(value[0])}, _NESTED_OPTIONAL)

    def _field(self, name: str, type_v3: Yson, inner: ArrowType) -> Any:
        return self._arrow.field(name, inner.type, nullable=is_nullable(type_v3), metadata=inner.metadata)


def _without_null(type_v3: Yson) -> Yson:
    """A type without its tags and the optional around it, unless that is around another."""
    while not isinstance(type_v3, str):
        kind = type_v3["type_name"]
        if kind != "tagged" and (kind != "optional" or is_nullable(type_v3["item"])):
            break
        type_v3 = type_v3["item"]
    return type_v3


def _nullable(convert: Convert | None) -> Convert:
    if convert is None:
        return yson.plain
    return lambda value: None if yson.is_null(value) else convert(value)


def _simple_types(arrow: Any) -> Mapping[str, Any]:
    """Arrow's types by the names in the attribute `type` of columns; composites are `any` there."""
    same = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
    return {name: getattr(arrow, name)() for name in same} | {
        "interval": arrow.int64(),
        "float": arrow.float32(),
        "double": arrow.float64(),
        "boolean": arrow.bool_(),
        "string": arrow.binary(),
        "any": arrow.binary(),
        "utf8": arrow.string(),
        "json": arrow.string(),
        "date": arrow.date32(),
        "datetime": arrow.timestamp("s"),
        "timestamp": arrow.timestamp("us"),
        "null": arrow.null(),
        "void": arrow.null(),
    }
