"""From an HTTP request to a command's parameters and body, whatever way the client chose to send them."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import parse_qsl

from aiohttp import ClientError, StreamReader
from aiohttp.web import RequestPayloadError

from yt_local.base.memory_budget import Lease
from yt_local.calls.command import Body, Command, Kind
from yt_local.formats.format import Format
from yt_local.formats.formats import JSON_FORMAT, YSON_TEXT, format_of_mime_type, parse_format
from yt_local.proxy.http.compression import body_decoder
from yt_wire import http, yson
from yt_wire.error import ErrorCode, YtError

BODY_SECONDS: Final = 60.0
"""From one piece of a body to the next."""

_MEGABYTE: Final = 2**20
_MAX_BODY_BYTES: Final[Mapping[Kind, int]] = {
    "null": 16 * _MEGABYTE,
    "structured": 16 * _MEGABYTE,
    "tabular": 128 * _MEGABYTE,
    "binary": 128 * _MEGABYTE,
}
"""By what a command takes; Python values are much larger than what they are written as."""

_NOT_IN_HEADERS: Final = re.compile(rb"[\x00-\x1f\x7f]")


class BrokenBody(YtError):
    """A body after which the connection is of no use."""


class BodyTimeout(BrokenBody):
    """A body that does not come."""


class BodyCut(YtError):
    """A body whose client is gone."""


async def read_body(
    content: StreamReader, encoding: str, kind: Kind, lease: Lease, seconds: float = BODY_SECONDS
) -> bytes:
    """The body, decompressed.

    Args:
        content: the body as it comes.
        encoding: its compression.
        kind: what it is for, which limits its size.
        lease: grows with what is read.
        seconds: see `BODY_SECONDS`.

    Raises:
        YtError: as `body_pieces`, or there is too much of it.
    """
    parts: list[bytes] = []
    async for data in body_pieces(content, encoding, seconds):
        lease.grow(len(data))
        if lease.size > _MAX_BODY_BYTES[kind]:
            raise YtError(f"Request body is larger than {_MAX_BODY_BYTES[kind]} bytes")
        parts.append(data)
    return b"".join(parts)


async def body_pieces(content: StreamReader, encoding: str, seconds: float = BODY_SECONDS) -> AsyncIterator[bytes]:
    """The body, decompressed, as it comes, in pieces of some megabytes at most.

    Raises:
        UnsupportedEncoding: a compression that is not known.
        BodyTimeout: nothing more came for so many seconds.
        BrokenBody: it is not framed as HTTP wants it.
        BodyCut: the connection ended before the body did.
        YtError: the compressed data is broken.
    """
    decoder = body_decoder(encoding)
    while not content.at_eof():
        try:
            async with asyncio.timeout(seconds):
                chunk = await content.readany()
        except TimeoutError as error:
            raise BodyTimeout(f"No more of the request body came for {seconds} s", ErrorCode.TIMEOUT) from error
        except RequestPayloadError as error:
            raise BrokenBody(f"Malformed HTTP request body: {error}") from error
        except (ConnectionError, ClientError) as error:
            raise BodyCut(f"The request body ends early: {error}") from error
        for data in decoder.feed(chunk) if decoder else (chunk,):
            yield data
    if decoder:
        decoder.check_complete()


def header_format(headers: Mapping[str, str]) -> Format:
    """The format of parameters in headers; the header's value is YSON itself."""
    text = headers.get(http.HEADER_FORMAT)
    return _parse_header_format(text) if text else JSON_FORMAT


def write_header(headers: Mapping[str, str], value: Any) -> str:
    """A value for a header of the answer to a request with these headers, in the format that they name.

    Neither binary YSON nor lines can stand in a header: in place of those there is YSON as text, or JSON in one line.
    """
    wanted = header_format(headers)
    written = wanted.write_node(value)
    if _NOT_IN_HEADERS.search(written):
        written = (JSON_FORMAT if wanted.name == JSON_FORMAT.name else YSON_TEXT).write_node(value)
    return written.decode().strip()


@lru_cache(maxsize=64)
def _parse_header_format(text: str) -> Format:
    """Clients name the same few formats in every request."""
    return parse_format(yson.loads(_raw(text)))


async def no_pieces() -> AsyncIterator[bytes]:
    """A body of a command that there is not."""
    for piece in tuple[bytes, ...]():
        yield piece


def read_parameters(command: Command, query: str, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
    """All parameters of a request; those of the query string give way to headers, and those to a POST body's.

    Args:
        command: what is asked, whose input decides how a body is written that does not say it.
        query: of the URL, still encoded.
        headers: of the request.
        body: of a POST, decompressed; empty for other methods, whose body is the command's input.
    """
    parameters = _query_parameters(query)
    text = _header_value(headers, http.PARAMETERS)
    if text is not None:
        parameters = _merge(parameters, _map(_read_header(headers, http.PARAMETERS, text), "parameters"))
    if body.strip():
        content_format = _body_format(headers) or (JSON_FORMAT if command.input_type == "structured" else YSON_TEXT)
        parameters = _merge(parameters, _map(content_format.read_node(body), "parameters in the body"))
    return parameters


def _body_format(headers: Mapping[str, str]) -> Format | None:
    """How the parameters in the body of a POST are written, if the headers say so."""
    text = _header_value(headers, http.INPUT_FORMAT)
    if text is not None:
        return parse_format(_read_header(headers, http.INPUT_FORMAT, text))
    return format_of_mime_type(headers.get("Content-Type", ""))


def read_input(command: Command, parameters: Mapping[str, Any], headers: Mapping[str, str], body: bytes) -> Body:
    """What the command works on."""
    if command.input_type == "null":
        return Body()
    if command.input_type == "structured":
        chosen = _named_format(parameters, "input_format", headers, http.INPUT_FORMAT, "Content-Type")
        return Body(value=(chosen or JSON_FORMAT).read_node(body))
    return Body(data=body, row_format=input_row_format(parameters, headers))


def input_row_format(parameters: Mapping[str, Any], headers: Mapping[str, str]) -> Format:
    """How the rows of a body are written."""
    return _named_format(parameters, "input_format", headers, http.INPUT_FORMAT, "Content-Type") or YSON_TEXT


def output_format(command: Command, parameters: Mapping[str, Any], headers: Mapping[str, str]) -> Format:
    """How the answer is to be written."""
    chosen = _named_format(parameters, "output_format", headers, http.OUTPUT_FORMAT, "Accept")
    if chosen and chosen.name == "dsv" and command.name in ("select_rows", "lookup_rows"):
        raise YtError(f'Format "dsv" is not supported by "{command.name}": its rows need not have all columns')
    if chosen and chosen.tables_only and command.output_type == "tabular" and command.name != "read_table":
        raise YtError(f'Format "{chosen.name}" is not supported by "{command.name}"')
    return chosen or (YSON_TEXT if command.output_type == "tabular" else JSON_FORMAT)


def _named_format(
    parameters: Mapping[str, Any], parameter: str, headers: Mapping[str, str], header: str, mime_header: str
) -> Format | None:
    if not yson.is_null(parameters.get(parameter)):
        return parse_format(parameters[parameter])
    text = _header_value(headers, header)
    if text is not None:
        return parse_format(_read_header(headers, header, text))
    return format_of_mime_type(headers.get(mime_header, ""))


def _header_value(headers: Mapping[str, str], name: str) -> bytes | None:
    """A header, or its pieces `name0`, `name1`, ... (or `name-0`, ...), which together are base64."""
    if name in headers:
        return _raw(headers[name])
    for separator in ("", "-"):
        pieces = "".join(_pieces(headers, name + separator))
        if pieces:
            try:
                return base64.b64decode(pieces, validate=True)
            except ValueError as error:
                raise YtError(f"Error decoding header {name}: {error}") from error
    return None


def _read_header(headers: Mapping[str, str], name: str, text: bytes) -> Any:
    """The value in a header; errors name the header."""
    value_format = header_format(headers)
    try:
        return value_format.read_node(text)
    except YtError as error:
        raise YtError(f"Unable to parse header {name}", error.code, inner_errors=[error]) from error


def _raw(text: str) -> bytes:
    """The bytes of a header as they were sent; aiohttp has decoded them."""
    return text.encode("utf-8", "surrogateescape")


def _pieces(headers: Mapping[str, str], prefix: str) -> Iterator[str]:
    index = 0
    while f"{prefix}{index}" in headers:
        yield headers[f"{prefix}{index}"]
        index += 1


def _query_parameters(query: str) -> dict[str, Any]:
    """Read `a=1&b[c]=x&list[]=y`."""
    root: dict[str, Any] = {}
    for name, text in parse_qsl(query, keep_blank_values=True):
        first, _, rest = name.partition("[")
        keys = [first, *re.findall(r"([^\[\]]*)\]", rest)]
        value: Any = int(text) if re.fullmatch(r"-?\d{1,20}", text) else text
        for key in reversed(keys[1:]):
            value = {key: value} if key else [value]
        root = _merge(root, {first: value}, append=True)
    folded = _fold(root)
    assert isinstance(folded, dict)
    return folded


def _merge(old: Any, new: Any, *, append: bool = False) -> Any:
    """Later values win, maps are merged; within a query string the pieces of a list are put together."""
    if append and isinstance(old, list) and isinstance(new, list):
        return [*old, *new]
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    merged = {key: _merge(old[key], value, append=append) if key in old else value for key, value in new.items()}
    return {**old, **merged}


def _fold(value: Any) -> Any:
    """Turn `{"$value": v, "$attributes": a}` into a value with attributes."""
    if isinstance(value, list):
        return [_fold(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$value" in value:
        return yson.with_attributes(_fold(value["$value"]), _fold(value.get("$attributes", {})))
    return {key: _fold(item) for key, item in value.items()}


def _map(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise YtError(f"Request {what} must be a map, got {yson.shown(value)}")
    return dict(value)
