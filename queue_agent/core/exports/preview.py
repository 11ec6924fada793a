"""What the static exports of a queue would make now."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from queue_agent.core.exports.config import ExportConfig, InvalidSchedule
from queue_agent.core.exports.planning import TablePart
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef


class ExportingMode(enum.Enum):
    """What an agent does about static exports."""

    OFF = "off"
    """It only looks how far others have brought them, for rows that are not exported are not to be trimmed."""

    OBSERVE = "observe"
    """It decides what it would make, says so in its log, and makes nothing."""

    EXPORT = "export"


@dataclass(frozen=True, slots=True)
class OneExportPreview:
    """Of one export."""

    config: ExportConfig
    now: datetime
    """When it was asked for."""

    tables: Sequence[TablePart] = ()
    """Those that would be made by the next task, in this order."""

    waiting_row_count: int = 0
    """Rows that are flushed and belong to none of them."""

    last_export_unix_ts: int = 0
    error: ErrorInfo | None = None
    """Why none would be made."""

    def to_map(self) -> dict[str, Any]:
        return {
            "directory": self.config.directory,
            "last_export_unix_ts": self.last_export_unix_ts,
            "next_export_unix_ts": self.next_tick,
            "error": None if self.error is None else self.error.to_map(),
            "tables": [self._table(part) for part in self.tables],
            "waiting_row_count": self.waiting_row_count,
        }

    @property
    def next_tick(self) -> int | None:
        """Seconds since 1970 at which the next task is due; None: the schedule makes no sense."""
        schedule = self.config.schedule
        return None if isinstance(schedule, InvalidSchedule) else schedule.range_at(int(self.now.timestamp())).end

    def _table(self, part: TablePart) -> dict[str, Any]:
        expiration = self.config.expiration_time(part.tick, self.now)
        return {
            "path": f"{self.config.directory}/{self.config.table_name(part.tick)}",
            "export_unix_ts": part.tick,
            "chunk_count": len(part.chunks),
            "row_count": part.row_count,
            "data_weight": sum(chunk.data_weight for chunk in part.chunks),
            "expiration_time": None if expiration is None else encode_instant(expiration),
        }


@dataclass(frozen=True, slots=True)
class ExportPreview:
    """Of all exports of a queue."""

    ref: CrossClusterRef
    mode: ExportingMode
    """Of the agent: unless it is `EXPORT`, nothing of it is carried out."""

    error: ErrorInfo | None
    """Why there are no exports, though the queue asks for some."""

    exports: Mapping[str, OneExportPreview]

    def to_map(self) -> dict[str, Any]:
        """The published form."""
        return {
            "cluster": self.ref.cluster,
            "path": self.ref.path,
            "static_exports": self.mode.value,
            "error": None if self.error is None else self.error.to_map(),
            "exports": {name: one.to_map() for name, one in sorted(self.exports.items())},
        }
