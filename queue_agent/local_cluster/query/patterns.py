r"""Regular expressions in RE2's syntax and patterns of `like`, as far as Python's `re` can do what RE2 does.

What RE2 refuses is refused. The rest of its syntax is rewritten where Python means something else by it; classes of
Unicode properties (`\pL`) and flags in the middle of an expression are the parts that Python has not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from queue_agent.wire.error import YtError

_PIECE = re.compile(
    r"""
    \\Q(?P<quoted>.*?)(?:\\E|$)
  | \\(?P<escape>x\{[0-9A-Fa-f]+\}|.)
  | (?P<refused>\(\?(?:=|!|<=|<!|>|P=|\#|\()|[*+?]\+|\{\d+(?:,\d*)?\}\+)
  | (?P<named>\(\?<(?![=!]))
  | (?P<posix>\[:\^?[a-z]+:\])
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}

_GROUP = re.compile(rb"\\([0-9]|\\)")
_SPECIAL = re.compile(rb"([^A-Za-z0-9_\x80-\xff])")


def full_match(pattern: bytes, text: bytes) -> bool:
    """Whether the whole text matches."""
    return _compiled(pattern).fullmatch(_decode(text)) is not None


def partial_match(pattern: bytes, text: bytes) -> bool:
    """Whether a part of the text matches."""
    return _compiled(pattern).search(_decode(text)) is not None


def replace_first(pattern: bytes, text: bytes, rewrite: bytes) -> bytes:
    r"""The text with its first match replaced; `\1` in the rewrite stands for the first group."""
    return _replaced(pattern, text, rewrite, 1)


def replace_all(pattern: bytes, text: bytes, rewrite: bytes) -> bytes:
    """The text with all matches replaced."""
    return _replaced(pattern, text, rewrite, 0)


def extract(pattern: bytes, text: bytes, rewrite: bytes) -> bytes:
    """The rewrite of the first match; empty if there is none."""
    found = _compiled(pattern).search(_decode(text))
    return b"" if found is None else _rewritten(found, rewrite)


def escape(text: bytes) -> bytes:
    """A pattern that matches this text alone."""
    return _SPECIAL.sub(lambda match: b"\\x00" if match[1] == b"\0" else b"\\" + match[1], text)


def like(text: bytes, pattern: bytes, escape_character: bytes | None, *, ignore_case: bool) -> bool:
    """Whether the whole text matches a pattern of `%` and `_`; a backslash escapes them if nothing else is given."""
    return _compiled_like(pattern, escape_character, ignore_case).fullmatch(_decode(text)) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: bytes) -> re.Pattern[str]:
    try:
        return re.compile(_translated(_decode(pattern)), re.ASCII)
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        raise _refusal(pattern, str(error)) from error


@lru_cache(maxsize=256)
def _compiled_like(pattern: bytes, escape_character: bytes | None, ignore_case: bool) -> re.Pattern[str]:
    escaping = "\\" if escape_character is None else _decode(escape_character)
    if len(escaping) > 1:
        raise YtError("Escape character must be exactly one character long")
    parts = []
    characters = iter(_decode(pattern))
    for character in characters:
        if character == escaping:
            following = next(characters, None)
            if following is None:
                raise YtError("Incomplete escape sequence at the end of LIKE pattern")
            parts.append(re.escape(following))
        else:
            parts.append({"%": ".*", "_": "."}.get(character) or re.escape(character))
    return re.compile("".join(parts), re.DOTALL | (re.IGNORECASE if ignore_case else 0))


def _translated(pattern: str) -> str:
    """The same in Python's syntax."""
    parts: list[str] = []
    class_start: int | None = None
    is_multiline = re.match(r"\(\?[imsU]*m", pattern) is not None
    for piece in _PIECE.finditer(pattern):
        text = piece[0]
        if piece["quoted"] is not None:
            parts.append(re.escape(piece["quoted"]))
        elif piece["escape"] is not None:
            parts.append(_translated_escape(piece["escape"], text, pattern))
        elif class_start is not None:
            # A bracket that closes a class can not be its first member.
            is_end = text == "]" and parts[class_start:] not in (["["], ["[", "^"])
            parts.append(text if is_end else _class_member(piece, parts, pattern))
            class_start = None if is_end else class_start
        elif piece["refused"]:
            raise _refusal(_encode(pattern), f"bad repetition or group: {text}")
        elif text == "[":
            class_start = len(parts)
            parts.append(text)
        else:
            parts.append("(?P<" if piece["named"] else r"\Z" if text == "$" and not is_multiline else text)
    return "".join(parts)


def _class_member(piece: re.Match[str], parts: Sequence[str], pattern: str) -> str:
    if piece["posix"]:
        name = piece["posix"][2:-2]
        if name not in _POSIX:
            raise _refusal(_encode(pattern), f"invalid character class range: {piece['posix']}")
        return _POSIX[name]
    if piece[0] == "-" and parts[-1] == "-":
        return r"\-"
    # Python keeps these for set operations to come.
    return re.sub(r"[\[&~|]", r"\\\g<0>", piece[0])


def _translated_escape(escaped: str, text: str, pattern: str) -> str:
    if escaped == "z":
        return r"\Z"
    if escaped.startswith("x{"):
        return re.escape(chr(int(escaped[2:-1], 16)))
    if escaped in "123456789CpPXR":
        raise _refusal(_encode(pattern), f"invalid escape sequence: {text}")
    return text


def _replaced(pattern: bytes, text: bytes, rewrite: bytes, count: int) -> bytes:
    def rewritten(match: re.Match[str]) -> str:
        return _decode(_rewritten(match, rewrite))

    return _encode(_compiled(pattern).sub(rewritten, _decode(text), count=count))


def _rewritten(match: re.Match[str], rewrite: bytes) -> bytes:
    def group(reference: re.Match[bytes]) -> bytes:
        if reference[1] == b"\\":
            return b"\\"
        number = int(reference[1])
        if number > match.re.groups:
            raise YtError(f"Invalid rewrite pattern: it refers to group {number}, the expression has {match.re.groups}")
        return _encode(match[number] or "")

    return _GROUP.sub(group, rewrite)


def _refusal(pattern: bytes, reason: str) -> YtError:
    words = pattern.decode("utf-8", "replace")
    return YtError(f'Error parsing regular expression "{words}"', inner_errors=[YtError(reason)])


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
