"""What each policy says about one partition, and what follows from all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from queue_agent.core.exports.progress import ExportProgress
from queue_agent.core.trimming.ages import RowAges
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import OFFSETS_OF_NO_ROW, ConstraintKind, PartitionTrim, TrimConstraint


@dataclass(frozen=True, slots=True)
class TrimBounds:
    """What one policy says about one partition, as trimmed row counts."""

    kind: ConstraintKind
    wanted: int | None = None
    """Trim up to here unless something forbids it; None: no wish."""

    allowed: int | None = None
    """Never trim past here, whoever wishes it; None: no limit."""

    subject: str | None = None
    """Who says so, where the kind leaves that open."""

    reason: ErrorInfo | None = None
    """Why the policy cannot tell; it then allows nothing."""

    until: datetime | None = None
    """When the policy lets go by itself; None: that is not known."""

    @property
    def limit(self) -> int | None:
        """The lesser of both."""
        return min((value for value in (self.wanted, self.allowed) if value is not None), default=None)


def decide_trim(lower_row_index: int, upper_row_index: int, bounds: Iterable[TrimBounds]) -> PartitionTrim:
    """Say up to which row a partition is to be trimmed in this pass.

    The least wish wins, then the least limit cuts it, and the end of the partition is a limit too; the order of
    policies is of no account. Without a wish nothing is trimmed.

    Args:
        lower_row_index: trimmed row count at the moment.
        upper_row_index: index after the last row.
        bounds: of every policy in force.
    """
    in_force = [*bounds, TrimBounds(ConstraintKind.END_OF_PARTITION, allowed=upper_row_index)]
    if all(one.wanted is None for one in in_force):
        in_force.append(TrimBounds(ConstraintKind.NO_VITAL_CONSUMER, allowed=0))
    limits = [(limit, one) for one in in_force if (limit := one.limit) is not None]
    limit, binding = min(limits, key=lambda pair: _precedence(pair[0], pair[1], lower_row_index))
    row_index = max(limit, lower_row_index)
    next_row_index = min((other for other, _ in limits if other > row_index), default=row_index)
    return PartitionTrim(
        target=row_index if row_index > lower_row_index else None,
        constraint=TrimConstraint(
            kind=binding.kind,
            row_index=limit,
            held_row_count=next_row_index - row_index,
            subject=binding.subject,
            message=_message(binding),
            until=binding.until,
        ),
    )


def _message(bounds: TrimBounds) -> str | None:
    if bounds.reason is not None:
        return bounds.reason.message
    return None if bounds.until is None else f"until {encode_instant(bounds.until)}"


def _precedence(limit: int, bounds: TrimBounds, lower_row_index: int) -> tuple[int, int, int, str, str]:
    """The least binds.

    Among limits that all let nothing go, what is wrong comes first. Where everything that is there may go, whoever has
    read just that holds nothing back.
    """
    if bounds.reason is not None or bounds.kind in OFFSETS_OF_NO_ROW:
        rank = 0
    elif bounds.kind.is_final:
        rank = 1
    else:
        rank = 2
    return max(limit, lower_row_index), rank, limit, bounds.kind.value, bounds.subject or ""


def read_by(
    consumer: CrossClusterRef, next_row_index: int, upper_row_index: int, doubt: ConstraintKind | None = None
) -> TrimBounds:
    """What a vital consumer has read may go; nothing may, if it claims more rows than there ever were.

    Such an offset may be left over from an older queue of this name, whose rows were others. `doubt`: it is
    (`stale_offset`), or it may be (`unproved_offset`), so that it counts as one that has read nothing.
    """
    if next_row_index > upper_row_index:
        return TrimBounds(ConstraintKind.CONSUMER_AHEAD, allowed=0, subject=str(consumer))
    if doubt is ConstraintKind.STALE_OFFSET:
        return TrimBounds(doubt, allowed=0, subject=str(consumer))
    if doubt is not None:
        return TrimBounds(doubt, wanted=0, subject=str(consumer))
    kind = ConstraintKind.VITAL_CONSUMER if next_row_index > 0 else ConstraintKind.NOTHING_READ
    return TrimBounds(kind, wanted=next_row_index, subject=str(consumer))


def exported_by(
    name: str, progress: ExportProgress, partition_index: int, upper_row_index: int | None, origin: Origin
) -> TrimBounds:
    """What an export has may go; nothing may, if it claims rows of another tablet, or more rows than there ever were.

    Args:
        name: of the export.
        progress: of the export.
        partition_index: of the rows.
        upper_row_index: of the partition; None: not known.
        origin: of errors.
    """
    if partition_index in progress.foreign:
        reason = origin.error(
            "The progress is not known to be of this tablet: the queue was resharded, or another agent exports it."
            " Trimming waits for the next task of the export"
        )
        return unknown(ConstraintKind.EXPORT, reason, name)
    count = progress.row_count(partition_index)
    if upper_row_index is not None and count > upper_row_index:
        reason = origin.error(f"Progress has {count} exported rows where there were {upper_row_index} so far")
        return unknown(ConstraintKind.EXPORT, reason, name)
    return TrimBounds(ConstraintKind.EXPORT, wanted=count, subject=name)


def keep_last_rows(upper_row_index: int, retained_rows: int) -> TrimBounds:
    """That many rows stay."""
    return TrimBounds(ConstraintKind.RETAINED_ROWS, allowed=max(upper_row_index - retained_rows, 0))


def keep_young_rows(ages: RowAges, end_row_index: int) -> TrimBounds | None:
    """Rows stay that are young, or whose age is not known yet.

    Args:
        ages: what is known of the tablet.
        end_row_index: nobody wishes to trim past here.

    Returns:
        None if all rows below the end are old.
    """
    if not ages.is_young_found and ages.old_row_index >= end_row_index:
        return None
    return TrimBounds(ConstraintKind.RETAINED_LIFETIME_DURATION, allowed=ages.old_row_index)


def unknown(kind: ConstraintKind, reason: ErrorInfo, subject: str | None = None) -> TrimBounds:
    """A policy that cannot tell allows nothing."""
    return TrimBounds(kind, allowed=0, subject=subject, reason=reason)
