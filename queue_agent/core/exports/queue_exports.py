"""How far the static exports of a queue are, as values of its snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from queue_agent.core.exports.config import ExportConfig
from queue_agent.core.exports.progress import NOTHING_EXPORTED, ExportProgress, StoredProgress
from queue_agent.core.values.error_info import ErrorInfo


@dataclass(frozen=True, slots=True)
class ExportState:
    """One export, as its exporter knows it."""

    config: ExportConfig
    progress: StoredProgress = NOTHING_EXPORTED
    """As it was read or written last; until then as if nothing had ever been exported."""

    queue_id: str | None = None
    """Object id of the queue the progress is of: another queue of this name has exported nothing. None: not known."""

    directory_id: str | None = None
    """Object id of the directory the progress was read from or written to. None: not known."""

    last_successful_tick: int = 0
    """None is to be made up to this one."""

    task_index: int = 0
    """How many tasks there were."""

    task_instant: str | None = None
    """When the last of them began, in ISO 8601."""

    retry_index: int = 0
    """How many times in a row a task has failed that is to be repeated."""

    retry_backoff: int = 0
    """Milliseconds until the repeat."""

    error: ErrorInfo | None = None
    """Of the last task; None: it did what it had to."""

    recounted: Sequence[int] = ()
    """Partitions whose progress no tablet continued in the last task: exported rows may have been exported again."""

    def to_map(self) -> dict[str, Any]:
        """The exporter's own view, in the agent's tree."""
        return {
            "progress": self.progress.to_map(),
            "last_successful_export_unix_ts": self.last_successful_tick,
            "export_task_invocation_index": self.task_index,
            "export_task_invocation_instant": self.task_instant,
            "retry_index": self.retry_index,
            "retry_backoff_duration": self.retry_backoff,
        }


ExportStates = Mapping[str, ExportState]
"""By name of the export."""

NO_STATES: Final[ExportStates] = {}


@dataclass(frozen=True, slots=True)
class QueueExports:
    """All exports of a queue."""

    error: ErrorInfo | None = None
    """Why it is not known how far they are."""

    exporters: ExportStates = field(default_factory=dict)
    alerts: Mapping[str, ErrorInfo] = field(default_factory=dict)
    """By category."""

    def reached(self, tablet_ids: Mapping[int, str]) -> Mapping[str, ExportProgress]:
        """What trimming may count on, by name.

        Args:
            tablet_ids: of the queue, by partition index.
        """
        return {name: state.progress.reached(tablet_ids) for name, state in self.exporters.items()}

    def to_map(self) -> dict[str, Any]:
        """The key `exports` of the queue's status."""
        if self.error is not None:
            return {"error": self.error.to_map()}
        return {"progress": {name: state.progress.to_map() for name, state in sorted(self.exporters.items())}}


NO_EXPORTS: Final = QueueExports()
