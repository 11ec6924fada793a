"""A query from its text to its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlglot import exp

from queue_agent.local_cluster.keys import Row
from queue_agent.local_cluster.query.computed import ComputedExpression
from queue_agent.local_cluster.query.evaluate import Evaluator, compile_expression, compile_row, sort_key
from queue_agent.local_cluster.query.expressions import Expression, Literal, Reference, referenced_indexes
from queue_agent.local_cluster.query.grammar import parse, parse_expression, syntax_error
from queue_agent.local_cluster.query.ranges import infer_ranges
from queue_agent.local_cluster.query.resolve import Resolver, expect_boolean
from queue_agent.local_cluster.query.tables import FULL_RANGE, KeyRange, QueryResult, QueryTable
from queue_agent.local_cluster.query.wording import name_of, words_of
from queue_agent.local_cluster.schema import Column
from queue_agent.wire.error import YtError
from queue_agent.wire.yson import Yson


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do with the rows of a table, in the order of the fields."""

    ranges: Sequence[KeyRange]
    condition: Evaluator | None
    order: Sequence[tuple[Evaluator, bool]]
    """Keys, the most significant first, and whether they descend."""
    offset: int
    limit: int | None
    project: Callable[[Row], Row]
    columns: Sequence[Column]
    """Of the result."""

    def run(self, table: QueryTable, input_row_limit: int | None, output_row_limit: int | None) -> QueryResult:
        """Read the table.

        Raises:
            YtError: a limit is exceeded, or an expression can not be computed for a row.
        """
        rows = table.scan(self.ranges)
        if input_row_limit is not None:
            rows = _limited(rows, input_row_limit, "input")
        if self.condition is not None:
            rows = filter(self.condition, rows)
        if self.order:
            rows = iter(self._sorted(rows))
        end = None if self.limit is None else self.offset + self.limit
        rows = map(self.project, islice(rows, self.offset, end))
        if output_row_limit is not None:
            rows = _limited(rows, output_row_limit, "output")
        return QueryResult(self.columns, list(rows))

    def _sorted(self, rows: Iterator[Row]) -> list[Row]:
        result = list(rows)
        # Sorting is stable, so the least significant key goes first.
        for evaluate, is_descending in reversed(self.order):
            result.sort(key=_sort_key_of(evaluate), reverse=is_descending)
        return result


def select_rows(
    text: str,
    open_table: Callable[[str], QueryTable],
    placeholder_values: Mapping[str, Yson] | None,
    input_row_limit: int | None,
    output_row_limit: int | None,
) -> QueryResult:
    """As `queue_agent.local_cluster.query.select`."""
    tree = parse(text, placeholder_values)
    path, alias = _source(tree)
    table = open_table(path)
    try:
        return build_plan(tree, table, alias).run(table, input_row_limit, output_row_limit)
    except RecursionError as error:
        raise syntax_error("The query is nested too deeply") from error


def build_plan(tree: exp.Select, table: QueryTable, table_alias: str | None) -> Plan:
    """Check a query against the columns of its table."""
    projections = [_projection(node) for node in tree.expressions]
    aliases = {name: node for node, name in projections if name is not None}
    resolver = Resolver(table.columns, table_alias, aliases)
    columns: list[Column] = []
    expressions: list[Expression] = []
    if isinstance(tree.expressions[0], exp.Star) and len(tree.expressions) == 1:
        for index, column in enumerate(table.columns):
            columns.append(
                _output_column(column, column.name if table_alias is None else f"{table_alias}.{column.name}")
            )
            expressions.append(Reference(index, column.physical_type))
    else:
        for node, name in projections:
            expression = resolver.resolve(node)
            name = words_of(node) if name is None else name
            if any(column.name == name for column in columns):
                raise YtError(f'Duplicate column name "{name}" in projections')
            match expression:
                case Reference(index):
                    columns.append(_output_column(table.columns[index], name))
                case _:
                    columns.append(Column(name, expression.type))
            expressions.append(expression)

    condition = _condition(tree, resolver)
    ranges = [FULL_RANGE] if condition is None else infer_ranges(condition, table.columns[: table.key_width])
    order = _order(tree, resolver)
    limit = _row_count(tree, "limit")
    offset = _row_count(tree, "offset")
    if limit is None and order:
        raise YtError("ORDER BY used without LIMIT")
    if limit is None and offset is not None:
        raise YtError("OFFSET used without LIMIT")
    return Plan(
        ranges,
        None if condition is None else compile_expression(condition),
        order,
        offset or 0,
        limit,
        compile_row(expressions),
        columns,
    )


def compile_text(text: str, columns: Sequence[Column]) -> ComputedExpression:
    """As `queue_agent.local_cluster.query.compile_expression`."""
    try:
        expression = Resolver(columns, None, {}).resolve(parse_expression(text))
        evaluate = compile_expression(expression)
    except RecursionError as error:
        raise syntax_error("The expression is nested too deeply") from error
    references = frozenset(columns[index].name for index in referenced_indexes(expression))
    return ComputedExpression(expression.type, references, evaluate)


def _sort_key_of(evaluate: Evaluator) -> Callable[[Row], tuple[bool, Any]]:
    return lambda row: sort_key(evaluate(row))


def _source(tree: exp.Select) -> tuple[str, str | None]:
    source = tree.args.get("from_")
    if source is None:
        raise syntax_error("FROM is expected")
    table = source.this
    is_name = isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier)
    if not is_name or any(content for part, content in table.args.items() if part not in ("this", "alias")):
        raise syntax_error("A table is expected after FROM")
    alias = table.args.get("alias")
    # Escapes in a path belong to the path.
    return str(table.this.this), None if alias is None else name_of(alias.this)


def _projection(node: exp.Expr) -> tuple[exp.Expr, str | None]:
    if isinstance(node, exp.Alias):
        return node.this, name_of(node.args["alias"])
    return node, None


def _output_column(source: Column, name: str) -> Column:
    return Column(name, source.type, source.required, composite=source.composite)


def _condition(tree: exp.Select, resolver: Resolver) -> Expression | None:
    where = tree.args.get("where")
    if where is None:
        return None
    condition = resolver.resolve(where.this)
    expect_boolean(condition, "WHERE")
    return condition


def _order(tree: exp.Select, resolver: Resolver) -> list[tuple[Evaluator, bool]]:
    clause = tree.args.get("order")
    keys: list[tuple[Evaluator, bool]] = []
    for node in clause.expressions if clause is not None else ():
        expression = resolver.resolve(node.this)
        if expression.type == "any":
            raise YtError(f'Cannot order by expression "{words_of(node.this)}" of type "any"')
        keys.append((compile_expression(expression), bool(node.args.get("desc"))))
    return keys


def _row_count(tree: exp.Select, clause: str) -> int | None:
    content = tree.args.get(clause)
    if content is None:
        return None
    count = Resolver((), None, {}).resolve(content.expression)
    if not isinstance(count, Literal) or not isinstance(count.value, int) or count.type == "boolean" or count.value < 0:
        raise syntax_error(f"{clause.upper()} must be a non-negative number")
    return count.value


def _limited(rows: Iterator[Row], limit: int, side: str) -> Iterator[Row]:
    for count, row in enumerate(rows):
        if count == limit:
            raise YtError(
                f"Query terminated prematurely due to excessive {side};"
                f" consider rewriting your query or changing {side} limit",
                attributes={f"{side}_row_limit": limit},
            )
        yield row
