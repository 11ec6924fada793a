"""How many readers a consumer needs, for autoscalers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from queue_agent.core.verdicts.values import Verdict

_NOT_SCALED: Final = (Verdict.AHEAD.value, Verdict.STALLED.value)
"""More readers do not help: the consumer commits the same row again, or its offset is past the end."""


@dataclass(frozen=True, slots=True)
class ScalingTarget:
    """Wishes of whoever scales a consumer."""

    rows: int
    """Drainable rows that one reader is to have; at least 1."""

    activation_rows: int = 0
    """A partition with more drainable rows than this keeps at least one reader running."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """Load of a consumer in one queue."""

    value: int
    """Drainable rows, each partition counted up to the target: one partition feeds one reader."""

    active: bool
    partitions_with_rows: int
    excluded: Mapping[str, int]
    """Partitions that do not count, by the reason."""

    verdict: str

    def to_map(self) -> dict[str, Any]:
        return {
            "value": self.value,
            "active": self.active,
            "partitions_with_rows": self.partitions_with_rows,
            "excluded": dict(self.excluded),
            "verdict": self.verdict,
        }


def find_scaling(verdict: str, partitions: Iterable[Mapping[str, Any]], target: ScalingTarget) -> Scaling | None:
    """Load of a consumer in one queue; None: no partition can be read, so nobody knows.

    Args:
        verdict: on the consumer in the queue.
        partitions: as published in `@queue_consumer_partitions`; only those with a verdict can be read.
        target: what one reader is to have.
    """
    readable = [one for one in partitions if "drainable_row_count" in one]
    if not readable:
        return None
    rows = [one["drainable_row_count"] for one in readable]
    scaled = [one["drainable_row_count"] for one in readable if one["activity"] not in _NOT_SCALED]
    return Scaling(
        value=sum(min(one, target.rows) for one in scaled),
        active=any(one > target.activation_rows for one in rows),
        partitions_with_rows=sum(one > 0 for one in rows),
        excluded=Counter(one["activity"] for one in readable if one["activity"] in _NOT_SCALED),
        verdict=verdict,
    )
