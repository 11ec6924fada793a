"""Everything that can keep a partition from being trimmed further, as one table.

Status, metrics, plots and pages name these by their values, and tell of them by what else a row says; so does the
connector to Spark, which knows nothing else of the agent. What a policy does is in `core/trimming/policies.py`.
"""

from __future__ import annotations

import enum
from typing import Final


class Gives(enum.Enum):
    """What kind of bound a policy sets."""

    WISH = "wish"
    """Rows are to go up to there, and no further."""

    LIMIT = "limit"
    """Rows may go up to there if somebody wishes it."""


_OTHER = "#555555"


class ConstraintKind(enum.Enum):
    """What keeps a partition from being trimmed further.

    A row: the name, what it means, the colour of plots, the bound, and whether that is the end of it: no rows are held,
    and there is nothing that anybody could mend.
    """

    VITAL_CONSUMER = "vital_consumer", "a vital consumer, the subject, has read no further", "#d55e00", Gives.WISH
    NOTHING_READ = "nothing_read", "a vital consumer, the subject, has read nothing yet", "#cc79a7", Gives.WISH
    CONSUMER_AHEAD = (
        "consumer_ahead",
        "the offset of a vital consumer, the subject, is past the end; trimming stops until the offset is reset or the"
        " queue grows past it",
        "#7f3c8d",
        Gives.LIMIT,
    )
    STALE_OFFSET = (
        "stale_offset",
        "the offset of a vital consumer, the subject, is of older rows: the queue, or after reshards the partition, was"
        " created again; trimming stops until it commits or is reset",
        "#5d3a9b",
        Gives.LIMIT,
    )
    UNPROVED_OFFSET = (
        "unproved_offset",
        "the offset of a vital consumer, the subject, may be of older rows: after a reshard until it commits something"
        " new, and after the start of an agent until that has read its ledger",
        _OTHER,
        Gives.WISH,
    )
    EXPORT = (
        "export",
        "a static export, the subject, has exported no further; without a subject: export progress is not known"
        " ([static-exports.md](static-exports.md))",
        "#009e73",
        Gives.WISH,
    )
    RETAINED_ROWS = "retained_rows", "`retained_rows` of the queue", "#56b4e9", Gives.LIMIT
    RETAINED_LIFETIME_DURATION = (
        "retained_lifetime_duration",
        "the next row is younger than `retained_lifetime_duration`, or its age is not known yet",
        "#0072b2",
        Gives.LIMIT,
    )
    GRACE = (
        "grace",
        "a consumer that is not vital, the subject, has not read these rows, and the agent has just begun to trim the"
        " queue, or begins again; the message says until when they stay ([below](#grace))",
        "#b8860b",
        Gives.LIMIT,
    )
    QUARANTINE = (
        "quarantine",
        "a vital consumer, the subject, is in quarantine, and more of its unread rows go later"
        " ([quarantine.md](quarantine.md))",
        "#8c510a",
        Gives.LIMIT,
    )
    END_OF_PARTITION = "end_of_partition", "there are no more rows", _OTHER, Gives.LIMIT, True
    REPLICA_ALIGNMENT = (
        "replica_alignment",
        "past this row, a replica is not proven to hold the same rows as the subject, a synchronous replica"
        " ([below](#replica-alignment))",
        _OTHER,
        Gives.LIMIT,
    )
    NOT_MOUNTED = (
        "not_mounted",
        "the tablet is not mounted; a frozen tablet cannot be trimmed either",
        "#999999",
        Gives.LIMIT,
    )
    NO_VITAL_CONSUMER = "no_vital_consumer", "no vital consumer is registered", "#e69f00", Gives.LIMIT
    HAND_OVER = (
        "hand_over",
        "the agent has just become leader of the queue, or cannot confirm that it is; the message says which"
        " ([several-agents.md](several-agents.md))",
        _OTHER,
        Gives.LIMIT,
    )
    ERROR = "error", "an input of trimming is not known; the message says which", "#b2182b", Gives.LIMIT
    DISABLED = "disabled", "(in plans) the policy does not trim", _OTHER, Gives.LIMIT, True

    _value_: str
    words: str
    """Markdown that goes on from "trimming ends here because"; links are those of a page in `docs/`."""

    color: str
    gives: Gives
    is_final: bool

    def __new__(cls, name: str, words: str, color: str, gives: Gives, is_final: bool = False) -> ConstraintKind:
        """A row of the table."""
        kind = object.__new__(cls)
        kind._value_ = name
        kind.words, kind.color, kind.gives, kind.is_final = words, color, gives, is_final
        return kind


OFFSETS_OF_NO_ROW: Final = frozenset({ConstraintKind.CONSUMER_AHEAD, ConstraintKind.STALE_OFFSET})
"""Trimming stops for an offset that says nothing about the rows that are there."""
