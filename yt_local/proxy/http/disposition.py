"""What browsers do with the answer of a heavy command: show it, or save it under a name; foreign-clients.md §1.9."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from yt_local.calls.command import Command
from yt_wire import yson

_NOT_IN_NAMES: Final = re.compile(rb"[^A-Za-z0-9.]")
_INLINE: Final = "inline"


def content_disposition(command: Command, parameters: Mapping[str, Any]) -> str | None:
    """The header `Content-Disposition`; None for light commands, which have none.

    The name of the file is the parameter `filename`, or comes from `path`; every byte that is neither a letter, a digit
    nor a point becomes a low line. The parameter `disposition` is `inline` or `attachment`; others are passed over.
    """
    if not command.is_heavy:
        return None
    kind = "attachment"
    wanted = parameters.get("disposition")
    if isinstance(wanted, str) and wanted.lower() in (kind, _INLINE):
        kind = wanted.lower()
    name = b""
    if yson.is_string(parameters.get("filename")):
        name = _bytes(parameters["filename"])
    elif yson.is_string(parameters.get("path")):
        name = b"yt_" + _bytes(parameters["path"])
    return f'{kind}; filename="{_NOT_IN_NAMES.sub(b"_", name).decode()}"' if name else kind


def binary_type(disposition: str | None) -> str:
    """The type of bytes of which nobody knows what they are."""
    if disposition is not None and disposition.startswith(_INLINE):
        return 'text/plain; charset="utf-8"'
    return "application/octet-stream"


def _bytes(text: yson.Yson) -> bytes:
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else yson.bytes_of(text)
