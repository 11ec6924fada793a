"""Text of a query to tokens: YTsaurus's words and literals, as sqlglot's parser takes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sqlglot import Token, TokenType

from queue_agent.wire import yson
from queue_agent.wire.error import YtError
from queue_agent.wire.yson import Yson

_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
  | (?P<double>(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)
  | (?P<integer>\d+u?)(?![A-Za-z0-9_])
  | (?P<boolean>%(?:true|false)\b)
  | (?P<placeholder>\{\s*(?P<placeholder_name>[A-Za-z_][A-Za-z0-9_]*)\s*\})
  | (?P<keyword>(?:group|order)\s+by\b)
  | (?P<word>[A-Za-z_$@][A-Za-z0-9_$@]*)
  | (?P<operator><=|>=|<>|!=|<<|>>|[=<>+\-*/%|&~(),.#])
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE | re.ASCII,
)

_KEYWORDS = {
    "from": TokenType.FROM,
    "where": TokenType.WHERE,
    "and": TokenType.AND,
    "or": TokenType.OR,
    "not": TokenType.NOT,
    "in": TokenType.IN,
    "between": TokenType.BETWEEN,
    "is": TokenType.IS,
    "as": TokenType.ALIAS,
    "null": TokenType.NULL,
    "true": TokenType.TRUE,
    "false": TokenType.FALSE,
    "order by": TokenType.ORDER_BY,
    "asc": TokenType.ASC,
    "desc": TokenType.DESC,
    "limit": TokenType.LIMIT,
    "offset": TokenType.OFFSET,
    "group by": TokenType.GROUP_BY,
    "having": TokenType.HAVING,
    "join": TokenType.JOIN,
    "left": TokenType.LEFT,
    "on": TokenType.ON,
    "using": TokenType.USING,
    "with": TokenType.WITH,
    "like": TokenType.LIKE,
}

_OPERATORS = {
    "<=": TokenType.LTE,
    ">=": TokenType.GTE,
    "<>": TokenType.NEQ,
    "!=": TokenType.NEQ,
    "<": TokenType.LT,
    ">": TokenType.GT,
    "=": TokenType.EQ,
    "+": TokenType.PLUS,
    "-": TokenType.DASH,
    "*": TokenType.STAR,
    "/": TokenType.SLASH,
    "%": TokenType.MOD,
    "|": TokenType.PIPE,
    "&": TokenType.AMP,
    "~": TokenType.TILDE,
    "(": TokenType.L_PAREN,
    ")": TokenType.R_PAREN,
    ",": TokenType.COMMA,
    ".": TokenType.DOT,
    "#": TokenType.NULL,
}

_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}


def tokenize(text: str, placeholder_values: Mapping[str, Yson]) -> list[Token]:
    """Cut a query into tokens; names in `[...]` come out as identifiers with their escapes untouched.

    Texts of strings decode to the bytes they stand for as UTF-8 with `surrogateescape`; unsigned literals keep their
    `u`; `{name}` becomes the literal, or the tuple of literals, which the value of that name stands for.

    Raises:
        YtError: a character that begins no token, something unfinished, or a placeholder without a value.
    """
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        if text[position] == "[":
            end = _identifier_end(text, position)
            tokens.append(Token(TokenType.IDENTIFIER, text[position + 1 : end - 1], start=position, end=end - 1))
            position = end
            continue
        match = _TOKEN.match(text, position)
        if match is None:
            raise YtError(f"Unexpected character {text[position]!r} at position {position}")
        position = match.end()
        if match.lastgroup == "placeholder":
            name = match["placeholder_name"]
            if name not in placeholder_values:
                raise YtError(f'Placeholder was not found: "{name}"')
            tokens += _value_tokens(placeholder_values[name], match)
        elif match.lastgroup == "operator" and match[0] in ("<<", ">>"):
            # sqlglot knows shifts as pairs of brackets.
            half = TokenType.LT if match[0] == "<<" else TokenType.GT
            tokens += [
                Token(half, match[0][0], start=match.start(), end=match.start()),
                Token(half, match[0][0], start=match.start() + 1, end=match.start() + 1),
            ]
        elif match.lastgroup != "space":
            tokens.append(_token(match))
    return tokens


def _identifier_end(text: str, start: int) -> int:
    """Position behind the bracket that closes the one at `start`; brackets within are counted."""
    depth = 0
    position = start
    while position < len(text):
        character = text[position]
        if character == "\\":
            position += 1
        elif character == "[":
            depth += 1
        elif character == "]":
            depth -= 1
            if depth == 0:
                return position + 1
        position += 1
    raise YtError(f"Unmatched bracket at position {start}")


def _token(match: re.Match[str]) -> Token:
    text = match[0]
    match match.lastgroup:
        case "string":
            return _located(TokenType.STRING, _unescape(text[1:-1]), match)
        case "double" | "integer":
            return _located(TokenType.NUMBER, text.lower(), match)
        case "boolean":
            return _located(TokenType.TRUE if text.lower() == "%true" else TokenType.FALSE, text, match)
        case "operator":
            return _located(_OPERATORS[text], text, match)
        case _:
            keyword = " ".join(text.lower().split())
            return _located(_KEYWORDS.get(keyword, TokenType.VAR), text, match)


def _located(token_type: TokenType, text: str, match: re.Match[str]) -> Token:
    return Token(token_type, text, start=match.start(), end=match.end() - 1)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text

    def replace(match: re.Match[str]) -> bytes:
        if match[1]:
            return bytes([int(match[1], 16)])
        if match[2]:
            return bytes([int(match[2], 8) & 0xFF])
        return _ESCAPED.get(match[3], match[3]).encode("utf-8", "surrogateescape")

    content = bytearray()
    position = 0
    for match in _ESCAPE.finditer(text):
        content += text[position : match.start()].encode("utf-8", "surrogateescape") + replace(match)
        position = match.end()
    content += text[position:].encode("utf-8", "surrogateescape")
    return content.decode("utf-8", "surrogateescape")


def _value_tokens(value: Yson, match: re.Match[str]) -> Iterator[Token]:
    if yson.is_null(value):
        yield _located(TokenType.NULL, "#", match)
        return
    value = yson.plain(value)
    if isinstance(value, bool):
        yield _located(TokenType.TRUE if value else TokenType.FALSE, "%true" if value else "%false", match)
    elif isinstance(value, (int, float)):
        if value < 0:
            yield _located(TokenType.DASH, "-", match)
        yield _located(TokenType.NUMBER, f"{abs(value)}u" if isinstance(value, yson.Uint64) else str(abs(value)), match)
    elif yson.is_string(value):
        yield _located(TokenType.STRING, yson.bytes_of(value).decode("utf-8", "surrogateescape"), match)
    elif isinstance(value, list):
        yield _located(TokenType.L_PAREN, "(", match)
        for position, item in enumerate(value):
            if position:
                yield _located(TokenType.COMMA, ",", match)
            yield from _value_tokens(item, match)
        yield _located(TokenType.R_PAREN, ")", match)
    else:
        raise YtError(f'Placeholder "{match["placeholder_name"]}" stands for neither a literal nor a list of literals')
