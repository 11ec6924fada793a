"""Computed columns: key columns whose values follow from the rest of the key."""

from __future__ import annotations

from functools import lru_cache

from yt_local.query import ComputedExpression, compile_expression
from yt_local.schema.schema import Column, TableSchema
from yt_wire.error import YtError


@lru_cache(maxsize=256)
def compiled(expression: str, key_columns: tuple[Column, ...]) -> ComputedExpression:
    """The function of an expression; it takes keys, whatever stands in the computed places.

    Raises:
        YtError: it is no expression over these columns.
    """
    return compile_expression(expression, key_columns)


def validate_computed_columns(schema: TableSchema) -> None:
    """YtError unless computed columns are keys, of their expression's type, and depend on given key columns alone."""
    for column in schema.columns:
        if column.expression is not None:
            _validate(schema, column, column.expression)


def _validate(schema: TableSchema, column: Column, text: str) -> None:
    if column.sort_order is None:
        raise YtError(f'Non-key column "{column.name}" cannot be computed')
    try:
        expression = compile_expression(text, schema.columns)
    except YtError as error:
        raise YtError(f'Error preparing expression of computed column "{column.name}"', inner_errors=[error]) from error
    if expression.type not in (column.physical_type, "null"):
        raise YtError(
            f'Computed column "{column.name}" type mismatch: declared type is "{column.type}" but expression type is'
            f' "{expression.type}"'
        )
    for other in schema.columns:
        if other.name not in expression.references:
            continue
        if other.sort_order is None:
            raise YtError(f'Computed column "{column.name}" depends on a non-key column "{other.name}"')
        if other.expression is not None:
            raise YtError(f'Computed column "{column.name}" depends on a computed column "{other.name}"')
