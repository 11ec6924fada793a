"""How far an export to static tables is, as an attribute of its directory has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from queue_agent.wire import yson

PROGRESS: Final = "spark_export_progress"
"""Attribute of the directory: how far the export is."""


@dataclass(frozen=True, slots=True)
class TableProgress:
    """How far an export to tables is."""

    queue_id: str
    last_export_unix_ts: int
    rows: Mapping[str, Any]
    """See `row_options`; whether there are service columns, besides."""

    next_row_indexes: Mapping[int, int] = field(default_factory=dict)
    queue: str = ""
    """Cluster and path; empty where nothing was kept of it, as of the consumer."""

    consumer: str = ""

    def to_yson(self) -> dict[str, Any]:
        return {
            "queue_id": self.queue_id,
            "last_export_unix_ts": self.last_export_unix_ts,
            "rows": dict(self.rows),
            "next_row_indexes": {str(index): row for index, row in sorted(self.next_row_indexes.items())},
            "queue": self.queue,
            "consumer": self.consumer,
        }

    @classmethod
    def from_yson(cls, value: Mapping[str, Any]) -> TableProgress:
        return cls(
            str(value["queue_id"]),
            int(value["last_export_unix_ts"]),
            {str(name): yson.plain(option) for name, option in value["rows"].items()},
            {int(index): int(row) for index, row in value["next_row_indexes"].items()},
            str(value.get("queue", "")),
            str(value.get("consumer", "")),
        )
