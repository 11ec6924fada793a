"""What a task of a static export finds out about the queue and about the directory it exports to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from queue_agent.core.exports.config import ExportConfig
from queue_agent.core.exports.progress import NULL_ID

QUEUE_FACTS: Final = ("id", "type", "dynamic", "sorted", "schema", "chunk_list_id", "security_tags")
"""Attributes of a queue that are asked for."""

CONFIGURATION: Final = "static_export_config"
"""Attribute of the queue, by which its owner wants it to be exported."""

DESTINATION: Final = "queue_static_export_destination"
"""Attribute of the directory, by which its owner lets a queue be exported to it."""

PROGRESS: Final = "queue_static_export_progress"
"""Attribute of the directory."""

EXPORTER_LOCK: Final = "queue_static_exporter"
"""Key of the lock by which exporters keep each other away; there is no attribute of this name."""


@dataclass(frozen=True, slots=True)
class ExportedQueue:
    """A queue as a task has it."""

    object_id: str
    type: str
    dynamic: bool
    sorted: bool
    schema: Any
    """As the cluster has it, with its attributes."""

    chunk_list_id: str
    security_tags: Sequence[str] = ()

    @property
    def has_hunks(self) -> bool:
        return any(column.get("max_inline_hunk_size") is not None for column in self.schema)


@dataclass(frozen=True, slots=True)
class Destination:
    """The directory of an export; values as they were found, None: there is none."""

    object_id: str
    config: Any
    progress: Any


@dataclass(frozen=True, slots=True)
class TabletChunks:
    """The chunks a tablet has, oldest first."""

    chunk_list_id: str
    chunk_ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class ChunkFacts:
    """What a chunk tells of itself."""

    row_count: int
    max_timestamp: int
    data_weight: int


def find_queue_error(path: str, queue: ExportedQueue, config: ExportConfig) -> str | None:
    """Why a queue cannot be exported; None if it can."""
    if queue.type != "table":
        return f'Invalid type of {path}: expected "table", "{queue.type}" found'
    if not queue.dynamic:
        return f"Queue {path} should be a dynamic table"
    if queue.sorted:
        return f"Queue {path} should be an ordered dynamic table"
    if queue.has_hunks and not config.enable_hunks:
        return f"Exporting queue {path} that contains hunk columns is disabled"
    return None


def find_link_error(directory: str, directory_id: str, destination: Destination) -> str | None:
    """Why a locked directory is none to export to; None if it is.

    A path like `//tmp/link&` names the link itself. It can be locked, and be changed afterwards to lead elsewhere.
    """
    if destination.object_id == directory_id:
        return None
    return f"{directory} is a link. Name the directory it leads to"


def find_destination_error(path: str, object_id: str, directory: str, destination: Destination) -> str | None:
    """Why the owner of the directory does not want the queue in it; None if they do."""
    if destination.config is None:
        return f'Attribute "{DESTINATION}" of {directory} is missing: it must name the queue to be exported there'
    configured = NULL_ID
    if isinstance(destination.config, Mapping):
        configured = str(destination.config.get("originating_queue_id", NULL_ID))
    if configured == object_id:
        return None
    return (
        f"Destination config is not configured to accept exports from queue {path}, configured id {configured} does"
        f" not match queue id {object_id}"
    )
