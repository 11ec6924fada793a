"""A queue and a storage in memory, which die where a test wants them to."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pyarrow as pa

from queue_agent.spark.export.archive import Archive
from queue_agent.spark.export.documents import ExportFile, Manifest, Plan
from queue_agent.spark.export.errors import TargetTaken
from queue_agent.spark.export.exporter import Exporter
from queue_agent.spark.export.parquet_writer import FileSettings, ParquetTask, check_columns
from queue_agent.spark.export.ports import ExportOptions
from queue_agent.spark.export.source import SourceInfo
from queue_agent.spark.export.storage import Storage, StoredFile
from queue_agent.spark.export.verification import Verdict, verify
from queue_agent.spark.offsets import PartitionBounds
from queue_agent.spark.options import OptionReader
from queue_agent.spark.pulling import RowRange
from queue_agent.spark.task_planning import plan_tasks
from queue_agent.spark.types import ROW_INDEX, TABLET_INDEX

START = datetime(2026, 1, 31, 7, tzinfo=UTC)
SCHEMA = [{"name": "number", "type": "int64"}, {"name": "$timestamp", "type": "uint64"}]
EXPORT = "alpha/home/queue/v1"


class Crash(Exception):
    """The process is gone."""


class Mortal:
    """Counts effects, and dies at one of them: before it takes place, or after."""

    def __init__(self) -> None:
        self._left: int | None = None
        self._after = False

    def die_at(self, effect: int | None, *, after: bool) -> None:
        """Die at the effect of this number from now on, or live on."""
        self._left, self._after = effect, after

    @contextmanager
    def effect(self) -> Iterator[None]:
        dies = self._left == 0
        if self._left is not None:
            self._left -= 1
        if dies and not self._after:
            raise Crash
        yield
        if dies:
            raise Crash


class MemoryStorage(Storage):
    """Files in a dictionary."""

    def __init__(self, mortal: Mortal, contents: dict[str, bytes] | None = None, root: str = "") -> None:
        self.contents = {} if contents is None else contents
        self._mortal = mortal
        self._root = root

    def below(self, directory: str) -> Storage:
        return MemoryStorage(self._mortal, self.contents, f"{self._root}{directory}/")

    def find(self, path: str) -> bytes | None:
        return self.contents.get(self._root + path)

    def put(self, path: str, content: bytes) -> None:
        with self._mortal.effect():
            self.contents[self._root + path] = content

    def put_new(self, path: str, content: bytes) -> None:
        if self._root + path in self.contents:
            raise TargetTaken(path)
        self.put(path, content)

    def upload(self, local_file: Path, path: str) -> None:
        self.put(path, local_file.read_bytes())

    def working_directory(self, path: str) -> Path:
        return Path(tempfile.gettempdir())

    def open(self, path: str) -> pa.NativeFile:
        content = self.find(path)
        if content is None:
            raise FileNotFoundError(path)
        return pa.BufferReader(content)

    def files(self, directory: str, *, recursive: bool = False) -> list[StoredFile]:
        base = self._root + (f"{directory}/" if directory else "")
        return [
            StoredFile(path.removeprefix(self._root), len(content), START)
            for path, content in sorted(self.contents.items())
            if path.startswith(base) and (recursive or "/" not in path.removeprefix(base))
        ]

    def remove(self, path: str) -> None:
        with self._mortal.effect():
            self.contents.pop(self._root + path, None)


class Right:
    """To publish; it is never lost."""

    def check(self) -> None:
        """Nothing is wrong."""


class MemoryQueue:
    """A queue whose agent trims what the consumer has read."""

    consumer_path = "//home/exporter"
    read = OptionReader({"path": "//home/queue", "proxy": "alpha"}, {}, {}).read_options()

    def __init__(self, mortal: Mortal) -> None:
        self._mortal = mortal
        self.object_id = "1-2-3-4"
        self.schema = SCHEMA
        self.timestamps: dict[int, list[int]] = {0: [], 1: []}
        self.lower: dict[int, int] = {0: 0, 1: 0}
        self.offsets: dict[int, int] = {}
        self.tablet_ids = ["t0", "t1"]
        self.now = START
        self.is_held = False
        """Whether the consumer is registered, so that nothing is trimmed that it has not read."""

    def write(self, partition: int, count: int) -> None:
        seconds = int(self.now.timestamp())
        self.timestamps[partition] += [seconds << 30 | number for number in range(count)]

    def add_partition(self) -> None:
        index = len(self.timestamps)
        self.timestamps[index], self.lower[index] = [], 0
        self.tablet_ids.append(f"t{index}")

    def reshard(self) -> None:
        """Partition 1 becomes part of partition 0, and a new one has its index."""
        self.timestamps[0] += self.timestamps[1][self.lower[1] :]
        self.timestamps[1], self.lower[1] = [], 0
        self.tablet_ids[1] += "-new"

    def trim(self) -> None:
        """What the agent does for the one vital consumer."""
        for index in self.lower:
            self.lower[index] = max(self.lower[index], self.offsets.get(index, 0))

    def info(self) -> SourceInfo:
        return SourceInfo("alpha", "//home/queue", self.object_id, self.schema, self.tablet_ids)

    def bounds(self, tablet_count: int) -> Mapping[int, PartitionBounds | None]:
        return {index: PartitionBounds(self.lower[index], len(own)) for index, own in self.timestamps.items()}

    def ensure_consumer(self) -> None:
        self.is_held = True

    @contextmanager
    def exclusively(self, timeout: timedelta, wait: timedelta) -> Iterator[Right]:
        yield Right()

    def consumed(self) -> Mapping[int, int]:
        return self.offsets

    def rewind(self, starts: Mapping[int, int]) -> None:
        self.offsets = {index: min(row, starts.get(index, self.lower[index])) for index, row in self.offsets.items()}

    def advance(self, next_row_indexes: Mapping[int, int]) -> None:
        with self._mortal.effect():
            for index, row in next_row_indexes.items():
                self.offsets[index] = max(row, self.offsets.get(index, 0))

    def rows(self, partition: int, begin: int, end: int) -> pa.RecordBatch:
        assert self.lower[partition] <= begin, "rows are read that were trimmed"
        stamps = self.timestamps[partition][begin:end]
        return pa.RecordBatch.from_pydict(
            {
                TABLET_INDEX: pa.array([partition] * len(stamps), pa.int64()),
                ROW_INDEX: pa.array(range(begin, begin + len(stamps)), pa.int64()),
                "$timestamp": pa.array(stamps, pa.int64()),
            }
        )


class MemoryWriter:
    """Writes files as tasks do, one after the other."""

    def __init__(self, queue: MemoryQueue, storage: Storage) -> None:
        self._queue = queue
        self._storage = storage

    def check(self, settings: FileSettings) -> None:
        check_columns([TABLET_INDEX, ROW_INDEX, "$timestamp"], settings)

    def write(self, plan: Plan, directory: str, settings: FileSettings) -> Sequence[ExportFile]:
        files: list[ExportFile] = []
        ranges = [RowRange(rows.partition_index, rows.begin, rows.end) for rows in plan.ranges]
        for pieces in plan_tasks(ranges, plan.rows_per_task):
            with ParquetTask(self._storage.below(directory), settings, "test") as task:
                for piece in pieces:
                    task.write(self._queue.rows(piece.partition_index, piece.begin, piece.end))
                files += task.finish()
        return files


class Quiet:
    """Hears everything and says nothing."""

    def planned(self, row_count: int) -> None:
        """Nothing."""

    def published(self, manifest: Manifest) -> None:
        """Nothing."""

    def finished(self) -> None:
        """Nothing."""


class ExportWorld:
    """A queue and an export of it.

    Args:
        target: where to; by default into memory.
    """

    def __init__(self, target: Storage | None = None) -> None:
        self.mortal = Mortal()
        self.queue = MemoryQueue(self.mortal)
        self.storage = MemoryStorage(self.mortal)
        self.target = target or self.storage

    def exporter(self, stop: Event | None = None, **options: Any) -> Exporter:
        return Exporter(
            self.queue,
            MemoryWriter(self.queue, self.target),
            self.target,
            ExportOptions(**options),
            lambda: self.queue.now,
            Quiet(),
            stop or Event(),
        )

    def archive(self, version: str = "v1") -> Archive:
        return Archive(self.target.below(f"alpha/home/queue/{version}"))


def verdict(world: ExportWorld, version: str = "v1") -> Verdict:
    """What verification says of an export, having read all of it."""
    archive = world.archive(version)
    return verify(
        archive, version, consumed=dict(world.queue.offsets), tablet_ids=world.queue.info().tablet_ids, deep=True
    )
