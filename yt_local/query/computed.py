"""Expressions that stand by themselves, as those of computed columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from yt_local.query.depth import too_deep
from yt_local.query.evaluate import compile_expression
from yt_local.query.expressions import Expression, referenced_indexes
from yt_local.query.parser import parse_expression
from yt_local.query.resolve import Resolver
from yt_local.query.scope import Scope
from yt_local.schema.column_types import PhysicalType
from yt_local.schema.keys import Row, Value
from yt_local.schema.schema import Column


@dataclass(frozen=True, slots=True)
class ComputedExpression:
    """Call it with a row to get the value.

    It raises YtError where the computation fails, as a division by zero does.
    """

    expression: Expression
    """Over rows of the columns it was compiled for."""
    references: frozenset[str]
    """Names of the columns the value depends on."""
    evaluate: Callable[[Row], Value]

    @property
    def type(self) -> PhysicalType:
        """Of the values, which may all be null as well."""
        return self.expression.type

    def __call__(self, row: Row) -> Value:
        return self.evaluate(row)


def compile_text(text: str, columns: Sequence[Column]) -> ComputedExpression:
    """Build the function of an expression such as `farm_hash(user) % 100`.

    Args:
        text: the expression alone.
        columns: what it may refer to; the rows it is given have values in their order.

    Raises:
        YtError: bad syntax, a name that is not defined, types that do not go together.
    """
    scope = Scope()
    scope.add(columns, None)
    try:
        node, aliases = parse_expression(text)
        expression = Resolver(scope, aliases).expression(node)
        evaluate = compile_expression(expression)
        references = frozenset(columns[index].name for index in referenced_indexes(expression))
    except RecursionError as error:
        raise too_deep() from error
    return ComputedExpression(expression, references, evaluate)
