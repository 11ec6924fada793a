"""Values of `skiff` by the types of their columns: what is read and written for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from yt_local.formats.skiff_schema import SIMPLE_WIRE_TYPES, SkiffSchema
from yt_local.formats.skiff_wire import END_TAGS, SkiffBytes, write_integer, write_simple
from yt_local.schema.column_types import SIMPLE_TYPES, is_nullable, v3_name
from yt_local.schema.decimals import decimal_bytes, decimal_number, decimal_size
from yt_wire import yson
from yt_wire.error import YtError
from yt_wire.yson import Yson


class SkiffCodec(NamedTuple):
    """How the values of one layout and type are read and written.

    Structs are read as maps by name, variants of named members as pairs of a name and a value; both are written from
    lists in order as well.
    """

    read: Callable[[SkiffBytes], Any]
    write: Callable[[bytearray, Any], None]


_SIGNED: Final = frozenset({"int8", "int16", "int32", "int64", "yson32"})
_UNSIGNED: Final = frozenset({"uint8", "uint16", "uint32", "uint64", "yson32"})
_WIRE_TYPES: Final = {
    "int64": _SIGNED,
    "uint64": _UNSIGNED,
    "double": frozenset({"double", "yson32"}),
    "boolean": frozenset({"boolean", "yson32"}),
    "string": frozenset({"string32", "yson32"}),
    "null": frozenset({"nothing", "yson32"}),
    "any": _SIGNED | _UNSIGNED | {"double", "boolean", "string32", "nothing"},
}
"""By physical type."""

_DECIMAL_WIRE_TYPES: Final = {4: "int32", 8: "int64", 16: "int128", 32: "int256"}
_UUID_BYTES: Final = 16

_VARIANTS: Final = {"variant8": 1, "variant16": 2}


def column_codec(schema: SkiffSchema, type_v3: Yson | None, *, for_output: bool, is_sparse: bool) -> SkiffCodec:
    """The codec of a column.

    Args:
        schema: its layout.
        type_v3: its type; None if the table has no such column.
        for_output: whether rows are written.
        is_sparse: whether it is only there if it is not null; then the layout need not say that it is optional.

    Raises:
        YtError: the layout cannot hold values of the type.
    """
    inner, is_optional = schema.without_optional()
    if type_v3 is None and not inner.is_simple and is_optional and for_output:
        return _always_null(inner)
    item, is_required = _required("yson" if type_v3 is None else type_v3)
    if not isinstance(item, str) and item["type_name"] != "decimal":
        composites = _Composites(for_output=for_output)
        omitted = is_sparse and not is_required and not is_optional
        return composites.codec(schema, item if omitted else type_v3)
    # Whether null is allowed is only seen when a null comes.
    codec = _leaf(inner, item)
    return _optional(codec, schema.name) if is_optional else codec


def _required(type_v3: Yson) -> tuple[Yson, bool]:
    """A type without tags and one optional around it, and whether there was none."""
    if not isinstance(type_v3, str) and type_v3["type_name"] == "tagged":
        return _required(type_v3["item"])
    if not isinstance(type_v3, str) and type_v3["type_name"] == "optional" and not is_nullable(type_v3["item"]):
        return _required(type_v3["item"])[0], False
    return type_v3, True


def _leaf(schema: SkiffSchema, item: Yson) -> SkiffCodec:
    wire_type, name = schema.wire_type, schema.name
    if wire_type not in SIMPLE_WIRE_TYPES:
        raise YtError(f'Column "{name}" cannot be represented with skiff schema "{wire_type}"')
    if not isinstance(item, str):
        return _decimal(wire_type, name, item["precision"])
    if item == "uuid" and wire_type == "uint128":
        return SkiffCodec(
            lambda data: data.take(_UUID_BYTES)[::-1],
            lambda out, value: out.extend(_bytes(value, _UUID_BYTES, name)[::-1]),
        )
    if wire_type not in _WIRE_TYPES[SIMPLE_TYPES[_V1_NAMES.get(item, item)].physical]:
        raise YtError(f'Unexpected wire type "{wire_type}"')
    return _simple(wire_type, name)


_V1_NAMES: Final = {v3_name(name): name for name in SIMPLE_TYPES}


def _simple(wire_type: str, name: str) -> SkiffCodec:
    return SkiffCodec(lambda data: data.simple(wire_type), lambda out, value: write_simple(out, wire_type, value, name))


def _decimal(wire_type: str, name: str, precision: int) -> SkiffCodec:
    size = decimal_size(precision)
    if wire_type == "yson32":
        return _simple(wire_type, name)
    if wire_type != _DECIMAL_WIRE_TYPES[size]:
        raise YtError(f"Skiff type {wire_type} cannot represent type Decimal<{precision}, ?>")
    return SkiffCodec(
        lambda data: decimal_bytes(data.simple(wire_type), size),
        lambda out, value: write_integer(out, wire_type, decimal_number(_bytes(value, size, name))),
    )


def _always_null(schema: SkiffSchema) -> SkiffCodec:
    """An optional value of a column or member that is not there."""

    def refuse(*_: object) -> None:
        raise YtError(f'Cannot represent nonnull value of column "{schema.name}" absent in schema')

    return _optional(SkiffCodec(refuse, refuse), schema.name)


def _bytes(value: Any, size: int, name: str) -> bytes:
    if not yson.is_string(value) or len(data := yson.bytes_of(value)) != size:
        raise YtError(f'Value of column "{name}" is not a string of {size} bytes: {yson.shown(value)}')
    return data


def _optional(codec: SkiffCodec, name: str, *, wrapped: bool = False) -> SkiffCodec:
    """Null or a value, which stands in a list of one if it may be null itself."""

    def read(data: SkiffBytes) -> Any:
        tag = data.tag(1)
        if tag > 1:
            raise YtError(f'Found bad variant8 tag "{tag}" when parsing optional field "{name}"')
        if not tag:
            return None
        value = codec.read(data)
        return [value] if wrapped else value

    def write(out: bytearray, value: Any) -> None:
        if yson.is_null(value):
            out.append(0)
            return
        out.append(1)
        codec.write(out, _items(value, name, 1)[0] if wrapped else value)

    return SkiffCodec(read, write)


class _Composites:
    """Codecs of values that may be composite, or are part of one.

    Args:
        for_output: then layouts may have members that structs lack, which are null.
    """

    def __init__(self, *, for_output: bool) -> None:
        self._for_output = for_output

    def codec(self, schema: SkiffSchema, type_v3: Yson) -> SkiffCodec:
        """The codec of a layout and a type; YtError if they do not match."""
        if isinstance(type_v3, str):
            return _leaf(schema, type_v3)
        match type_v3["type_name"]:
            case "tagged":
                return self.codec(schema, type_v3["item"])
            case "decimal":
                return _leaf(schema, type_v3)
            case "optional":
                inner, is_optional = schema.without_optional()
                if not is_optional:
                    raise _mismatch(schema, type_v3)
                item = type_v3["item"]
                return _optional(self.codec(inner, item), schema.name, wrapped=is_nullable(item))
            case "list":
                return self._sequence(schema, type_v3, type_v3["item"])
            case "dict":
                pair = {"type_name": "tuple", "elements": [{"type": type_v3["key"]}, {"type": type_v3["value"]}]}
                return self._sequence(schema, type_v3, pair)
            case "variant":
                return self._variant(schema, type_v3)
        return self._struct(schema, type_v3) if "members" in type_v3 else self._tuple(schema, type_v3)

    def _sequence(self, schema: SkiffSchema, type_v3: Yson, item: Yson) -> SkiffCodec:
        if schema.wire_type != "repeated_variant8" or len(schema.children) != 1:
            raise _mismatch(schema, type_v3)
        codec, name = self.codec(schema.children[0], item), schema.name

        def read(data: SkiffBytes) -> Any:
            items = []
            while (tag := data.tag(1)) != END_TAGS[1]:
                if tag:
                    raise YtError(f'Unexpected {schema.wire_type} tag "{tag}" in field "{name}"')
                items.append(codec.read(data))
            return items

        def write(out: bytearray, value: Any) -> None:
            for entry in [list(pair) for pair in value.items()] if isinstance(value, dict) else _items(value, name):
                out.append(0)
                codec.write(out, entry)
            out.append(END_TAGS[1])

        return SkiffCodec(read, write)

    def _tuple(self, schema: SkiffSchema, type_v3: Yson) -> SkiffCodec:
        if schema.wire_type != "tuple" or len(schema.children) != len(type_v3["elements"]):
            raise _mismatch(schema, type_v3)
        elements = zip(schema.children, type_v3["elements"], strict=True)
        codecs = [self.codec(child, element["type"]) for child, element in elements]

        def write(out: bytearray, value: Any) -> None:
            for codec, item in zip(codecs, _items(value, schema.name, len(codecs)), strict=True):
                codec.write(out, item)

        return SkiffCodec(lambda data: [codec.read(data) for codec in codecs], write)

    def _struct(self, schema: SkiffSchema, type_v3: Yson) -> SkiffCodec:
        """Members are matched by name and stand in order; those that the layout lacks are null when they are read."""
        names = [member["name"] for member in type_v3["members"]]
        types = {member["name"]: member["type"] for member in type_v3["members"]}
        laid_out = [child.name for child in schema.children]
        known = [name for name in laid_out if name in types]
        if schema.wire_type != "tuple" or known != [name for name in names if name in laid_out]:
            raise _mismatch(schema, type_v3)
        codecs = [
            (child.name, self.codec(child, types[child.name]) if child.name in types else self._unknown(child))
            for child in schema.children
        ]
        if not self._for_output and (
            lost := [name for name in names if name not in known and not is_nullable(types[name])]
        ):
            raise YtError(f'Non optional struct field "{lost[0]}" is missing in Skiff schema')

        def read(data: SkiffBytes) -> Any:
            return {name.encode(): codec.read(data) for name, codec in codecs}

        def write(out: bytearray, value: Any) -> None:
            by_name = value if isinstance(value, dict) else _named(names, _items(value, schema.name))
            for name, codec in codecs:
                codec.write(out, by_name.get(name.encode()))

        return SkiffCodec(read, write)

    def _unknown(self, schema: SkiffSchema) -> SkiffCodec:
        """A member that no struct has."""
        inner, is_optional = schema.without_optional()
        if not self._for_output or not is_optional:
            raise YtError(f'Skiff "tuple" child "{schema.name}" is not found in logical type')
        return _always_null(inner)

    def _variant(self, schema: SkiffSchema, type_v3: Yson) -> SkiffCodec:
        members = type_v3.get("members") or type_v3["elements"]
        names = [member["name"].encode() for member in type_v3.get("members", ())]
        same_names = not names or names == [child.name.encode() for child in schema.children]
        if schema.wire_type not in _VARIANTS or len(schema.children) != len(members) or not same_names:
            raise _mismatch(schema, type_v3)
        tag_size = _VARIANTS[schema.wire_type]
        codecs = [self.codec(child, member["type"]) for child, member in zip(schema.children, members, strict=True)]

        def read(data: SkiffBytes) -> Any:
            tag = data.tag(tag_size)
            if tag >= len(codecs):
                raise YtError(f'Variant tag ({tag}) exceeds "{schema.wire_type}" children count ({len(codecs)})')
            return [names[tag] if names else tag, codecs[tag].read(data)]

        def write(out: bytearray, value: Any) -> None:
            chosen, content = _items(value, schema.name, 2)
            index = names.index(chosen) if chosen in names else chosen
            if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(codecs):
                raise YtError(f'A variant of column "{schema.name}" has no alternative {yson.shown(chosen)}')
            out.extend(index.to_bytes(tag_size, "little"))
            codecs[index].write(out, content)

        return SkiffCodec(read, write)


def _named(names: Sequence[str], values: Sequence[Any]) -> Mapping[bytes, Any]:
    """Members of a struct that came as a list; the last ones may be missing."""
    return dict(zip((name.encode() for name in names), values, strict=False))


def _items(value: Any, name: str, count: int | None = None) -> Sequence[Any]:
    if not isinstance(value, list) or count not in (None, len(value)):
        raise YtError(f'YSON item type mismatch in column "{name}": expected a list, got {yson.shown(value)}')
    return value


def _mismatch(schema: SkiffSchema, type_v3: Yson) -> YtError:
    return YtError(
        f'Field "{schema.name}" of type "{type_v3["type_name"]}" does not match wire type "{schema.wire_type}"'
    )
