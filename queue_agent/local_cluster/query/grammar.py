"""Tokens to the syntax tree of a query, by sqlglot's parser with all other dialects' functions taken out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError
from sqlglot.parser import Parser as SqlParser

from queue_agent.local_cluster.query.lexer import tokenize
from queue_agent.wire.error import YtError
from queue_agent.wire.yson import Yson

_CLAUSES = frozenset({"expressions", "from_", "where", "order", "limit", "offset"})

_UNSUPPORTED = {
    TokenType.JOIN: "JOIN",
    TokenType.GROUP_BY: "GROUP BY",
    TokenType.HAVING: "HAVING",
    TokenType.WITH: "WITH",
    TokenType.LIKE: "LIKE",
}

_NOT_AFTER_COMMA = frozenset({TokenType.FROM, TokenType.R_PAREN, TokenType.LIMIT, TokenType.OFFSET, TokenType.WHERE})


class YtQl(Dialect):
    """The query language of dynamic tables."""

    class Parser(SqlParser):
        # Every function comes out as a name with arguments: what it means is decided against the schema.
        FUNCTIONS = {}  # noqa: RUF012 - the base class declares these as class variables
        FUNCTION_PARSERS = {}  # noqa: RUF012 - as above
        NO_PAREN_FUNCTIONS = {}  # noqa: RUF012 - as above
        NO_PAREN_FUNCTION_PARSERS = {}  # noqa: RUF012 - as above

        def _parse_expression(self) -> exp.Expr | None:
            return self._parse_alias(self._parse_assignment(), explicit=True)

        def _parse_bitwise(self) -> exp.Expr | None:
            # `|` binds weaker than `&`, and that weaker than shifts; the base class ranks them all alike.
            this = self._parse_bitwise_and()
            while self._match(TokenType.PIPE):
                this = self.expression(exp.BitwiseOr(this=this, expression=self._parse_bitwise_and()))
            return this

        def _parse_bitwise_and(self) -> exp.Expr | None:
            this = self._parse_shift()
            while self._match(TokenType.AMP):
                this = self.expression(exp.BitwiseAnd(this=this, expression=self._parse_shift()))
            return this

        def _parse_shift(self) -> exp.Expr | None:
            this = self._parse_term()
            while True:
                if self._match_pair(TokenType.LT, TokenType.LT):
                    this = self.expression(exp.BitwiseLeftShift(this=this, expression=self._parse_term()))
                elif self._match_pair(TokenType.GT, TokenType.GT):
                    this = self.expression(exp.BitwiseRightShift(this=this, expression=self._parse_term()))
                else:
                    return this


_DIALECT = YtQl()


def parse(text: str, placeholder_values: Mapping[str, Yson] | None) -> exp.Select:
    """Read a query, which has no `select` in front.

    The result may be shared: do not change it.

    Raises:
        YtError: with the parser's words in the inner error; or a clause is not supported.
    """
    return _parse(text, placeholder_values) if placeholder_values else _parse_cached(text)


def parse_expression(text: str) -> exp.Expr:
    """Read an expression that stands by itself, as that of a computed column does."""
    tree = _parse(text, {})
    if len(tree.expressions) != 1 or any(content for clause, content in tree.args.items() if clause != "expressions"):
        raise syntax_error("A single expression is expected")
    expression: exp.Expr = tree.expressions[0]
    return expression


@lru_cache(maxsize=256)
def _parse_cached(text: str) -> exp.Select:
    return _parse(text, {})


def _parse(text: str, placeholder_values: Mapping[str, Yson]) -> exp.Select:
    try:
        tokens = tokenize(text, placeholder_values)
    except YtError as error:
        raise syntax_error(error.message) from error
    for token in tokens:
        if token.token_type in _UNSUPPORTED:
            raise YtError(f"{_UNSUPPORTED[token.token_type]} is not supported in queries yet")
    for token, following in pairwise(tokens):
        if token.token_type is TokenType.COMMA and following.token_type in _NOT_AFTER_COMMA:
            raise syntax_error(f"Unexpected {following.text!r} at position {following.start}")
    try:
        trees = YtQl.Parser(dialect=_DIALECT).parse([Token(TokenType.SELECT, "select"), *tokens], text)
    except ParseError as error:
        raise syntax_error(_words(error)) from error
    except RecursionError as error:
        raise syntax_error("The query is nested too deeply") from error
    tree = trees[0]
    if not isinstance(tree, exp.Select):
        raise syntax_error("Not a query")
    unexpected = [clause for clause, content in tree.args.items() if content and clause not in _CLAUSES]
    if unexpected:
        raise syntax_error(f"Unexpected clause {unexpected[0]!r}")
    if not tree.expressions:
        raise syntax_error("Projections are expected")
    return tree


def syntax_error(words: str) -> YtError:
    """The error of all that is wrong with a query's text."""
    return YtError("Error while parsing query", inner_errors=[YtError(words)])


def _words(error: ParseError) -> str:
    if not error.errors:
        return str(error)
    details = error.errors[0]
    return f"{details['description']} near {details['highlight']!r}"
