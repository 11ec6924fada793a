"""Text of a query to tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from yt_local.base.turns import give_way
from yt_local.schema.keys import Value
from yt_wire import yson
from yt_wire.error import YtError
from yt_wire.yson import Yson

TokenKind: TypeAlias = Literal[
    "identifier", "keyword", "operator", "int64", "uint64", "double", "boolean", "string", "null", "end"
]


class Token(NamedTuple):
    """A word of the language; `text` is in lower case for keywords, and without quotes and escapes for identifiers."""

    kind: TokenKind
    text: str
    value: Value
    """Of literals."""
    start: int
    end: int

    def __str__(self) -> str:
        """As errors name it."""
        match self.kind:
            case "identifier":
                return "identifier"
            case "end":
                return "end of stream"
            case "keyword" | "null" if self.text != "#":
                return f"keyword `{self.text.upper()}`"
            case "int64" | "uint64" | "double" | "string":
                return f"{self.kind} literal"
            case "boolean":
                return f"keyword `{self.text.lstrip('%').upper()}`"
            case _:
                return f"`{self.text}`"


_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
  | (?P<quoted>`(?:[^`\\]|\\.)*`)
  | (?P<double>(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)
  | (?P<integer>\d+u?)(?![A-Za-z0-9_])
  | (?P<boolean>%(?:true|false)\b)
  | (?P<placeholder>\{\s*(?P<placeholder_name>[A-Za-z_][A-Za-z0-9_]*)\s*\})
  | (?P<phrase>(?:(?:group|order)\s+by|with\s+(?:totals|index))\b)
  | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<operator><=|>=|<>|!=|<<|>>|\|\||[=<>+\-*/%|&~(),.#\]])
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE | re.ASCII,
)

KEYWORDS: Final = frozenset(
    {"select", "from", "where", "having", "offset", "limit", "join", "array", "using", "asc", "desc", "left"}
    | {"as", "on", "and", "or", "is", "not", "between", "in", "transform", "like", "ilike", "rlike", "regexp"}
    | {"escape", "case", "when", "then", "else", "end"}
)
"""Words that are no names; besides them there are `null`, `true`, `false` and phrases such as `group by`."""

_ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}

MAX_TOKENS: Final = 1_000_000

_MAX_DIGITS = len(str(2**64))


def tokenize(text: str, placeholder_values: Mapping[str, Yson], syntax_version: int) -> list[Token]:
    """Cut a query into tokens, the last of which is the end.

    Names stand in square brackets or, in version 2 of the syntax too, in backticks. `{name}` becomes the literal, or
    the parenthesised literals, which the value of that name stands for.

    Raises:
        YtError: a character that begins no token, something unfinished, or a placeholder without a value.
    """
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        if len(tokens) > MAX_TOKENS:
            raise YtError(f"Query is too complex: it has more than {MAX_TOKENS} words")
        give_way()
        if text[position] == "[" and syntax_version < 2:
            end = _bracket_end(text, position)
            tokens.append(Token("identifier", text[position + 1 : end - 1], None, position, end))
            position = end
            continue
        match = _TOKEN.match(text, position)
        if match is None:
            raise parse_error(f"unexpected character {text[position]!r}", text, position, position + 1)
        if match["operator"] == "]":
            raise YtError(f'Unexpected symbol "]" at position {position}')
        position = match.end()
        if match.lastgroup == "placeholder":
            name = match["placeholder_name"]
            if name not in placeholder_values:
                raise YtError("Placeholder was not found", attributes={"name": name})
            tokens += _value_tokens(placeholder_values[name], match)
        elif match.lastgroup != "space":
            tokens.append(_token(match))
    tokens.append(Token("end", "", None, len(text), len(text)))
    return tokens


def parse_error(words: str, text: str, start: int, end: int) -> YtError:
    """The error of all that is wrong with a query's syntax."""
    before, there, behind = text[max(start - 16, 0) : start], text[start:end], text[end : end + 16]
    return YtError(
        f"Error while parsing query: {words}",
        attributes={"position": f"{start}-{end}", "query": f"{before} >>>>> {there} <<<<< {behind}"},
    )


def _bracket_end(text: str, start: int) -> int:
    """Position behind the bracket that closes the one at `start`; brackets within are counted."""
    depth = 0
    for match in re.compile(r"[\[\]]").finditer(text, start):
        depth += 1 if match[0] == "[" else -1
        if depth == 0:
            return match.end()
    raise parse_error("unmatched bracket", text, start, len(text))


def _token(match: re.Match[str]) -> Token:
    text, start, end = match[0], match.start(), match.end()
    match match.lastgroup:
        case "string":
            return Token("string", text, _unescape(text[1:-1]), start, end)
        case "quoted":
            return Token("identifier", _unescape(text[1:-1]).decode("utf-8", "surrogateescape"), None, start, end)
        case "double":
            return Token("double", text, float(text), start, end)
        case "integer":
            return _integer(match)
        case "boolean":
            return Token("boolean", text, text.lower() == "%true", start, end)
        case "phrase":
            return Token("keyword", " ".join(text.lower().split()), None, start, end)
        case "operator":
            return Token("null" if text == "#" else "operator", "!=" if text == "<>" else text, None, start, end)
    lowered = text.lower()
    if lowered in ("true", "false"):
        return Token("boolean", lowered, lowered == "true", start, end)
    if lowered == "null":
        return Token("null", lowered, None, start, end)
    return (
        Token("keyword", lowered, None, start, end)
        if lowered in KEYWORDS
        else Token("identifier", text, None, start, end)
    )


def _integer(match: re.Match[str]) -> Token:
    digits = match[0].rstrip("uU").lstrip("0") or "0"
    value = int(digits) if len(digits) <= _MAX_DIGITS else 1 << 64
    if value >= 1 << 64:
        raise parse_error("number out of range", match.string, match.start(), match.end())
    if match[0][-1] in "uU":
        return Token("uint64", match[0], value, match.start(), match.end())
    # A number that needs 64 bits is taken as them: it is negative unless it meets something unsigned.
    return Token("int64", match[0], value - (1 << 64) if value >= 1 << 63 else value, match.start(), match.end())


def _unescape(text: str) -> bytes:
    data = text.encode("utf-8", "surrogateescape")

    def replace(match: re.Match[bytes]) -> bytes:
        if match[1]:
            return bytes([int(match[1], 16)])
        if match[2]:
            return bytes([int(match[2], 8) & 0xFF])
        return _ESCAPED.get(match[3], match[3])

    return _ESCAPE.sub(replace, data) if b"\\" in data else data


def _value_tokens(value: Yson, match: re.Match[str]) -> Iterator[Token]:
    def token(kind: TokenKind, text: str, literal: Value = None) -> Token:
        return Token(kind, text, literal, match.start(), match.end())

    if yson.attributes_of(value):
        raise YtError("Attributes inside YSON placeholder are not allowed")
    if yson.is_null(value):
        yield token("null", "#")
    elif isinstance(plain := yson.plain(value), bool):
        yield token("boolean", "%true" if plain else "%false", plain)
    elif isinstance(plain, yson.Uint64):
        yield token("uint64", str(plain), int(plain))
    elif isinstance(plain, int):
        yield token("int64", str(plain), int(plain))
    elif isinstance(plain, float):
        yield token("double", str(plain), float(plain))
    elif yson.is_string(plain):
        yield token("string", "", yson.bytes_of(plain))
    elif isinstance(plain, list):
        yield token("operator", "(")
        for position, item in enumerate(plain):
            if position:
                yield token("operator", ",")
            yield from _value_tokens(item, match)
        yield token("operator", ")")
    else:
        raise YtError("Incorrect placeholder map: values should be plain types or lists")
