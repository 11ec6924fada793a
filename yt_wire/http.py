"""Names and encodings of the HTTP API v4 that both sides agree on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from yt_wire import json_text, yson
from yt_wire.error import YtError

HEADER_FORMAT: Final = "X-YT-Header-Format"
PARAMETERS: Final = "X-YT-Parameters"
INPUT_FORMAT: Final = "X-YT-Input-Format"
OUTPUT_FORMAT: Final = "X-YT-Output-Format"
RESPONSE_PARAMETERS: Final = "X-YT-Response-Parameters"
ERROR: Final = "X-YT-Error"
RESPONSE_CODE: Final = "X-YT-Response-Code"
RESPONSE_MESSAGE: Final = "X-YT-Response-Message"
CORRELATION_ID: Final = "X-YT-Correlation-Id"
REQUEST_ID: Final = "X-YT-Request-Id"
PROXY: Final = "X-YT-Proxy"

YSON_TEXT_HEADER_FORMAT: Final = "<format=text>yson"

COMMAND_PREFIX: Final = "/api/v4/"

_MAX_ERROR_LENGTH: Final = 7000
"""Of an error in a header; aiohttp as a client takes no header above 8190 bytes, others take 64 KiB."""

_SHORT_MESSAGE: Final = 250
"""Characters; each may take six in JSON."""


def encode_parameters(parameters: Mapping[str, yson.Yson]) -> str:
    """Parameters as a header value in text YSON; bytes are mapped one to one to Latin-1."""
    return yson.dumps(dict(parameters), "text").decode("latin-1")


def error_headers(error: YtError) -> dict[str, str]:
    """Headers that carry an error next to, or in place of, a body.

    A header that is too long for clients would hide the error from them: then messages are cut and attributes left out.
    """
    text = error.to_json()
    if len(text) > _MAX_ERROR_LENGTH:
        error = _shortened(error, depth=3)
        text = error.to_json()
    return {
        ERROR: text,
        RESPONSE_CODE: str(error.code),
        RESPONSE_MESSAGE: json.dumps(error.message)[1:-1],
    }


def _shortened(error: YtError, depth: int) -> YtError:
    message = error.message if len(error.message) <= _SHORT_MESSAGE else error.message[:_SHORT_MESSAGE] + "..."
    inner_errors = [_shortened(inner, depth - 1) for inner in error.inner_errors[:1]] if depth else []
    return YtError(message, error.code, inner_errors=inner_errors)


def find_error(headers: Mapping[str, str]) -> YtError | None:
    """The error that headers or trailers carry, if any; a code of 0 means success."""
    if headers.get(RESPONSE_CODE, "0") == "0" or ERROR not in headers:
        return None
    return YtError.from_map(json_text.loads(headers[ERROR]))
