"""All formats of requests and answers, by name and by MIME type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from yt_local.formats.arrow import ArrowFormat
from yt_local.formats.dsv_format import DsvFormat
from yt_local.formats.format import Format
from yt_local.formats.json_format import JsonFormat
from yt_local.formats.json_output import JsonOptions
from yt_local.formats.options import Attributes
from yt_local.formats.skiff import SkiffFormat
from yt_local.formats.web_json import WebJsonFormat
from yt_local.formats.yson_format import YsonFormat
from yt_wire import yson
from yt_wire.error import YtError

JSON_FORMAT: Final = JsonFormat(JsonOptions())
YSON_TEXT: Final = YsonFormat("text")


def parse_format(value: Any) -> Format:
    """Read a format as parameters name it: `json` or `<format=text>yson`.

    Raises:
        YtError: not a format, or one that is not supported.
    """
    if not isinstance(value, str):
        raise YtError(f"Format must be a string, got {yson.shown(value)}")
    name = str(value)  # with its attributes it would equal nothing
    if name not in _FORMATS:
        raise YtError(f'Format "{name}" is not supported')
    return _FORMATS[name](yson.attributes_of(value))


def format_of_mime_type(mime_type: str) -> Format | None:
    """The format of a `Content-Type` or `Accept` that is exactly a known type, without parameters."""
    return _BY_MIME_TYPE.get(mime_type.strip())


_FORMATS: Final[Mapping[str, Callable[[Attributes], Format]]] = {
    "yson": YsonFormat.parse,
    "json": lambda attributes: JsonFormat(JsonOptions.parse(attributes)),
    "dsv": lambda attributes: DsvFormat("dsv", attributes),
    "schemaful_dsv": lambda attributes: DsvFormat("schemaful_dsv", attributes),
    "web_json": WebJsonFormat,
    "skiff": SkiffFormat,
    "arrow": ArrowFormat,
}

_BY_MIME_TYPE: Final[Mapping[str, Format]] = {
    known.mime_type: known for known in (JSON_FORMAT, YsonFormat("binary"), YSON_TEXT, YsonFormat("pretty"))
}
