"""The directory of one export: its documents are read and written here alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from queue_agent.spark.export import layout
from queue_agent.spark.export.compacted import Compacted
from queue_agent.spark.export.completeness import Completion, reopened
from queue_agent.spark.export.documents import ExportFile, Identity, Manifest, Plan, decode, encode
from queue_agent.spark.export.errors import ExportError, TargetDamaged
from queue_agent.spark.export.incremental import Verified
from queue_agent.spark.export.parquet_writer import checksum_of
from queue_agent.spark.export.state import ExportState, follow, tallies_of
from queue_agent.spark.export.storage import Storage

T = TypeVar("T")

_THREADS: Final = 4
"""Files read at once: they are read to be hashed, so processors are the limit, or the network of one machine."""


@dataclass(frozen=True, slots=True)
class Archive:
    """Documents of an export; all methods raise TargetDamaged for what cannot be read."""

    storage: Storage
    """Of the directory with the version in its name."""

    def find_identity(self) -> Identity | None:
        """Whose export it is; None if there is none."""
        return _read(self.storage, layout.IDENTITY, Identity.from_json)

    def create(self, identity: Identity) -> None:
        """Begin an export; TargetTaken if there is one."""
        self.storage.put_new(layout.IDENTITY, encode(identity.to_json()))

    def begin_anew(self, identity: Identity) -> None:
        """Begin an export again of which nothing is published: what was written for it goes."""
        for file in self.storage.files("", recursive=True):
            if layout.parse_file_name(file.path.rpartition("/")[2]) is not None:
                self.storage.remove(file.path)
        self.remove_plan(0)
        self.storage.put(layout.IDENTITY, encode(identity.to_json()))

    def load_state(self) -> ExportState:
        """How far the export is: what is kept of it, and the manifests that came after."""
        state = self.find_state() or ExportState()
        while (manifest := self.find_manifest(state.last_number + 1)) is not None:
            state = follow(state, manifest)
        return state

    def find_state(self) -> ExportState | None:
        """What is kept of how far the export is, which may be behind; None before the first batch."""
        return _read(self.storage, layout.PROGRESS, ExportState.from_json)

    def find_verified(self) -> Verified | None:
        """What an incremental verification has kept; None if there was none."""
        return _read(self.storage, layout.VERIFIED, Verified.from_json)

    def save_verified(self, verified: Verified) -> None:
        self.storage.put(layout.VERIFIED, encode(verified.to_json()))

    def find_compacted(self) -> Compacted | None:
        """What a compaction has kept; None if there was none."""
        return _read(self.storage, layout.COMPACTED, Compacted.from_json)

    def save_compacted(self, compacted: Compacted) -> None:
        self.storage.put(layout.COMPACTED, encode(compacted.to_json()))

    def save_state(self, state: ExportState) -> None:
        self.storage.put(layout.PROGRESS, encode(state.to_json()))

    def settle(self, state: ExportState, manifest: Manifest) -> ExportState:
        """Write down what follows from the next manifest; it does no harm to do so again. Returns the state after."""
        changes = {} if manifest.plan.kind == "compact" else tallies_of(manifest)
        for label, tally in changes.items():
            if state.is_closed(label):
                self.save_completion(reopened(self.find_completion(label), label, tally, manifest.number))
        following = follow(state, manifest)
        self.save_state(following)
        self.remove_plan(manifest.number)
        return following

    def find_plan(self, number: int) -> Plan | None:
        return _read(self.storage, f"{layout.PLANS}/{layout.numbered(number)}", Plan.from_json)

    def save_plan(self, plan: Plan) -> None:
        self.storage.put(f"{layout.PLANS}/{layout.numbered(plan.number)}", encode(plan.to_json()))

    def remove_plan(self, number: int) -> None:
        """Forget the plan of a batch whose manifest is there, or that is not to be done."""
        self.storage.remove(f"{layout.PLANS}/{layout.numbered(number)}")

    def find_manifest(self, number: int) -> Manifest | None:
        return _read(self.storage, f"{layout.MANIFESTS}/{layout.numbered(number)}", Manifest.from_json)

    def see(self, files: Sequence[ExportFile]) -> None:
        """Read all files of a batch before it is published: tasks tell what they wrote, not where others find it.

        Raises:
            ExportError: a file is not there, or is not what was written.
        """
        with ThreadPoolExecutor(_THREADS) as executor:
            for fault in executor.map(self._find_fault, files):
                if fault is not None:
                    raise ExportError(f"{fault}; nothing of the batch is published")

    def _find_fault(self, file: ExportFile) -> str | None:
        try:
            with self.storage.open(file.path) as opened:
                byte_count, checksum = opened.size(), checksum_of(opened)
        except OSError:
            return (
                f"{file.path} was written by a task, and the driver does not find it at the target: name a target that "
                "driver and executors share, such as s3://bucket/prefix"
            )
        if (byte_count, checksum) != (file.byte_count, file.checksum):
            return f"{file.path} has another content at the target than was written"
        return None

    def publish(self, manifest: Manifest) -> None:
        """Make the files of a batch part of the export, all at once; TargetTaken if somebody else was faster."""
        self.storage.put_new(f"{layout.MANIFESTS}/{layout.numbered(manifest.number)}", encode(manifest.to_json()))

    def manifest_numbers(self) -> list[int]:
        """Numbers of all manifests that are there, in order."""
        names = (file.path.rpartition("/")[2] for file in self.storage.files(layout.MANIFESTS))
        return sorted(number for name in names if (number := layout.parse_numbered(name)) is not None)

    def manifests(self, after: int = -1) -> Iterator[Manifest]:
        """All that are there with a higher number, in order."""
        for number in self.manifest_numbers():
            if number <= after:
                continue
            manifest = self.find_manifest(number)
            if manifest is not None:
                yield manifest

    def find_completion(self, label: str) -> Completion | None:
        """What is said of a directory of time; None if it is not complete."""
        return _read(self.storage, _completion_path(label), lambda value: Completion.from_json(label, value))

    def save_completion(self, completion: Completion) -> None:
        self.storage.put(_completion_path(completion.label), encode(completion.to_json()))

    def completions(self) -> Iterator[Completion]:
        """Of all directories of time that are complete."""
        for file in self.storage.files(layout.COMPLETIONS, recursive=True):
            label = file.path.removeprefix(f"{layout.COMPLETIONS}/").removesuffix(".json")
            if label.startswith("dt=") and (completion := self.find_completion(label)) is not None:
                yield completion


def _completion_path(label: str) -> str:
    return f"{layout.COMPLETIONS}/{label}.json"


def _read(storage: Storage, path: str, parse: Callable[[Mapping[str, Any]], T]) -> T | None:
    content = storage.find(path)
    if content is None:
        return None
    try:
        return parse(decode(content, path))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TargetDamaged(f"{path} is no document of an export: {error!r}") from error
