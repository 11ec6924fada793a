"""Texts of `select_rows` queries: names, literals, and lists cut to what fits into a header."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

MAX_LIST_LENGTH = 4096
"""Characters of a list in a query: proxies, and what stands in front of them, take headers of 8 KB for certain."""

_PATH_BRACKETS = re.compile(r"\\([\[\]])|\\.|(\])", re.DOTALL)
_STRING_SPECIALS = re.compile(r'[\\"\x00-\x1f\x7f]')


def quote_path(path: str) -> str:
    r"""A path in brackets; brackets of its own are written `\x5b` and `\x5d`, for the query's are matched blindly."""

    def replace(match: re.Match[str]) -> str:
        bracket = match[1] or match[2]
        return f"\\x{ord(bracket):02x}" if bracket else match[0]

    return f"[{_PATH_BRACKETS.sub(replace, path)}]"


def quote_string(text: str) -> str:
    """A string literal in double quotes."""

    def replace(match: re.Match[str]) -> str:
        character = match[0]
        return "\\" + character if character in '\\"' else f"\\x{ord(character):02x}"

    return f'"{_STRING_SPECIALS.sub(replace, text)}"'


def split_list(items: Iterable[str], max_length: int = MAX_LIST_LENGTH) -> Iterator[list[str]]:
    """Cut a list into pieces that are not longer than `max_length` when joined by `, `, or hold one item."""
    piece: list[str] = []
    length = 0
    for item in items:
        if piece and length + len(item) + 2 > max_length:
            yield piece
            piece, length = [], 0
        piece.append(item)
        length += len(item) + 2
    if piece:
        yield piece
