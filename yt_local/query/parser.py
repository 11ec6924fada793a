"""Texts of queries and expressions to syntax trees."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from yt_local.query.depth import check, check_query
from yt_local.query.expression_parser import ExpressionParser
from yt_local.query.lexer import tokenize
from yt_local.query.syntax import Join, Node, Nodes, Order, Query, TableName, TotalsMode
from yt_wire.error import YtError
from yt_wire.yson import Yson

_MAX_CACHED_LENGTH: Final = 2**14
"""Longer texts are hardly asked again and would take much memory."""

_REFUSED = {
    "with index": "WITH INDEX is not supported by the local cluster: it has no secondary indices",
    "array": "ARRAY JOIN is not supported by the local cluster",
}


def parse_query(text: str, placeholder_values: Mapping[str, Yson] | None, syntax_version: int) -> Query:
    """Read a query; `select` in front of it may be left out.

    Raises:
        YtError: with the place and what was expected there; or the query is nested too deeply.
    """
    if placeholder_values or len(text) > _MAX_CACHED_LENGTH:
        return _parse_query(text, placeholder_values or {}, syntax_version)
    return _parse_query_cached(text, syntax_version)


@lru_cache(maxsize=256)
def parse_expression(text: str) -> tuple[Node, Mapping[str, Node]]:
    """Read an expression that stands by itself, as that of a computed column does; with the aliases in it."""
    parser = ExpressionParser(text, tokenize(text, {}, 1))
    nodes = parser.expression()
    parser.expect_end()
    if len(nodes) != 1:
        raise YtError(f'Expected scalar expression, got "{text}"')
    check((*nodes, *parser.aliases.values()))
    return nodes[0], parser.aliases


@lru_cache(maxsize=256)
def _parse_query_cached(text: str, syntax_version: int) -> Query:
    return _parse_query(text, {}, syntax_version)


def _parse_query(text: str, placeholder_values: Mapping[str, Yson], syntax_version: int) -> Query:
    parser = ExpressionParser(text, tokenize(text, placeholder_values, syntax_version))
    parser.take("select")
    projections = None if parser.take("*") else parser.expressions()
    parser.expect("from")
    if parser.is_next("("):
        raise YtError("Subqueries are not supported by the local cluster")
    table = _table(parser)
    _refuse(parser, "with index")
    joins = []
    while parser.is_next("left", "join", "array"):
        joins.append(_join(parser))
    where = parser.condition() if parser.take("where") else None
    group_by, totals, having = _group_by(parser)
    order_by = _order_by(parser) if parser.take("order by") else ()
    offset = _row_count(parser) if parser.take("offset") else None
    limit = _row_count(parser) if parser.take("limit") else None
    parser.expect_end()
    query = Query(
        projections,
        table,
        tuple(joins),
        where,
        group_by,
        totals,
        having,
        order_by,
        offset,
        limit,
        parser.aliases,
    )
    check_query(query)
    return query


def _refuse(parser: ExpressionParser, keyword: str) -> None:
    if parser.is_next(keyword):
        raise YtError(_REFUSED[keyword])


def _table(parser: ExpressionParser) -> TableName:
    path = parser.identifier()
    if parser.take("as"):
        return TableName(path, parser.identifier())
    alias = parser.take_kind("identifier")
    return TableName(path, None if alias is None else alias.text)


def _join(parser: ExpressionParser) -> Join:
    is_left = parser.take("left") is not None
    _refuse(parser, "array")
    parser.expect("join")
    table = _table(parser)
    if parser.take("using"):
        names = [parser.name()]
        while parser.take(","):
            names.append(parser.name())
        return Join(is_left, table, tuple(names), (), (), _predicate(parser))
    parser.expect("on")
    left = parser.bitwise()
    parser.expect("=")
    right = parser.bitwise()
    return Join(is_left, table, (), left, right, _predicate(parser))


def _predicate(parser: ExpressionParser) -> Nodes | None:
    return parser.conjunction() if parser.take("and") else None


def _group_by(parser: ExpressionParser) -> tuple[Nodes | None, TotalsMode, Nodes | None]:
    if not parser.take("group by"):
        return None, "none", None
    keys = parser.expressions()
    totals: TotalsMode = "before having" if parser.take("with totals") else "none"
    having = parser.condition() if parser.take("having") else None
    if having is not None and totals == "none" and parser.take("with totals"):
        totals = "after having"
    return keys, totals, having


def _order_by(parser: ExpressionParser) -> tuple[Order, ...]:
    items = []
    while True:
        expressions = parser.expression()
        direction = parser.take("asc", "desc")
        items.append(Order(expressions, direction == "desc"))
        if not parser.take(","):
            return tuple(items)


def _row_count(parser: ExpressionParser) -> int:
    token = parser.take_kind("int64")
    if token is None:
        raise parser.unexpected("int64 literal")
    assert isinstance(token.value, int)
    return token.value
