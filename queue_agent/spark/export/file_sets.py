"""Which files there are, told by a number as long for a million files as for one, and compared with a listing."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from queue_agent.spark.export.layout import parse_file_name
from queue_agent.spark.export.storage import Storage, StoredFile

_MODULUS: Final = 1 << 64


@dataclass(frozen=True, slots=True)
class FileSet:
    """Names of files; those with the same files are equal, and others never are by chance."""

    count: int = 0
    digest: int = 0
    """The sum of the files' hashes, so that files can be added and taken away in any order."""

    @classmethod
    def of(cls, paths: Iterable[str]) -> FileSet:
        count = digest = 0
        for path in paths:
            count += 1
            digest += _hash(path)
        return cls(count, digest % _MODULUS)

    def plus(self, other: FileSet) -> FileSet:
        return FileSet(self.count + other.count, (self.digest + other.digest) % _MODULUS)

    def minus(self, other: FileSet) -> FileSet:
        return FileSet(self.count - other.count, (self.digest - other.digest) % _MODULUS)

    def to_json(self) -> dict[str, Any]:
        return {"count": self.count, "digest": f"{self.digest:016x}"}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> FileSet:
        return cls(int(value["count"]), int(value["digest"], 16))


@dataclass(frozen=True, slots=True)
class Known:
    """What manifests up to one of them tell of files."""

    last_number: int
    ranges: Mapping[int, tuple[int, int]]
    """By partition: the first row, and one past the last."""

    def may_have(self, path: str) -> bool:
        """Whether a file can be one of theirs: an exporter at work writes others, with later rows or revisions."""
        name = parse_file_name(path.rpartition("/")[2])
        if name is None or name.partition_index not in self.ranges:
            return False
        begin, end = self.ranges[name.partition_index]
        return begin <= name.begin and name.end <= end and (name.revision is None or name.revision <= self.last_number)


@dataclass(slots=True)
class Listing:
    """What was found in directories of time."""

    stored: list[StoredFile] = field(default_factory=list)
    """In directories that were asked for."""

    earlier: dict[str, FileSet] = field(default_factory=dict)
    """By directory: files of earlier manifests that count."""

    others: list[str] = field(default_factory=list)
    """Files that can be of earlier or later manifests, and do not count."""


def list_files(
    storage: Storage,
    labels: Iterable[str],
    wanted: Collection[str],
    *,
    before: Known,
    now: Known,
    live: Collection[str],
    ignored: Collection[str],
) -> Listing:
    """Look at one directory after the other; memory is that of the largest, and of those that are wanted.

    Args:
        storage: of the export.
        labels: the directories.
        wanted: those of them whose files are handed back.
        before: earlier manifests.
        now: all manifests.
        live: files of later manifests that count.
        ignored: files that do not count, or no longer.
    """
    listing = Listing()
    for label in labels:
        stored = storage.files(label)
        if label in wanted:
            listing.stored += stored
        paths = [file.path for file in stored if file.path not in live]
        earlier = [path for path in paths if before.may_have(path) and path not in ignored]
        listing.earlier[label] = FileSet.of(earlier)
        listing.others += find_others(paths, now, set(earlier))
    return listing


def find_others(paths: Iterable[str], known: Known, counted: Collection[str]) -> list[str]:
    """Files that manifests can have brought, and that do not count."""
    return [path for path in paths if path not in counted and known.may_have(path)]


def find_changed(expected: Mapping[str, FileSet], found: Mapping[str, FileSet]) -> Sequence[str]:
    """Directories that have other files than they should have."""
    return sorted(label for label in found if found[label] != expected.get(label, FileSet()))


def _hash(path: str) -> int:
    return int.from_bytes(hashlib.sha256(path.encode()).digest()[:8])
