"""Values as `web_json` writes them for YQL: by their types, and no more of them than limits allow."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from yt_local.formats.json_output import JsonOptions, JsonWriter, shortest
from yt_local.formats.json_text import JsonText
from yt_local.schema.column_types import SIMPLE_TYPES, is_nullable
from yt_local.schema.decimals import decimal_text
from yt_wire import yson
from yt_wire.error import YtError
from yt_wire.yson import Yson

_ANY_WRITER: Final = JsonWriter(JsonOptions(stringify=True, annotate_with_types=True))


@dataclass(frozen=True, slots=True)
class YqlLimits:
    """In bytes."""

    field: int
    """Of one value of a row, written as JSON."""

    string: int
    """Of a string inside of a composite value."""


Writer: TypeAlias = Callable[[JsonText, Any], None]


def column_writer(type_v3: Yson, limits: YqlLimits) -> Writer:
    """How values of a column are written; strings and `any` may take all that is left of a field."""
    return _writer(type_v3, limits, limits.field)


def _writer(type_v3: Yson, limits: YqlLimits, string_limit: int) -> Writer:
    if isinstance(type_v3, str):
        return _simple(type_v3, limits, string_limit)
    match type_v3["type_name"]:
        case "tagged":
            return _writer(type_v3["item"], limits, string_limit)
        case "decimal":
            precision, scale = type_v3["precision"], type_v3["scale"]
            return lambda text, value: text.value(decimal_text(_string(value), precision, scale))
        case "optional":
            return _optional(type_v3["item"], limits, string_limit)
        case "list":
            return _list(_writer(type_v3["item"], limits, limits.string), limits)
        case "dict":
            items = [_writer(type_v3[part], limits, limits.string) for part in ("key", "value")]
            return _list(_sequence([(b"", item) for item in items]), limits)
        case "variant":
            return _variant(_members(type_v3, limits))
    return _sequence(_members(type_v3, limits))


def _simple(name: str, limits: YqlLimits, string_limit: int) -> Writer:
    physical = {"bool": "boolean", "yson": "any"}.get(name) or SIMPLE_TYPES[name].physical
    match physical:
        case "null":
            return lambda text, value: text.value(None)
        case "boolean":
            return lambda text, value: text.value(_checked(value, bool))
        case "double":
            return lambda text, value: text.value(shortest(_checked(value, float)))
        case "string":
            return lambda text, value: _write_string(text, _string(value), min(limits.field - text.size, string_limit))
        case "any":
            return lambda text, value: _write_any(text, value, min(limits.field - text.size, string_limit))
    return lambda text, value: text.value(str(int(_checked(value, int))))


def _write_string(text: JsonText, data: bytes, limit: int) -> None:
    flags: dict[str, Any] = {}
    try:
        shown = data.decode()
        if len(data) > limit:
            flags["inc"] = True
            shown = data[: max(limit, 0)].decode(errors="ignore")
    except UnicodeDecodeError:
        # One byte more than base64 needs is counted, as for the zero at the end of a C string.
        if (len(data) + 2) // 3 * 4 + 1 > limit:
            kept = max(limit - 1, 0) // 4 * 3
            if kept < len(data):
                flags["inc"] = True
            data = data[:kept]
        flags["b64"] = True
        shown = base64.b64encode(data).decode()
    text.value({**flags, "val": shown} if flags else shown)


def _write_any(text: JsonText, value: Any, limit: int) -> None:
    if len(yson.dumps(value)) > limit:
        text.value({"inc": True, "val": ""})
    else:
        text.value({"val": _ANY_WRITER.convert(value)})


def _optional(item: Yson, limits: YqlLimits, string_limit: int) -> Writer:
    nullable = is_nullable(item)
    write = _writer(item, limits, limits.string if nullable else string_limit)

    def write_optional(text: JsonText, value: Any) -> None:
        if value is None:
            text.value(None)
            return
        text.begin_list()
        # Where an item may be null itself, a list around it says that it is there.
        write(text, _items(value, 1)[0] if nullable else value)
        text.end_list()

    return write_optional


def _list(write: Writer, limits: YqlLimits) -> Writer:
    def write_list(text: JsonText, value: Any) -> None:
        text.begin_map()
        text.key("val")
        text.begin_list()
        incomplete = False
        for item in value.items() if isinstance(value, dict) else _items(value):
            if text.size >= limits.field:
                incomplete = True
                break
            write(text, list(item) if isinstance(item, tuple) else item)
        text.end_list()
        if incomplete:
            text.key("inc")
            text.value(True)
        text.end_map()

    return write_list


_Members: TypeAlias = Sequence[tuple[bytes, Writer]]


def _members(type_v3: Yson, limits: YqlLimits) -> _Members:
    members = type_v3.get("members") or type_v3.get("elements") or []
    return [(member.get("name", "").encode(), _writer(member["type"], limits, limits.string)) for member in members]


def _sequence(members: _Members) -> Writer:
    """Structs come as maps or as lists of their members in order; what is missing is null."""

    def write_sequence(text: JsonText, value: Any) -> None:
        values = [value.get(name) for name, _ in members] if isinstance(value, dict) else _items(value)
        text.begin_list()
        for position, (_, write) in enumerate(members):
            if position < len(values):
                write(text, values[position])
            else:
                text.value(None)
        text.end_list()

    return write_sequence


def _variant(members: _Members) -> Writer:
    names = [name for name, _ in members]

    def write_variant(text: JsonText, value: Any) -> None:
        chosen, content = _items(value, 2)
        index = names.index(chosen) if chosen in names else chosen
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(members):
            raise YtError(f"Alternative is out of bounds: a variant of {len(members)} has no {yson.shown(chosen)}")
        text.begin_list()
        text.value(str(int(index)))
        members[index][1](text, content)
        text.end_list()

    return write_variant


def _items(value: Any, count: int | None = None) -> list[Any]:
    if not isinstance(value, list) or count not in (None, len(value)):
        raise YtError(f"YSON item type mismatch: expected a list, got {yson.shown(value)}")
    return value


def _checked(value: Any, kind: type[bool] | type[float] | type[int]) -> Any:
    """What is inside of composites need not have been checked when it was written."""
    plain = yson.plain(value)
    if type(plain) not in (kind, yson.Uint64 if kind is int else kind):
        raise YtError(f"YSON item type mismatch: expected {kind.__name__}, got {yson.shown(value)}")
    return plain


def _string(value: Any) -> bytes:
    if not yson.is_string(value):
        raise YtError(f"YSON item type mismatch: expected a string, got {yson.shown(value)}")
    return yson.bytes_of(value)
