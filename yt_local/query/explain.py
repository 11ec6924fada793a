"""What a query would read, without reading it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from yt_local.query.expressions import Reference
from yt_local.query.joins import JoinPlan
from yt_local.query.plan import Plan
from yt_local.query.syntax import Query
from yt_local.query.wording import words_of_all, words_of_value
from yt_local.schema.keys import Row
from yt_local.schema.schema import Column


def explain_plan(query: Query, plan: Plan) -> dict[str, Any]:
    """The plan as a map of YSON; ranges are pairs of key prefixes in words."""
    columns = plan.table.columns
    return {
        "where_expression": "true" if query.where is None else words_of_all(query.where),
        "is_ordered_scan": not plan.order,
        "joins": [_joins(plan.joins)] if plan.joins else [],
        "ranges": [[_key(item.lower, columns), _key(item.upper, columns)] for item in plan.ranges],
    }


def _joins(joins: Iterable[JoinPlan]) -> list[dict[str, Any]]:
    result = []
    common = None
    for join in joins:
        prefix = _common_prefix(join)
        common = prefix if common is None else min(common, prefix)
        result.append(
            {
                "lookup_type": _lookup_type(join),
                "common_key_prefix": common,
                "foreign_key_prefix": join.key_prefix,
            }
        )
    return result


def _lookup_type(join: JoinPlan) -> str:
    if not join.key_prefix:
        return "IN clause"
    return "source ranges" if join.key_prefix == len(join.right) else "prefix ranges"


def _common_prefix(join: JoinPlan) -> int:
    """How many columns of the first table's key stand for the same ones of the other's."""
    places = {
        right.index: left for left, right in zip(join.left, join.right, strict=True) if isinstance(right, Reference)
    }
    for index in range(join.key_prefix):
        left = places.get(index)
        if not isinstance(left, Reference) or left.index != index:
            return index
    return join.key_prefix


def _key(key: Row, columns: Iterable[Column]) -> str:
    words = (words_of_value(value, column.physical_type) for value, column in zip(key, columns, strict=False))
    return f"[{', '.join(words)}]"
