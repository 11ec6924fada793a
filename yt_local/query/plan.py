"""A query from its tree to its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from yt_local.base.turns import give_way
from yt_local.query.evaluate import Evaluator, compile_expression, compile_row, sort_key
from yt_local.query.expressions import (
    Call,
    Expression,
    Reference,
    conjunction,
    conjuncts_of,
    referenced_indexes,
)
from yt_local.query.grouping import Grouping, Groups
from yt_local.query.joins import JoinPlan, plan_join
from yt_local.query.ranges import infer_ranges
from yt_local.query.reading import Reading
from yt_local.query.resolve import Resolver
from yt_local.query.scope import Scope
from yt_local.query.syntax import Query, TotalsMode
from yt_local.query.tables import FULL_RANGE, KeyRange, QueryTable, SelectOptions
from yt_local.query.wording import column_name, words_of_all
from yt_local.query.yson_values import comparable
from yt_local.schema.keys import Row
from yt_local.schema.schema import Column
from yt_wire.error import YtError


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """What to do with groups."""

    groups: Groups
    having: Evaluator | None
    totals: TotalsMode

    def run(self, rows: Iterator[Row], limit: int | None) -> tuple[list[Row], list[Row]]:
        """The rows of the groups, and that of the totals if there is one."""
        groups = self.groups.form(rows, limit)
        kept = groups if self.having is None else [group for group in groups if self.having(group.row)]
        counted = groups if self.totals == "before having" else kept
        totals = [self.groups.totals(counted)] if self.totals != "none" and counted else []
        return [group.row for group in kept], totals


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do with the rows of the tables, in the order of the fields."""

    table: QueryTable
    ranges: Sequence[KeyRange]
    first_condition: Evaluator | None
    """Of the rows of the first table."""
    joins: Sequence[JoinPlan]
    condition: Evaluator | None
    grouping: GroupPlan | None
    order: Sequence[tuple[Evaluator, bool]]
    """Keys, the most significant first, and whether they descend."""
    offset: int
    limit: int | None
    project: Callable[[Row], Row]
    columns: Sequence[Column]
    """Of the result."""

    def run(self, reading: Reading) -> Iterator[Row]:
        """Read the tables; YtError if an expression cannot be computed for a row."""
        rows = reading.read(self.table, self.ranges)
        if self.first_condition is not None:
            rows = filter(self.first_condition, rows)
        for join in self.joins:
            rows = join.run(rows, reading.read)
        if self.condition is not None:
            rows = filter(self.condition, rows)
        end = None if self.limit is None else self.offset + self.limit
        totals: list[Row] = []
        if self.grouping is not None:
            grouped, totals = self.grouping.run(rows, None if self.order else end)
            rows = iter(grouped)
        if self.order:
            rows = iter(self._sorted(rows))
        return map(self.project, chain(islice(rows, self.offset, end), totals))

    def _sorted(self, rows: Iterator[Row]) -> list[Row]:
        result = list(rows)
        # Sorting is stable, so the least significant key goes first.
        for evaluate, is_descending in reversed(self.order):
            result.sort(key=_sort_key_of(evaluate), reverse=is_descending)
        return result


def build_plan(query: Query, open_table: Callable[[str], QueryTable], options: SelectOptions) -> Plan:
    """Check a query against the columns of its tables."""
    table = open_table(query.table.path)
    scope = Scope()
    scope.add(table.columns, query.table.alias)
    resolver = Resolver(scope, query.aliases)
    joins = [
        plan_join(join, open_table(join.table.path), scope, resolver, options.allow_join_without_index)
        for join in query.joins
    ]
    where = None if query.where is None else resolver.condition(query.where, "WHERE")
    first, rest = _split(where, len(table.columns)) if joins else (where, None)
    ranges = infer_ranges(first, table.columns, table.key_width)
    if not options.allow_full_scan and ranges == [FULL_RANGE]:
        raise YtError(
            "Primary table key is not used in the where clause (full scan);"
            " the query is inefficient, consider rewriting it",
            attributes={"source": "" if query.where is None else words_of_all(query.where)},
        )
    grouping = _start_grouping(query, resolver)
    having = _having(query, resolver)
    order = _order(query, resolver)
    columns, expressions = _projections(query, scope, resolver, grouping)
    _check_limits(query)
    return Plan(
        table,
        ranges,
        None if first is None else compile_expression(first),
        joins,
        None if rest is None else compile_expression(rest),
        None if grouping is None else GroupPlan(grouping.compile(), having, query.totals),
        order,
        query.offset or 0,
        query.limit,
        compile_row(expressions),
        columns,
    )


def _split(where: Expression | None, width: int) -> tuple[Expression | None, Expression | None]:
    """What can be said of the first table alone, and the rest."""
    first: list[Expression] = []
    rest: list[Expression] = []
    for condition in () if where is None else conjuncts_of(where):
        (first if max(referenced_indexes(condition), default=0) < width else rest).append(condition)
    return (
        conjunction(tuple(first)) if first else None,
        conjunction(tuple(rest)) if rest else None,
    )


def _start_grouping(query: Query, resolver: Resolver) -> Grouping | None:
    if query.group_by is None:
        return None
    grouping = Grouping(query.group_by, [resolver.expression(node) for node in query.group_by])
    resolver.group_by(grouping)
    return grouping


def _having(query: Query, resolver: Resolver) -> Evaluator | None:
    return None if query.having is None else compile_expression(resolver.condition(query.having, "HAVING"))


def _order(query: Query, resolver: Resolver) -> list[tuple[Evaluator, bool]]:
    keys: list[tuple[Evaluator, bool]] = []
    for item in query.order_by:
        for node in item.expressions:
            expression = resolver.expression(node)
            if expression.type == "any":
                expression = Call("comparable", (expression,), "any", comparable("any"))
            keys.append((compile_expression(expression), item.is_descending))
    return keys


def _projections(
    query: Query, scope: Scope, resolver: Resolver, grouping: Grouping | None
) -> tuple[list[Column], list[Expression]]:
    named: list[tuple[str, Expression]]
    if query.projections is not None:
        # What is nested too deeply is found by the resolver, before it is put in words.
        expressions = [resolver.expression(node) for node in query.projections]
        named = list(zip(map(column_name, query.projections), expressions, strict=True))
    elif grouping is None:
        named = list(scope.visible())
    else:
        named = [(column_name(node), resolver.expression(node)) for node in grouping.nodes]
    columns: list[Column] = []
    names: set[str] = set()
    for name, expression in named:
        if name in names:
            raise YtError(f'Duplicate column name "{name}" in projections')
        names.add(name)
        columns.append(_output_column(name, expression, scope, grouping))
    return columns, [expression for _, expression in named]


def _output_column(name: str, expression: Expression, scope: Scope, grouping: Grouping | None) -> Column:
    """A column that is passed through keeps its type to the letter."""
    if grouping is not None and isinstance(expression, Reference) and expression.index < len(grouping.keys):
        expression = grouping.keys[expression.index]
    elif grouping is not None:
        return Column(name, expression.type)
    if not isinstance(expression, Reference):
        return Column(name, expression.type)
    source = scope.columns[expression.index]
    return Column(name, source.type, source.required, composite=source.composite)


def _check_limits(query: Query) -> None:
    if query.having is not None and not query.order_by:
        for clause, count in (("LIMIT", query.limit), ("OFFSET", query.offset)):
            if count is not None:
                raise YtError(f"HAVING with {clause} is not allowed")
    if query.limit is None and query.order_by:
        raise YtError("ORDER BY used without LIMIT")
    if query.limit is None and query.offset is not None:
        raise YtError("OFFSET used without LIMIT")


def _sort_key_of(evaluate: Evaluator) -> Callable[[Row], tuple[bool, Any]]:
    def key_of(row: Row) -> tuple[bool, Any]:
        give_way()
        return sort_key(evaluate(row))

    return key_of
