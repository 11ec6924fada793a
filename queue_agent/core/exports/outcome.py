"""What came of a task of a static export."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from queue_agent.core.exports.planning import TablePart
from queue_agent.core.exports.progress import StoredProgress
from queue_agent.core.values.error_info import ErrorInfo


@dataclass(slots=True)
class ExportOutcome:
    """How a task went."""

    queue_id: str | None = None
    """Object id of what was exported; None: it was not found."""

    directory_id: str | None = None
    """Object id of the directory; None: the task did not get so far."""

    before: StoredProgress | None = None
    """As the task found it; None: it did not get so far."""

    after: StoredProgress | None = None
    """As the task left it; None: it did not commit anything."""

    skipped: int = 0
    """Tables that were due and could not be made."""

    mismatch_count: int = 0
    recounted: Sequence[int] = ()
    """Partitions whose progress no tablet continues: exported rows may be exported again."""

    error: ErrorInfo | None = None
    made: list[TablePart] = field(default_factory=list)
