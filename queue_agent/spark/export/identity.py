"""Whether a directory of exports is for what is to be exported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from queue_agent.spark.errors import OptionError
from queue_agent.spark.export.documents import Identity
from queue_agent.spark.export.errors import SourceChanged, TargetTaken
from queue_agent.spark.export.layout import version_name
from queue_agent.spark.export.ports import ExportOptions
from queue_agent.spark.export.row_options import find_difference, row_options
from queue_agent.spark.export.schemas import find_incompatibility
from queue_agent.spark.export.source import SourceInfo
from queue_agent.spark.options import ReadOptions


def check_consumer(identity: Identity, consumer: str | None) -> None:
    """TargetTaken if a directory belongs to another consumer than the one that is named, if one is."""
    if consumer is not None and identity.consumer not in ("", consumer):
        raise TargetTaken(f"the export belongs to the consumer {identity.consumer}, not to {consumer}")


def check_tablets(exported: Mapping[int, str], info: SourceInfo, remedy: str) -> None:
    """Look whether partitions are those that were exported, and not others that have their indexes since a reshard.

    Args:
        exported: tablets by partition.
        info: of the queue.
        remedy: how to go on.

    Raises:
        SourceChanged: they are others. Where their rows are now, and which were exported, cannot be told.
    """
    changed = find_other_tablets(exported, info.tablet_ids)
    if changed:
        raise SourceChanged(
            f"{info.path} was resharded: partitions {changed} are other tablets than the exported ones, and rows that "
            f"were not exported may be anywhere; {remedy}"
        )


def find_other_tablets(exported: Mapping[int, str], tablet_ids: Sequence[str]) -> list[int]:
    """Partitions that are not the exported tablets, or are gone."""
    return [
        index
        for index, tablet_id in sorted(exported.items())
        if index >= len(tablet_ids) or tablet_ids[index] != tablet_id
    ]


def check_identity(
    identity: Identity, info: SourceInfo, options: ExportOptions, consumer: str | None, read: ReadOptions
) -> None:
    """Look whether rows may be added.

    Args:
        identity: of the directory.
        info: of the queue.
        options: of the exporter.
        consumer: of the exporter; None if it has none.
        read: how rows are read.

    Raises:
        SourceChanged: the queue is another one, or its schema cannot be followed.
        TargetTaken: it belongs to another consumer.
        OptionError: it was begun with other options.
    """
    if identity.queue_id != info.object_id:
        raise SourceChanged(
            f"{info.path} was re-created: its id is {info.object_id}, that of the exported queue is "
            f"{identity.queue_id}; export it as generation {options.generation + 1}"
        )
    version = version_name(options.schema_version, options.generation)
    reason = find_incompatibility(identity.schema, info.schema)
    if reason is not None:
        raise SourceChanged(
            f"the schema of {info.path} has changed: {reason}; export it as schema version "
            f"{options.schema_version + 1}, which goes on where {version} ends"
        )
    check_consumer(identity, consumer)
    given: dict[str, Any] = {
        "partitioning": options.files.partitioning,
        "time column": options.files.time_column,
        **row_options(read, options.transformation),
    }
    kept: dict[str, Any] = {
        "partitioning": identity.partitioning,
        "time column": identity.time_column,
        **identity.rows,
    }
    difference = find_difference(kept, given)
    if difference is not None:
        raise OptionError(
            f"the export was begun with {difference}, and rows of one directory are alike; export it as schema version "
            f"{options.schema_version + 1}, which goes on where {version} ends"
        )
