"""Paths of files: as clients send them, and in Cypress."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from typing import Final
from urllib.parse import unquote_to_bytes

MAX_NAME_BYTES: Final = 4096
"""What Cypress takes."""

MAX_PATH_CHARACTERS: Final = 8000
MAX_PATH_DEPTH: Final = 1000
"""Both as HDFS has them."""

_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SHOWN_CHARACTERS: Final = 50


class BadPath(Exception):
    """A path that no file can have."""


def decode_path(encoded: str) -> str:
    """The path in an address: percent-encoded UTF-8; returns and raises as `clean_path` does."""
    return clean_path(decode_text(encoded))


def decode_text(encoded: str) -> str:
    """Undo percent-encoding; BadPath if it is broken, or what comes out is not UTF-8."""
    if _BAD_ESCAPE.search(encoded):
        raise BadPath(f"A % in {_shown(encoded)} has no two hexadecimal digits behind it")
    try:
        return unquote_to_bytes(encoded).decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadPath(f"{_shown(encoded)} is not UTF-8") from error


def clean_path(path: str) -> str:
    """An absolute path without `.`, `..`, and slashes that mean nothing; it never leads above the root.

    Raises:
        BadPath: it is not absolute or too long, or a name in it is, or has control characters.
    """
    if not path.startswith("/"):
        raise BadPath(f"{_shown(path)} is not an absolute path")
    if len(path) > MAX_PATH_CHARACTERS or path.count("/") > MAX_PATH_DEPTH:
        raise BadPath(
            f"{_shown(path)} is too long: a path has up to {MAX_PATH_CHARACTERS} characters and {MAX_PATH_DEPTH} levels"
        )
    for name in path.split("/"):
        if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
            raise BadPath(f"{_shown(name)} has control characters, which a name must not have")
        if len(name.encode()) > MAX_NAME_BYTES:
            raise BadPath(f"{_shown(name)} is too long: a name has up to {MAX_NAME_BYTES} bytes")
    return posixpath.normpath("/" + path.lstrip("/"))


def cypress_path(root: str, path: str) -> str:
    """Where a file is in Cypress.

    Args:
        root: of the file system, without a slash at its end.
        path: absolute; `.` and `..` mean what they do elsewhere and never lead above the root.
    """
    names = [name for name in posixpath.normpath("/" + path.lstrip("/")).split("/") if name]
    if not names:
        return root or "/"
    return (root or "/") + "".join(f"/{_escape(name)}" for name in names)


def _escape(name: str) -> str:
    """A name as it stands in a YPath, in which a few characters have meanings of their own."""
    return "".join(f"\\{character}" if character in "\\/@&*[{" else character for character in name)


def _shown(text: str) -> str:
    """The beginning of what a client sent, fit for a message."""
    return ascii(text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}...")
