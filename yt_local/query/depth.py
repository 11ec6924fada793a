"""How deep expressions may be nested."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, assert_never

from yt_local.query.syntax import (
    Alias,
    Among,
    Binary,
    Case,
    Chain,
    Constant,
    Function,
    Like,
    Name,
    Node,
    Query,
    Ranges,
    Transform,
    Unary,
)
from yt_wire.error import ErrorCode, YtError

MAX_DEPTH: Final = 150
"""Operators and calls within each other. A real cluster goes as far as its stack lasts."""

MAX_NESTING: Final = 50
"""Parentheses, calls and signs within each other, for which the parser needs more of its own stack."""


def too_deep() -> YtError:
    """The error for what is nested too deeply (`query_helpers.cpp`, `CheckStackDepth`)."""
    return YtError("Expression depth causes stack overflow", ErrorCode.QUERY_EXPRESSION_DEPTH_LIMIT_EXCEEDED)


def check_query(query: Query) -> None:
    """YtError 1711 if an expression of the query is nested too deeply."""
    check(query.projections or ())
    for nodes in (query.where, query.group_by, query.having, *(item.expressions for item in query.order_by)):
        check(nodes or ())
    for join in query.joins:
        check((*join.left, *join.right, *(join.predicate or ())))
    check(query.aliases.values())


def check(nodes: Iterable[Node]) -> None:
    """YtError 1711 if one of the expressions is nested too deeply; what works on them later may recurse."""
    level = list(nodes)
    depth = 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise too_deep()
        level = [part for node in level for part in _parts(node)]


def _parts(node: Node) -> Iterator[Node]:
    """What a node is made of, one level down."""
    match node:
        case Constant() | Name():
            return
        case Alias(expression):
            yield expression
        case Function(_, arguments):
            yield from arguments
        case Unary(_, operand):
            yield from operand
        case Binary(_, left, right):
            yield from (*left, *right)
        case Chain(_, operands):
            for operand in operands:
                yield from operand
        case Among(needle) | Ranges(needle):
            yield from needle
        case Transform(needle, _, _, default):
            yield from (*needle, *(default or ()))
        case Case(operand, branches, default):
            yield from (*(operand or ()), *(default or ()))
            for test, result in branches:
                yield from (*test, *result)
        case Like(text, _, pattern, escape):
            yield from (*text, *pattern, *(escape or ()))
        case _:
            assert_never(node)
