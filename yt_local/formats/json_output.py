"""Values as JSON: with types, as strings, cut, and with their attributes, as a client wants them."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from yt_local.formats.options import Attributes, boolean, choice, count
from yt_wire import yson
from yt_wire.error import YtError

_BARE_MARK: Final = "\ud800"
"""Before a word that is to lose its quotes: half of a surrogate pair, which no string of a cluster becomes."""

_BARE: Final = re.compile(b'"' + re.escape(_BARE_MARK.encode("utf-8", "surrogatepass")) + rb'(-?inf|nan)"')


@dataclass(frozen=True, slots=True)
class JsonOptions:
    """Attributes of the format."""

    pretty: bool = False
    encode_utf8: bool = True
    """Each byte of a string stands as the code point of the same number; else strings are plain Unicode."""

    attributes_mode: str = "on_demand"
    """Which values are written with their attributes: those that have some, `always` all, or `never`."""

    stringify: bool = False
    annotate_with_types: bool = False
    string_length_limit: int | None = None
    """In bytes; keys are not cut."""

    stringify_nan_and_infinity: bool = False
    support_infinity: bool = False
    """Infinities and NaN are written as `inf`, `-inf` and `nan`, which is not JSON any more."""

    plain: bool = False
    """Of input: no key means anything."""

    skip_null_values: bool = False
    """Of rows."""

    @classmethod
    def parse(cls, attributes: Attributes) -> JsonOptions:
        """Read the attributes of a format; YtError if one makes no sense."""
        stringify_nan = boolean(attributes, "stringify_nan_and_infinity")
        support_infinity = boolean(attributes, "support_infinity")
        if support_infinity and stringify_nan:
            raise YtError('"support_infinity" and "stringify_nan_and_infinity" cannot be specified simultaneously')
        unlimited = yson.is_null(attributes.get("string_length_limit"))
        return cls(
            pretty=choice(attributes, "format", "text", "pretty") == "pretty",
            encode_utf8=boolean(attributes, "encode_utf8", True),
            attributes_mode=choice(attributes, "attributes_mode", "on_demand", "always", "never"),
            stringify=boolean(attributes, "stringify"),
            annotate_with_types=boolean(attributes, "annotate_with_types"),
            string_length_limit=None if unlimited else count(attributes, "string_length_limit", 0),
            stringify_nan_and_infinity=stringify_nan,
            support_infinity=support_infinity,
            plain=boolean(attributes, "plain"),
            skip_null_values=boolean(attributes, "skip_null_values"),
        )


class JsonWriter:
    """Writes values as its options say."""

    def __init__(self, options: JsonOptions) -> None:
        self._options = options
        self._never = options.attributes_mode == "never"
        # What is written most often needs none of the wrapping.
        self._is_plain = not (
            options.stringify
            or options.annotate_with_types
            or options.attributes_mode == "always"
            or options.string_length_limit is not None
        )

    def write(self, value: Any) -> bytes:
        """One value, without a line break."""
        data = dump(self.convert(value), pretty=self._options.pretty)
        return _BARE.sub(rb"\1", data) if self._options.support_infinity else data

    def convert(self, value: Any) -> Any:
        """The value as `json.dumps` takes it."""
        kind = type(value)
        if self._is_plain and kind in (bool, int, type(None)):
            return value
        wrapping: dict[str, Any] = {}
        if not self._never and (attributes := yson.attributes_of(value)):
            wrapping["$attributes"] = {self.key(key): self.convert(item) for key, item in attributes.items()}
        content: Any
        if yson.is_null(value):
            content = None
        elif isinstance(value, dict):
            content = {self.key(key): self.convert(item) for key, item in value.items()}
        elif isinstance(value, list):
            content = [self.convert(item) for item in value]
        else:
            content = self._scalar(value, wrapping)
        if self._options.attributes_mode == "always" and not wrapping:
            wrapping["$attributes"] = {}
        return {**wrapping, "$value": content} if wrapping else content

    def key(self, key: str | bytes) -> str:
        """The key of a map; those that begin with a dollar get one more."""
        text = self._text(yson.bytes_of(key))
        return "$" + text if text.startswith("$") else text

    def cut_string(self, data: bytes, limit: int | None) -> Any:
        """A string with this limit in place of that of the options."""
        wrapping: dict[str, Any] = {}
        content = self._string(data, limit, wrapping)
        return {**wrapping, "$value": content} if wrapping else content

    def _scalar(self, value: Any, wrapping: dict[str, Any]) -> Any:
        if yson.is_string(value):
            limit = None if self._never else self._options.string_length_limit
            return self._string(yson.bytes_of(value), limit, wrapping)
        value = yson.plain(value)
        self._annotate(type_name(value), wrapping)
        if isinstance(value, bool):
            return str(value).lower() if self._options.stringify else value
        if isinstance(value, float):
            return self._double(value)
        return str(int(value)) if self._options.stringify else int(value)

    def _string(self, data: bytes, limit: int | None, wrapping: dict[str, Any]) -> str:
        if limit is not None and len(data) > limit:
            data = data[:limit]
            wrapping["$incomplete"] = True
        self._annotate("string", wrapping)
        return self._text(data)

    def _annotate(self, name: str, wrapping: dict[str, Any]) -> None:
        if self._options.annotate_with_types and not self._never:
            wrapping["$type"] = name

    def _double(self, value: float) -> float | str:
        if self._options.stringify:
            return shortest(value)
        if math.isfinite(value):
            return value
        if self._options.stringify_nan_and_infinity:
            return shortest(value)
        if self._options.support_infinity:
            return _BARE_MARK + shortest(value)
        raise YtError(
            "Unexpected NaN or infinity encountered during JSON writing; "
            'consider using either "support_infinity" or "stringify_nan_and_infinity" config options'
        )

    def _text(self, data: bytes) -> str:
        if self._options.encode_utf8:
            return data.decode("latin-1")
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise YtError(f"String {yson.shown(data)} is not UTF-8 and cannot be written as JSON") from error


def dump(value: Any, *, pretty: bool = False) -> bytes:
    """JSON with no spaces between, for clients' tests compare text, or on many lines."""
    layout: dict[str, Any] = {"indent": 4} if pretty else {"separators": (",", ":")}
    return json.dumps(value, ensure_ascii=False, **layout).encode("utf-8", "surrogatepass")


def type_name(value: Any) -> str:
    """What YTsaurus calls the type of a scalar that has no attributes and is no string."""
    match value:
        case bool():
            return "boolean"
        case float():
            return "double"
        case yson.Uint64():
            return "uint64"
    return "int64" if value < 2**63 else "uint64"


_LEAST_EXPONENT: Final = -10
_MOST_EXPONENT: Final = 21


def shortest(value: float) -> str:
    """A double in the fewest digits that mean it, and no point without need: `0.5`, `1`, `1e+21`."""
    if not math.isfinite(value):
        return repr(value)  # nan, inf, -inf
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    point = len(text) + exponent
    if text == "0":
        body = "0"
    elif not _LEAST_EXPONENT < point <= _MOST_EXPONENT:
        fraction = f".{text[1:]}" if text[1:] else ""
        body = f"{text[0]}{fraction}e{point - 1:+d}"
    elif point <= 0:
        body = f"0.{'0' * -point}{text}"
    elif point < len(text):
        body = f"{text[:point]}.{text[point:]}"
    else:
        body = text + "0" * (point - len(text))
    return "-" + body if sign else body
