"""What a trimming iteration decided about a partition, and what it is held back by."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any


class ConstraintKind(enum.Enum):
    """What keeps a partition from being trimmed further."""

    VITAL_CONSUMER = "vital_consumer"
    """A vital consumer has read no further; the subject is its reference."""

    NOTHING_READ = "nothing_read"
    """A vital consumer has read nothing at all; the subject is its reference."""

    CONSUMER_AHEAD = "consumer_ahead"
    """A vital consumer says it has read rows that do not exist; the subject is its reference."""

    EXPORT = "export"
    """A static export has got no further, or how far it got is not known; the subject is its name."""

    RETAINED_ROWS = "retained_rows"
    """The queue keeps so many rows."""

    RETAINED_LIFETIME_DURATION = "retained_lifetime_duration"
    """The queue keeps rows for so long."""

    END_OF_PARTITION = "end_of_partition"
    """There are no more rows."""

    NOT_MOUNTED = "not_mounted"
    """The tablet can not be trimmed in its present state."""

    NO_VITAL_CONSUMER = "no_vital_consumer"
    """Nobody says which rows are needed no more."""

    DISABLED = "disabled"
    """The policy does not trim."""

    REPLICA_ALIGNMENT = "replica_alignment"
    """Beyond this row it is not proven that the replica has the rows of the queue; the subject is a synchronous one."""

    HAND_OVER = "hand_over"
    """The agent has just begun to lead the queue, or is not certain that it does; the message tells."""

    ERROR = "error"
    """Something is not known for certain; the message tells. The subject, if there is one, is a consumer."""


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
