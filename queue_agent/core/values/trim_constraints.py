"""What a trimming iteration decided about a partition, and what it is held back by."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from queue_agent.trim_policies import OFFSETS_OF_NO_ROW, ConstraintKind

__all__ = ["OFFSETS_OF_NO_ROW", "ConstraintKind", "PartitionTrim", "TrimConstraint"]


@dataclass(frozen=True, slots=True)
class TrimConstraint:
    """What a partition is held back by."""

    kind: ConstraintKind
    row_index: int | None = None
    """Rows below this one may go; None: not even that is known."""

    held_row_count: int | None = None
    """Rows that could go if it were not for what holds here; None: not known."""

    subject: str | None = None
    """Who it is, where the kind leaves that open."""

    message: str | None = None
    until: datetime | None = None
    """When it lets go by itself; None: that is not known. The message has it for people."""

    def to_map(self) -> dict[str, Any]:
        """The published form; what is not known, or there is none of, is null."""
        return {
            "kind": self.kind.value,
            "subject": self.subject,
            "row_index": self.row_index,
            "held_row_count": self.held_row_count,
            "message": self.message,
        }


@dataclass(frozen=True, slots=True)
class PartitionTrim:
    """What is to become of one partition."""

    target: int | None
    """The new trimmed row count; None: there is nothing to trim."""

    constraint: TrimConstraint
    """Why not further."""

    def to_map(self) -> dict[str, Any]:
        """The published form."""
        return {"target": self.target, "constraint": self.constraint.to_map()}
