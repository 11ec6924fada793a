"""The JSON documents of an export: who it belongs to, plans, manifests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

from queue_agent.spark.export.errors import TargetDamaged
from queue_agent.spark.export.layout import Partitioning
from queue_agent.spark.export.row_options import TRANSFORMATION
from yt_wire import json_text

FORMAT: Final = 2

Kind = Literal["export", "replace", "compact"]
"""New rows; the same rows again, read from the queue; the same rows in fewer files."""


@dataclass(frozen=True, slots=True, order=True)
class Range:
    """Rows of one partition: `begin` and all up to one before `end`."""

    partition_index: int
    begin: int
    end: int

    @property
    def row_count(self) -> int:
        return self.end - self.begin

    def to_json(self) -> dict[str, Any]:
        return {"partition": self.partition_index, "begin": self.begin, "end": self.end}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Range:
        return cls(int(value["partition"]), int(value["begin"]), int(value["end"]))


@dataclass(frozen=True, slots=True)
class ExportFile:
    """A data file; its rows are those of its range, or fewer where rows are filtered or not in order of time."""

    path: str
    """Below the directory of the export."""

    rows: Range
    row_count: int
    byte_count: int
    checksum: str
    """`sha256:` and hexadecimal digits."""

    min_timestamp: int | None
    """Least `$timestamp`, as YTsaurus counts; None without the column."""

    max_timestamp: int | None

    @property
    def label(self) -> str:
        """The directory it is in."""
        return self.path.rpartition("/")[0]

    def to_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            **self.rows.to_json(),
            "rows": self.row_count,
            "bytes": self.byte_count,
            "checksum": self.checksum,
            "min_timestamp": self.min_timestamp,
            "max_timestamp": self.max_timestamp,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ExportFile:
        return cls(
            str(value["path"]),
            Range.from_json(value),
            int(value["rows"]),
            int(value["bytes"]),
            str(value["checksum"]),
            value["min_timestamp"],
            value["max_timestamp"],
        )


@dataclass(frozen=True, slots=True)
class Replaced:
    """A file that is no longer part of the export."""

    path: str
    row_count: int


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose rows the directory holds, and how; written once."""

    export_id: str
    cluster: str
    queue: str
    queue_id: str
    """Object id: a queue that is re-created is another one."""

    consumer: str
    schema: Sequence[Mapping[str, Any]]
    """Columns when the export began; later ones may be added to it."""

    partitioning: Partitioning
    time_column: str
    rows: Mapping[str, Any]
    """See `row_options`."""

    continues: Mapping[int, int]
    """Next rows by partition where the export of an earlier version of the schema ended."""

    @property
    def filtered(self) -> bool:
        """Whether files may hold fewer rows than were read."""
        return bool(self.rows[TRANSFORMATION])

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "export_id": self.export_id,
            "cluster": self.cluster,
            "queue": self.queue,
            "queue_id": self.queue_id,
            "consumer": self.consumer,
            "schema": list(self.schema),
            "partitioning": self.partitioning,
            "time_column": self.time_column,
            "rows": dict(self.rows),
            "continues": {str(index): row for index, row in sorted(self.continues.items())},
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Identity:
        if value["format"] != FORMAT:
            raise TargetDamaged(f"the export has format {value['format']}, this program knows {FORMAT}")
        return cls(
            str(value["export_id"]),
            str(value["cluster"]),
            str(value["queue"]),
            str(value["queue_id"]),
            str(value["consumer"]),
            list(value["schema"]),
            cast("Partitioning", str(value["partitioning"])),
            str(value["time_column"]),
            dict(value["rows"]),
            {int(index): int(row) for index, row in value["continues"].items()},
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """What a batch is going to do; written before any of its data."""

    number: int
    kind: Kind
    ranges: Sequence[Range]
    """Of new rows at most one of a partition."""

    gaps: Sequence[Range] = ()
    """Rows that were gone before they could be exported."""

    new_partitions: Sequence[int] = ()
    """That no manifest before has rows of, though others do: the queue was resharded."""

    replaces: Sequence[Replaced] = ()
    """Files that are no longer to be read once this is published."""

    rows_per_task: int = 1_000_000
    tablet_ids: Mapping[int, str] = field(default_factory=dict)
    """By partition: the tablets whose rows these are; none in a plan of an earlier version, or of a compaction."""

    @property
    def row_count(self) -> int:
        return sum(rows.row_count for rows in self.ranges)

    def to_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "kind": self.kind,
            "ranges": [rows.to_json() for rows in self.ranges],
            "gaps": [rows.to_json() for rows in self.gaps],
            "new_partitions": list(self.new_partitions),
            "replaces": [{"path": file.path, "rows": file.row_count} for file in self.replaces],
            "rows_per_task": self.rows_per_task,
            "tablets": {str(index): tablet_id for index, tablet_id in sorted(self.tablet_ids.items())},
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Plan:
        return cls(
            int(value["number"]),
            cast("Kind", str(value["kind"])),
            [Range.from_json(rows) for rows in value["ranges"]],
            [Range.from_json(rows) for rows in value["gaps"]],
            [int(index) for index in value["new_partitions"]],
            [Replaced(str(file["path"]), int(file["rows"])) for file in value["replaces"]],
            int(value["rows_per_task"]),
            {int(index): str(tablet_id) for index, tablet_id in value.get("tablets", {}).items()},
        )


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a batch has done; once it is there, its files are part of the export."""

    plan: Plan
    export_id: str
    files: Sequence[ExportFile]
    schema_hash: str
    late_rows: int
    """Rows in directories of time that had been closed before."""

    published_at: str

    @property
    def number(self) -> int:
        return self.plan.number

    def to_json(self) -> dict[str, Any]:
        return {
            "query_id": self.export_id,
            "batch_id": self.number,
            **self.plan.to_json(),
            "files": [file.to_json() for file in self.files],
            "schema_hash": self.schema_hash,
            "late_rows": self.late_rows,
            "published_at": self.published_at,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Manifest:
        return cls(
            Plan.from_json(value),
            str(value["query_id"]),
            [ExportFile.from_json(file) for file in value["files"]],
            str(value["schema_hash"]),
            int(value["late_rows"]),
            str(value["published_at"]),
        )


def encode(document: Mapping[str, Any]) -> bytes:
    """A document as it is kept."""
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def decode(content: bytes, path: str) -> dict[str, Any]:
    """The inverse of `encode`; TargetDamaged names the path of what is no such document."""
    try:
        document = json_text.loads(content)
    except ValueError as error:
        raise TargetDamaged(f"{path} cannot be read: {error}") from error
    if not isinstance(document, dict):
        raise TargetDamaged(f"{path} is no document")
    return document


def schema_hash(schema: Sequence[Mapping[str, Any]]) -> str:
    """A short name of a schema that is another for every other schema."""
    return hashlib.sha256(json.dumps(list(schema), sort_keys=True).encode()).hexdigest()[:16]
