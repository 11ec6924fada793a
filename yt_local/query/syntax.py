"""Syntax trees of queries: what was written, before names and types are looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal as Choice
from typing import TypeAlias

from yt_local.schema.column_types import PhysicalType
from yt_local.schema.keys import Value


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal, of the type it is written in."""

    value: Value
    type: PhysicalType


@dataclass(frozen=True, slots=True)
class Name:
    """A column or an alias, perhaps with the alias of a table in front."""

    name: str
    table: str | None = None


@dataclass(frozen=True, slots=True)
class Alias:
    """An expression given a name, which may be used everywhere in the query."""

    expression: Node
    name: str


@dataclass(frozen=True, slots=True)
class Function:
    """A call; the name is as it was written."""

    name: str
    arguments: Nodes


@dataclass(frozen=True, slots=True)
class Unary:
    """One of `+ - ~ NOT`."""

    operator: str
    operand: Nodes


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator with two sides, which may be tuples in comparisons."""

    operator: str
    left: Nodes
    right: Nodes


@dataclass(frozen=True, slots=True)
class Chain:
    """Two and more operands in a row of `and` or `or`."""

    operator: Choice["AND", "OR"]
    operands: tuple[Nodes, ...]


@dataclass(frozen=True, slots=True)
class Among:
    """`in`: a value or tuple, and the constants it is looked for among."""

    needle: Nodes
    rows: ConstantRows


@dataclass(frozen=True, slots=True)
class Ranges:
    """`between` with a list of ranges, whose ends may be shorter than the tuple."""

    needle: Nodes
    ranges: tuple[tuple[ConstantRow, ConstantRow], ...]


@dataclass(frozen=True, slots=True)
class Transform:
    """Constants for constants; the default, if there is one, for everything else."""

    needle: Nodes
    sources: ConstantRows
    targets: ConstantRows
    default: Nodes | None


@dataclass(frozen=True, slots=True)
class Case:
    """`case`, with or without the operand that the conditions are compared with."""

    operand: Nodes | None
    branches: tuple[tuple[Nodes, Nodes], ...]
    default: Nodes | None


@dataclass(frozen=True, slots=True)
class Like:
    """A string and a pattern."""

    text: Nodes
    operator: Choice["LIKE", "ILIKE", "RLIKE"]
    pattern: Nodes
    escape: Nodes | None


Node: TypeAlias = Constant | Name | Alias | Function | Unary | Binary | Chain | Among | Ranges | Transform | Case | Like

Nodes: TypeAlias = tuple[Node, ...]
"""What stands where a value or a tuple may."""

ConstantRow: TypeAlias = tuple[Constant, ...]
ConstantRows: TypeAlias = tuple[ConstantRow, ...]


@dataclass(frozen=True, slots=True)
class TableName:
    """A table by its path, and what it is called in the query."""

    path: str
    alias: str | None


@dataclass(frozen=True, slots=True)
class Join:
    """Either the columns both sides have in common, or the two sides of an equation."""

    is_left: bool
    table: TableName
    using: tuple[Name, ...]
    left: Nodes
    right: Nodes
    predicate: Nodes | None


@dataclass(frozen=True, slots=True)
class Order:
    """Expressions to order by, all in one direction."""

    expressions: Nodes
    is_descending: bool


TotalsMode: TypeAlias = Choice["none", "before having", "after having"]


@dataclass(frozen=True, slots=True)
class Query:
    """A whole query; `projections` is None for `*`."""

    projections: Nodes | None
    table: TableName
    joins: tuple[Join, ...]
    where: Nodes | None
    group_by: Nodes | None
    totals: TotalsMode
    having: Nodes | None
    order_by: tuple[Order, ...]
    offset: int | None
    limit: int | None
    aliases: Mapping[str, Node]
    """Of the whole query; a name is given once."""
