"""Queries over dynamic tables: text to rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from queue_agent.local_cluster.query.computed import ComputedExpression
from queue_agent.local_cluster.query.tables import FULL_RANGE, KeyRange, QueryResult, QueryTable
from queue_agent.local_cluster.schema import Column
from queue_agent.wire.yson import Yson

__all__ = ["FULL_RANGE", "ComputedExpression", "KeyRange", "QueryResult", "QueryTable", "compile_expression", "select"]


def select(
    text: str,
    open_table: Callable[[str], QueryTable],
    placeholder_values: Mapping[str, Yson] | None = None,
    *,
    input_row_limit: int | None = None,
    output_row_limit: int | None = None,
) -> QueryResult:
    """Run a query such as `[a], b + 1 as c from [//t] where a > 5u limit 10`.

    Args:
        text: without `select` in front.
        open_table: gives the table of a path as written between the brackets, escapes and attributes included; its
            errors go through.
        placeholder_values: what `{name}` in the text stands for; a list stands for a tuple.
        input_row_limit: how many rows may be read; more are an error.
        output_row_limit: how many rows the result may have; more are an error.

    Raises:
        YtError: bad syntax or an unsupported construct; a name that is not defined; types that do not go together; a
            limit exceeded; a computation that fails.
    """
    # sqlglot takes a third of a second to import, which not every user of this package should pay.
    from queue_agent.local_cluster.query.plan import select_rows

    return select_rows(text, open_table, placeholder_values, input_row_limit, output_row_limit)


def compile_expression(text: str, columns: Sequence[Column]) -> ComputedExpression:
    """Build the function of an expression such as `farm_hash(user) % 100`, as computed columns have it.

    Args:
        text: the expression alone.
        columns: what it may refer to; the rows it is given have values in their order.

    Raises:
        YtError: bad syntax, a name that is not defined, types that do not go together.
    """
    from queue_agent.local_cluster.query.plan import compile_text

    return compile_text(text, columns)
