"""Queries over dynamic tables: text to rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from yt_local.query.computed import ComputedExpression
from yt_local.query.computed import compile_text as compile_expression
from yt_local.query.depth import too_deep
from yt_local.query.explain import explain_plan
from yt_local.query.parser import parse_query
from yt_local.query.plan import build_plan
from yt_local.query.reading import Reading
from yt_local.query.tables import (
    FULL_RANGE,
    KeyRange,
    QueryResult,
    QueryStatistics,
    QueryTable,
    SelectOptions,
)
from yt_wire.yson import Yson

__all__ = [
    "FULL_RANGE",
    "ComputedExpression",
    "KeyRange",
    "QueryResult",
    "QueryStatistics",
    "QueryTable",
    "SelectOptions",
    "compile_expression",
    "explain",
    "select",
]

_DEFAULT_OPTIONS = SelectOptions()


def select(
    text: str,
    open_table: Callable[[str], QueryTable],
    placeholder_values: Mapping[str, Yson] | None = None,
    options: SelectOptions = _DEFAULT_OPTIONS,
) -> QueryResult:
    """Run a query such as `[a], b + 1 as c from [//t] where a > 5u limit 10`.

    Args:
        text: with or without `select` in front.
        open_table: gives the table of a path as written between the brackets, attributes included; its errors go
            through.
        placeholder_values: what `{name}` in the text stands for; a list stands for a tuple.
        options: limits, and what is allowed.

    Raises:
        YtError: bad syntax or an unsupported construct; a name that is not defined; types that do not go together; a
            limit exceeded; a computation that fails.
    """
    try:
        query = parse_query(text, placeholder_values, options.syntax_version)
        plan = build_plan(query, open_table, options)
        reading = Reading(options)
        rows, statistics = reading.write(plan.run(reading))
    except RecursionError as error:
        raise too_deep() from error
    return QueryResult(plan.columns, rows, statistics)


def explain(text: str, open_table: Callable[[str], QueryTable], options: SelectOptions) -> dict[str, Any]:
    """What `select` would read for a query, as a map of YSON; errors of the query are the same."""
    try:
        query = parse_query(text, None, options.syntax_version)
        return explain_plan(query, build_plan(query, open_table, options))
    except RecursionError as error:
        raise too_deep() from error
