"""Names and encodings of the HTTP API v4 that both sides agree on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from queue_agent.wire import yson
from queue_agent.wire.error import YtError

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


def encode_parameters(parameters: Mapping[str, yson.Yson]) -> str:
    """Parameters as a header value in text YSON; bytes are mapped one to one to Latin-1."""
    return yson.dumps(dict(parameters), "text").decode("latin-1")


def error_headers(error: YtError) -> dict[str, str]:
    """Headers that carry an error next to, or in place of, a body."""
    return {
        ERROR: error.to_json(),
        RESPONSE_CODE: str(error.code),
        RESPONSE_MESSAGE: json.dumps(error.message)[1:-1],
    }


def find_error(headers: Mapping[str, str]) -> YtError | None:
    """The error that headers or trailers carry, if any; a code of 0 means success."""
    if headers.get(RESPONSE_CODE, "0") == "0" or ERROR not in headers:
        return None
    return YtError.from_map(json.loads(headers[ERROR]))
