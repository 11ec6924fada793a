"""Joins: for a batch of rows at a time, the rows of the other table are looked up by the keys wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

from yt_local.base.turns import give_way
from yt_local.query.computed import compile_text
from yt_local.query.evaluate import compile_expression, compile_row
from yt_local.query.expressions import Expression, In, Reference, conjunction, conjuncts_of
from yt_local.query.ranges import infer_ranges
from yt_local.query.resolve import Resolver
from yt_local.query.scope import Scope
from yt_local.query.syntax import Join, Nodes
from yt_local.query.tables import KeyRange, QueryTable
from yt_local.query.wording import qualified, words_of, words_of_join
from yt_local.schema.keys import Row
from yt_local.schema.schema import Column
from yt_wire.error import YtError

_FIRST_BATCH: Final = 64
"""A limit may be reached early; later batches grow."""
_LARGEST_BATCH: Final = 16_384

Read: TypeAlias = Callable[[QueryTable, Sequence[KeyRange]], Iterator[Row]]
"""How rows of a table are read, so that they can be counted."""


@dataclass(frozen=True, slots=True)
class JoinPlan:
    """One join, ready to be done."""

    table: QueryTable
    is_left: bool
    left: tuple[Expression, ...]
    """Over the rows so far."""
    right: tuple[Expression, ...]
    """Over rows of the table."""
    predicate: Expression | None
    """Over rows of the table."""
    key_prefix: int
    """How many columns of the table's key the equation gives."""

    def run(self, rows: Iterable[Row], read: Read) -> Iterator[Row]:
        """The rows, each with those of the table behind it that belong to it."""
        left_key, right_key = compile_row(self.left), compile_row(self.right)
        accepts = None if self.predicate is None else compile_expression(self.predicate)
        nothing = (None,) * len(self.table.columns)
        remaining = iter(rows)
        size = _FIRST_BATCH
        while batch := list(islice(remaining, size)):
            size = min(2 * size, _LARGEST_BATCH)
            keys = [left_key(row) for row in batch]
            wanted = frozenset(keys)
            found: dict[Row, list[Row]] = {}
            for row in read(self.table, self.ranges(wanted)):
                key = right_key(row)
                if key in wanted and (accepts is None or accepts(row)):
                    found.setdefault(key, []).append(row)
            for row, key in zip(batch, keys, strict=True):
                matches = found.get(key)
                if matches is not None:
                    for match in matches:
                        yield (*row, *match)
                    give_way()
                elif self.is_left:
                    yield (*row, *nothing)

    def ranges(self, wanted: frozenset[Row]) -> list[KeyRange]:
        """Where the rows with these keys can be."""
        conditions: tuple[Expression, ...] = (In(self.right, wanted),)
        if self.predicate is not None:
            conditions += conjuncts_of(self.predicate)
        return infer_ranges(conjunction(conditions), self.table.columns, self.table.key_width)


def plan_join(join: Join, table: QueryTable, scope: Scope, resolver: Resolver, allows_scan: bool) -> JoinPlan:
    """Check a join, and put its table into the scope.

    Args:
        join: as written.
        table: the one to join.
        scope: of the tables so far.
        resolver: of that scope.
        allows_scan: lets the equation have nothing to do with the table's key.

    Raises:
        YtError: columns that are not there, types that do not go together, a key that is not used.
    """
    own_scope = Scope()
    own_scope.add(table.columns, join.table.alias)
    own = resolver.for_scope(own_scope)
    if join.using:
        pairs = [_common_column(name.name, name.table, scope, own_scope) for name in join.using]
        left: tuple[Expression, ...] = tuple(pair[0] for pair in pairs)
        right: tuple[Expression, ...] = tuple(pair[1] for pair in pairs)
    else:
        left = tuple(resolver.expression(node) for node in join.left)
        right = tuple(own.expression(node) for node in join.right)
        _check(join.left, left, join.right, right)
    prefix = _key_prefix(right, table.columns, table.key_width)
    if prefix == 0 and not allows_scan:
        raise YtError(
            "Foreign table key is not used in the join clause; the query is inefficient, consider rewriting it",
            attributes={"source": words_of_join(join)},
        )
    predicate = None if join.predicate is None else own.condition(join.predicate, "JOIN-PREDICATE")
    scope.add(table.columns, join.table.alias, frozenset(name.name for name in join.using))
    return JoinPlan(table, join.is_left, left, right, predicate, prefix)


def _common_column(name: str, table: str | None, scope: Scope, own_scope: Scope) -> tuple[Reference, Reference]:
    left, right = scope.find(name, table), own_scope.find(name, table)
    words = qualified(name, table)
    if left is None or right is None:
        raise YtError(f'Column "{words}" not found')
    if left.type != right.type:
        attributes = {"self_type": left.type, "foreign_type": right.type}
        raise YtError(f'Column "{words}" type mismatch in join', attributes=attributes)
    return left, right


def _check(left_nodes: Nodes, left: Sequence[Expression], right_nodes: Nodes, right: Sequence[Expression]) -> None:
    if len(left) != len(right):
        raise YtError(f"Tuples of same size are expected but got {len(left)} vs {len(right)}")
    for index, (one, other) in enumerate(zip(left, right, strict=True)):
        if one.type != other.type:
            raise YtError(
                f'Types mismatch in join equation "{words_of(left_nodes[index])} = {words_of(right_nodes[index])}"',
                attributes={"self_type": one.type, "foreign_type": other.type},
            )
    columns = [item for item in right if isinstance(item, Reference)]
    if len(set(columns)) != len(columns):
        raise YtError("Foreign key column occurs more than once in a join clause")


def _key_prefix(right: Sequence[Expression], columns: Sequence[Column], key_width: int) -> int:
    """How many of the key's columns have a value once the right side has one."""
    given = {columns[item.index].name for item in right if isinstance(item, Reference)}
    for index, column in enumerate(columns[:key_width]):
        is_computed = column.expression is not None and compile_text(column.expression, columns).references <= given
        if column.name not in given and not is_computed:
            return index
    return key_width
