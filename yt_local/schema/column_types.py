"""Column types: names, ranges, and `type_v3` in its canonical form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from yt_wire import yson
from yt_wire.error import YtError
from yt_wire.yson import Yson

PhysicalType: TypeAlias = Literal["int64", "uint64", "double", "boolean", "string", "any", "null"]
"""What a value is stored and computed as, whatever the type is called."""

_DAYS = 49673
"""Days that dates may span: 1970-01-01 to 2106-01-01."""
_SECONDS = _DAYS * 86400
_MICROSECONDS = _SECONDS * 10**6
_FLOAT_MAX = 3.4028234663852886e38


@dataclass(frozen=True, slots=True)
class SimpleType:
    """A type without parameters; bounds are inclusive and None where the physical type sets none of its own."""

    physical: PhysicalType
    minimum: int | float | None = None
    maximum: int | float | None = None


def _signed(bits: int) -> SimpleType:
    return SimpleType("int64", -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _unsigned(bits: int) -> SimpleType:
    return SimpleType("uint64", 0, 2**bits - 1)


SIMPLE_TYPES: Mapping[str, SimpleType] = {
    "int8": _signed(8),
    "int16": _signed(16),
    "int32": _signed(32),
    "int64": _signed(64),
    "uint8": _unsigned(8),
    "uint16": _unsigned(16),
    "uint32": _unsigned(32),
    "uint64": _unsigned(64),
    "float": SimpleType("double", -_FLOAT_MAX, _FLOAT_MAX),
    "double": SimpleType("double"),
    "boolean": SimpleType("boolean"),
    "string": SimpleType("string"),
    "utf8": SimpleType("string"),
    "json": SimpleType("string"),
    "uuid": SimpleType("string"),
    "date": SimpleType("uint64", 0, _DAYS - 1),
    "datetime": SimpleType("uint64", 0, _SECONDS - 1),
    "timestamp": SimpleType("uint64", 0, _MICROSECONDS - 1),
    "interval": SimpleType("int64", 1 - _MICROSECONDS, _MICROSECONDS - 1),
    "date32": _signed(32),
    "datetime64": _signed(64),
    "timestamp64": _signed(64),
    "interval64": _signed(64),
    "any": SimpleType("any"),
    "null": SimpleType("null"),
    "void": SimpleType("null"),
}
"""By their names in `type`."""

_V3_NAMES = {"boolean": "bool", "any": "yson"}
_V1_NAMES = {v3: v1 for v1, v3 in _V3_NAMES.items()}


def v3_name(name: str) -> str:
    """Name of a simple type in `type_v3`."""
    return _V3_NAMES.get(name, name)


@dataclass(frozen=True, slots=True)
class LogicalType:
    """What a `type_v3` amounts to: the old `type` and `required`, and all of it where these do not say everything."""

    type: str
    required: bool
    composite: Yson | None = None


def parse_type(name: str) -> str:
    """Check a name in `type`."""
    if name not in SIMPLE_TYPES:
        raise YtError(f'Error parsing ESimpleLogicalValueType value "{name}"')
    return name


def parse_type_v3(value: Yson) -> LogicalType:
    """Check a `type_v3` of any depth; YtError names what is wrong with it."""
    canonical = _canonical(value)
    if isinstance(canonical, str):
        name = _V1_NAMES.get(canonical, canonical)
        return LogicalType(name, required=SIMPLE_TYPES[name].physical != "null")
    if canonical["type_name"] == "optional":
        item = canonical["item"]
        if isinstance(item, str):
            return LogicalType(_V1_NAMES.get(item, item), required=False)
        return LogicalType(_old_type(item), required=False, composite=canonical)
    return LogicalType(_old_type(canonical), required=not is_nullable(canonical), composite=canonical)


def _old_type(canonical: Yson) -> str:
    if isinstance(canonical, str):
        return _V1_NAMES.get(canonical, canonical)
    match canonical["type_name"]:
        case "tagged":
            return _old_type(canonical["item"])
        case "decimal":
            return "string"
        case _:
            return "any"


def is_nullable(canonical: Yson) -> bool:
    """Whether null is among the values of a `type_v3` in its canonical form."""
    while isinstance(canonical, dict) and canonical["type_name"] == "tagged":
        canonical = canonical["item"]
    return canonical in ("null", "void") or (isinstance(canonical, dict) and canonical["type_name"] == "optional")


def _canonical(value: Yson) -> Yson:
    if yson.is_string(value):
        name = text_of(value, "type_v3")
        if name in _V3_NAMES or _V1_NAMES.get(name, name) not in SIMPLE_TYPES:
            raise YtError(f'Error parsing type_v3: unknown type "{name}"')
        return name
    if not isinstance(value, dict):
        raise YtError("Error parsing type_v3: expected a string or a map")
    type_name = text_of(_member(value, "type_name", "type"), "type_name")
    match type_name:
        case "optional" | "list":
            return {"type_name": type_name, "item": _canonical(_member(value, "item", type_name))}
        case "tagged":
            tag = text_of(_member(value, "tag", type_name), "tag")
            return {"type_name": type_name, "tag": tag, "item": _canonical(_member(value, "item", type_name))}
        case "dict":
            key, item = (_canonical(_member(value, member, type_name)) for member in ("key", "value"))
            return {"type_name": type_name, "key": key, "value": item}
        case "decimal":
            return _decimal(value)
        case "struct":
            return {"type_name": type_name, "members": _members(value, type_name)}
        case "tuple":
            return {"type_name": type_name, "elements": _elements(value, type_name)}
        case "variant" if "members" in value:
            return {"type_name": type_name, "members": _members(value, type_name)}
        case "variant":
            return {"type_name": type_name, "elements": _elements(value, type_name)}
        case _:
            return _canonical(type_name)


def _decimal(value: Mapping[str, Yson]) -> Yson:
    precision, scale = (_member(value, member, "decimal") for member in ("precision", "scale"))
    if not isinstance(precision, int) or not 1 <= precision <= 76:
        raise YtError(f"Invalid decimal precision {yson.shown(precision)}: expected a number from 1 to 76")
    if not isinstance(scale, int) or not 0 <= scale <= precision:
        raise YtError(
            f"Invalid decimal scale {yson.shown(scale)}: expected a number from 0 to the precision {precision}"
        )
    return {"type_name": "decimal", "precision": int(precision), "scale": int(scale)}


def _members(value: Mapping[str, Yson], type_name: str) -> list[Yson]:
    members: list[Yson] = []
    for member in _list(value, "members", type_name):
        name = text_of(_member(member, "name", type_name), "name")
        if not name or any(name == other["name"] for other in members):
            raise YtError(f'Error parsing type_v3: name "{name}" of a {type_name} member is empty or used twice')
        members.append({"name": name, "type": _canonical(_member(member, "type", type_name))})
    return members


def _elements(value: Mapping[str, Yson], type_name: str) -> list[Yson]:
    elements = _list(value, "elements", type_name)
    return [{"type": _canonical(_member(element, "type", type_name))} for element in elements]


def _list(value: Mapping[str, Yson], member: str, type_name: str) -> list[Yson]:
    result = _member(value, member, type_name)
    if not isinstance(result, list):
        raise YtError(f'Error parsing type_v3: "{member}" of "{type_name}" must be a list')
    return result


def _member(value: Yson, member: str, type_name: str) -> Yson:
    if not isinstance(value, dict) or member not in value:
        raise YtError(f'Error parsing type_v3: "{type_name}" needs member "{member}"')
    return value[member]


def text_of(value: Yson, what: str) -> str:
    """Content of a string value; YtError, naming what it was to be, if it is no string or not UTF-8."""
    if not yson.is_string(value):
        raise YtError(f'"{what}" must be a string')
    try:
        return yson.bytes_of(value).decode()
    except UnicodeDecodeError as error:
        raise YtError(f'"{what}" is not valid UTF-8') from error
