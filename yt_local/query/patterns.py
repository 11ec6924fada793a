r"""Regular expressions and patterns of `like`, by RE2 as on a real cluster (`cg_routines.cpp`).

RE2 needs time in proportion to text and program alone; what is limited beyond that is the size of the program, because
building one of 80,000 instructions takes six seconds, and its product with the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, TypeAlias

import re2

from yt_local.base.turns import aside, give_way
from yt_local.query.functions import check_length
from yt_wire.error import YtError

_Regexp: TypeAlias = Any  # the binding has no types
_Match: TypeAlias = Any

_MAX_PROGRAM_BYTES: Final = 2**18
"""Of memory for one expression. RE2 makes some 16,000 instructions of it, in 0.15 s at worst."""

_MAX_STEPS: Final = 2**30
"""Instructions times bytes of text in one match: six seconds at worst, in a thread."""

_STEPS_ASIDE: Final = 2**20
"""From so many on a match is done in a thread."""

_REFERENCE: Final = re.compile(rb"\\(.?)", re.DOTALL)
_LIKE_PIECE: Final = re.compile(rb"[\\^$.\[\]|()?*+{}]")


def full_match(pattern: bytes, text: bytes) -> bool:
    """Whether the whole text matches."""
    expression = _compiled(pattern, captures=False)
    return _done(expression, text, expression.fullmatch, text) is not None


def partial_match(pattern: bytes, text: bytes) -> bool:
    """Whether a part of the text matches."""
    expression = _compiled(pattern, captures=False)
    return _done(expression, text, expression.search, text) is not None


def replace_first(pattern: bytes, text: bytes, rewrite: bytes) -> bytes:
    r"""The text with its first match replaced; `\1` in the rewrite stands for the first group.

    A rewrite that makes no sense replaces nothing, as on a real cluster.
    """
    expression = _compiled(pattern, captures=True)
    found = _first(expression, text, rewrite)
    rewritten, is_whole = (b"", False) if found is None else _rewritten(found, rewrite)
    if found is None or not is_whole:
        return text
    start, end = found.span()
    return text[:start] + rewritten + text[end:]


def replace_all(pattern: bytes, text: bytes, rewrite: bytes) -> bytes:
    """The text with all matches replaced; one that refers to a group there is not replaces nothing."""
    expression = _compiled(pattern, captures=True)
    if _highest_group(rewrite) > expression.groups:
        return text
    parts: list[bytes] = []
    place = length = 0
    for found in _matches(expression, text):
        start, end = found.span()
        parts += (text[place:start], _rewritten(found, rewrite)[0])
        length += len(parts[-2]) + len(parts[-1])
        check_length(length)
        place = end
    parts.append(text[place:])
    return b"".join(parts)


def extract(pattern: bytes, text: bytes, rewrite: bytes) -> bytes:
    """The rewrite of the first match, as far as it makes sense; empty if there is none."""
    found = _first(_compiled(pattern, captures=True), text, rewrite)
    return b"" if found is None else _rewritten(found, rewrite)[0]


def escape(text: bytes) -> bytes:
    """A pattern that matches this text alone."""
    escaped: bytes = re2.escape(text)
    return escaped


def like(text: bytes, pattern: bytes, escape_character: bytes | None, *, ignore_case: bool) -> bool:
    """Whether the whole text matches a pattern of `%` and `_`; a backslash escapes them if nothing else is given."""
    return full_match(_like_expression(pattern, escape_character, ignore_case), text)


@lru_cache(maxsize=256)
def _compiled(pattern: bytes, *, captures: bool) -> _Regexp:
    """The program; without groups RE2 mostly needs a single step for each byte."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_PROGRAM_BYTES
    options.never_capture = not captures
    give_way()
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        words = pattern.decode("utf-8", "replace")
        reason = YtError(error.args[0].decode("utf-8", "replace"))
        raise YtError(f'Error parsing regular expression "{words}"', inner_errors=[reason]) from error


@lru_cache(maxsize=256)
def _like_expression(pattern: bytes, escape_character: bytes | None, ignore_case: bool) -> bytes:
    escaping = b"\\" if escape_character is None else escape_character or b"\0"
    if len(escaping) > 1:
        raise YtError("Escape string must be empty or one character")
    parts = [b"(?is)^" if ignore_case else b"(?s)^"]
    escaped = False
    for byte in pattern:
        piece = bytes((byte,))
        if not escaped and piece == escaping:
            escaped = True
            continue
        wildcard = None if escaped else {b"%": b".*", b"_": b"."}.get(piece)
        parts.append(wildcard or _LIKE_PIECE.sub(rb"\\\g<0>", piece))
        escaped = False
    if escaped:
        raise YtError("Incomplete escape sequence at the end of LIKE pattern")
    return b"".join(parts) + b"$"


def _done(expression: _Regexp, text: bytes, match: Any, *arguments: Any) -> _Match | None:
    """The result of a match; one that may take long does not hold up others."""
    steps = expression.programsize * len(text)
    if steps > _MAX_STEPS:
        raise YtError(
            f"A regular expression of {expression.programsize} instructions is too much for {len(text)} bytes of text",
            attributes={"max_product": _MAX_STEPS},
        )
    if steps < _STEPS_ASIDE:
        return match(*arguments)
    return aside(lambda: match(*arguments))


def _first(expression: _Regexp, text: bytes, rewrite: bytes) -> _Match | None:
    if _highest_group(rewrite) > expression.groups:
        return None
    return _done(expression, text, expression.search, text)


def _matches(expression: _Regexp, text: bytes) -> Iterator[_Match]:
    """As `RE2::GlobalReplace` finds them: none that is empty stands at the end of the one before."""
    place, last_end = 0, -1
    while place <= len(text):
        give_way()
        found = _done(expression, text, expression.search, text, place)
        if found is None:
            return
        start, end = found.span()
        if start == end == last_end:
            place += _character_length(text, place)
            continue
        yield found
        place = last_end = end


def _character_length(text: bytes, place: int) -> int:
    """Bytes of the character that begins there; 1 if none does."""
    for length in range(1, 5):
        try:
            text[place : place + length].decode()
        except UnicodeDecodeError:
            continue
        return length
    return 1


def _highest_group(rewrite: bytes) -> int:
    return max((int(found[1]) for found in _REFERENCE.finditer(rewrite) if found[1].isdigit()), default=0)


def _rewritten(match: _Match, rewrite: bytes) -> tuple[bytes, bool]:
    """What the rewrite comes to, and whether it does as a whole: it ends where it makes no sense."""
    parts: list[bytes] = []
    place = length = 0
    for found in _REFERENCE.finditer(rewrite):
        parts.append(rewrite[place : found.start()])
        place = found.end()
        if found[1].isdigit():
            parts.append(match[int(found[1])] or b"")
            length += len(parts[-1])
            check_length(length)
        elif found[1] == b"\\":
            parts.append(b"\\")
        else:
            return b"".join(parts), False
    parts.append(rewrite[place:])
    return b"".join(parts), True
