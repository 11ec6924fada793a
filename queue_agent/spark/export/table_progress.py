"""How far an export to static tables is, as an attribute of its directory has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from yt.wrapper import YtClient

from queue_agent.spark.export.documents import Range
from queue_agent.spark.export.errors import SourceChanged, TargetDamaged, TargetTaken
from queue_agent.spark.export.identity import check_tablets
from queue_agent.spark.export.source import SourceInfo
from yt_wire import yson

PROGRESS: Final = "spark_export_progress"
"""Attribute of the directory: how far the export is."""

PROVENANCE: Final = "spark_export"
"""Attribute of a table: which rows it has, and where from."""


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
    tablet_ids: Mapping[int, str] = field(default_factory=dict)
    """By partition: the tablets whose rows these are; none of an earlier version."""

    gaps: Sequence[Range] = ()
    """Rows that had been trimmed before runs that had no others, and so made no table that could tell of them."""

    def to_yson(self) -> dict[str, Any]:
        return {
            "queue_id": self.queue_id,
            "last_export_unix_ts": self.last_export_unix_ts,
            "rows": dict(self.rows),
            "next_row_indexes": {str(index): row for index, row in sorted(self.next_row_indexes.items())},
            "queue": self.queue,
            "consumer": self.consumer,
            "tablets": {str(index): tablet_id for index, tablet_id in sorted(self.tablet_ids.items())},
            "gaps": [rows.to_json() for rows in self.gaps],
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
            {int(index): str(tablet_id) for index, tablet_id in value.get("tablets", {}).items()},
            [Range.from_json(rows) for rows in value.get("gaps", ())],
        )


def find_progress(client: YtClient, directory: str) -> TableProgress | None:
    """How far the export to a directory is; None before the first run, TargetDamaged if that cannot be read."""
    path = f"{directory}/@{PROGRESS}"
    if not client.exists(path):
        return None
    try:
        return TableProgress.from_yson(client.get(path))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TargetDamaged(f"{path} cannot be read: {error!r}") from error


def check_progress(progress: TableProgress, directory: str, info: SourceInfo, consumer: str | None) -> None:
    """Look whether a directory is for a queue and a consumer.

    Raises:
        TargetTaken: it is another one's.
        SourceChanged: the queue is another one than that of its name was.
    """
    if progress.queue not in ("", queue_name_of(info)):
        raise TargetTaken(f"{directory} has the export of {progress.queue}; take another one for {info.path}")
    check_queue(progress.queue_id, info)
    check_tablets(progress.tablet_ids, info, "export it to another directory")
    if consumer is not None and progress.consumer not in ("", consumer):
        raise TargetTaken(f"the export to {directory} belongs to the consumer {progress.consumer}, not to {consumer}")


def check_queue(exported_id: str, info: SourceInfo) -> None:
    """SourceChanged if a queue is not the one of this object id."""
    if exported_id != info.object_id:
        raise SourceChanged(
            f"{info.path} was re-created: its id is {info.object_id}, that of the exported queue is "
            f"{exported_id}; export it to another directory"
        )


def queue_name_of(info: SourceInfo) -> str:
    """Cluster and path."""
    return f"{info.cluster}:{info.path}"
