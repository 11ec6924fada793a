"""What decides how exported rows look: kept with an export, whose rows are to be alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from queue_agent.spark.options import ReadOptions

TRANSFORMATION: Final = "transformation"
"""Its key; empty for rows that are exported as they are."""


def row_options(read: ReadOptions, transformation: str) -> dict[str, Any]:
    """By name, as JSON or YSON has them.

    Args:
        read: how the queue is read.
        transformation: what is done to rows, in words that are the same whenever the same is done.
    """
    columns = {} if read.columns is None else {"columns": list(read.columns)}
    return {TRANSFORMATION: transformation, **columns, **asdict(read.types)}


def find_difference(kept: Mapping[str, Any], given: Mapping[str, Any]) -> str | None:
    """Words for the first option that is not what it was when the export began; None if all are."""
    for name in sorted({*kept, *given}):
        if kept.get(name) != given.get(name):
            return f"{name} {_shown(kept.get(name))}, not {_shown(given.get(name))}"
    return None


def _shown(value: Any) -> str:
    return "none" if value in (None, "") else str(value)
