"""Expressions that stand by themselves, as those of computed columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from queue_agent.local_cluster.column_types import PhysicalType
from queue_agent.local_cluster.keys import Row, Value


@dataclass(frozen=True, slots=True)
class ComputedExpression:
    """Call it with a row to get the value.

    It raises YtError where the computation fails, as a division by zero does.
    """

    type: PhysicalType
    """Of the values, which may all be null as well."""
    references: frozenset[str]
    """Names of the columns the value depends on."""
    evaluate: Callable[[Row], Value]

    def __call__(self, row: Row) -> Value:
        return self.evaluate(row)
