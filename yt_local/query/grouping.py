"""Groups of rows: their keys, their aggregates, and the totals of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from yt_local.query.aggregates import Accumulator, Aggregate
from yt_local.query.evaluate import Evaluator, compile_expression, compile_row
from yt_local.query.expressions import Expression, Reference
from yt_local.query.syntax import Alias, Constant, Node
from yt_local.query.wording import column_name
from yt_local.schema.keys import Row, Value


@dataclass(slots=True)
class Grouping:
    """What a query groups by, and which aggregates it wants; the row of a group is its key and then these."""

    nodes: Sequence[Node]
    keys: Sequence[Expression]
    aggregates: list[Aggregate] = field(default_factory=list)
    _by_node: dict[Node, Expression] = field(init=False, default_factory=dict)
    _by_name: dict[str, Expression] = field(init=False, default_factory=dict)
    _places: dict[tuple[object, ...], int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for index, (node, key) in enumerate(zip(self.nodes, self.keys, strict=True)):
            place = Reference(index, key.type)
            self._by_node.setdefault(node, place)
            if isinstance(node, Alias):
                self._by_node.setdefault(node.expression, place)
            self._by_name.setdefault(column_name(node), place)

    def key(self, node: Node) -> Expression | None:
        """The place of the key that is written like this; a constant is itself wherever it stands."""
        if isinstance(node, Constant):
            return None
        return self._by_node.get(node)

    def named(self, name: str) -> Expression | None:
        """The place of the key that has this name."""
        return self._by_name.get(name)

    def aggregate(self, aggregate: Aggregate) -> Expression:
        """The place of an aggregate, which is computed once however often it is asked for."""
        place = self._places.setdefault(
            (aggregate.name, aggregate.arguments, aggregate.type), len(self.keys) + len(self.aggregates)
        )
        if place == len(self.keys) + len(self.aggregates):
            self.aggregates.append(aggregate)
        return Reference(place, aggregate.type)

    def compile(self) -> Groups:
        """The function that forms the groups, once all aggregates are known."""
        return Groups(compile_row(self.keys), len(self.keys), [_compile(aggregate) for aggregate in self.aggregates])


class Group(NamedTuple):
    """One group."""

    row: Row
    states: Sequence[Any]
    """Of the aggregates."""


@dataclass(frozen=True, slots=True)
class _Compiled:
    accumulator: Accumulator
    arguments: Sequence[Evaluator]


def _compile(aggregate: Aggregate) -> _Compiled:
    return _Compiled(aggregate.accumulator, [compile_expression(argument) for argument in aggregate.arguments])


class Groups:
    """Forms groups of rows."""

    def __init__(self, key: Callable[[Row], Row], key_width: int, aggregates: Sequence[_Compiled]) -> None:
        self._key = key
        self._key_width = key_width
        self._aggregates = aggregates

    def form(self, rows: Iterable[Row], limit: int | None) -> list[Group]:
        """Read all rows; with a limit, only the groups found first count, and rows of others are left out.

        Reading ends early if nothing in the groups could change any more.
        """
        groups: dict[Row, list[Any]] = {}
        if limit == 0:
            return []
        for row in rows:
            key = self._key(row)
            states = groups.get(key)
            if states is None:
                if limit is not None and len(groups) == limit:
                    continue
                states = groups[key] = [None] * len(self._aggregates)
                if not self._aggregates and len(groups) == limit:
                    break
            self._step(states, row)
        return [Group((*key, *self._finished(states)), states) for key, states in groups.items()]

    def totals(self, groups: Sequence[Group]) -> Row:
        """The row of all groups together, with null for the keys."""
        merged: list[Any] = [None] * len(self._aggregates)
        for group in groups:
            for index, (aggregate, state) in enumerate(zip(self._aggregates, group.states, strict=True)):
                if merged[index] is None or state is None:
                    merged[index] = state if merged[index] is None else merged[index]
                else:
                    merged[index] = aggregate.accumulator.merge(merged[index], state)
        return (*[None] * self._key_width, *self._finished(merged))

    def _finished(self, states: Sequence[Any]) -> Iterator[Value]:
        for aggregate, state in zip(self._aggregates, states, strict=True):
            yield aggregate.accumulator.finish(state)

    def _step(self, states: list[Any], row: Row) -> None:
        for index, aggregate in enumerate(self._aggregates):
            values = [evaluate(row) for evaluate in aggregate.arguments]
            deciding = aggregate.accumulator.deciding_argument
            if deciding is None or values[deciding] is not None:
                states[index] = aggregate.accumulator.step(states[index], *values)
