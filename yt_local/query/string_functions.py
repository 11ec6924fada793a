"""Functions of strings: case, patterns, regular expressions."""

from __future__ import annotations

from collections.abc import Mapping

from yt_local.query import patterns
from yt_local.query.functions import Function, plain
from yt_local.query.inference import STRING

_ERROR_HANDLER = "surrogateescape"


def lower(text: bytes) -> bytes:
    """In lower case; characters whose lower case is not a single one stay."""
    if text.isascii():
        return text.lower()
    return _mapped(text, upper=False)


def upper(text: bytes) -> bytes:
    """In upper case, with the same limit."""
    return text.upper() if text.isascii() else _mapped(text, upper=True)


def _mapped(text: bytes, *, upper: bool) -> bytes:
    characters = []
    for character in text.decode("utf-8", _ERROR_HANDLER):
        changed = character.upper() if upper else character.lower()
        characters.append(changed if len(changed) == 1 else character)
    return "".join(characters).encode("utf-8", _ERROR_HANDLER)


def _is_valid_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


STRINGS: Mapping[str, Function] = {
    "lower": plain((STRING,), "string", lower),
    "upper": plain((STRING,), "string", upper),
    "is_valid_utf8": plain((STRING,), "boolean", _is_valid_utf8),
    "to_valid_utf8": plain((STRING,), "string", lambda text: text.decode("utf-8", "replace").encode()),
    "regex_full_match": plain((STRING, STRING), "boolean", patterns.full_match),
    "regex_partial_match": plain((STRING, STRING), "boolean", patterns.partial_match),
    "regex_replace_first": plain((STRING, STRING, STRING), "string", patterns.replace_first),
    "regex_replace_all": plain((STRING, STRING, STRING), "string", patterns.replace_all),
    "regex_extract": plain((STRING, STRING, STRING), "string", patterns.extract),
    "regex_escape": plain((STRING,), "string", patterns.escape),
}
"""By lower-case name."""
