"""Where an export is kept: a directory of this machine, or a bucket; what is seen under a name is always whole."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow import fs

from queue_agent.spark.errors import OptionError
from queue_agent.spark.export.errors import TargetTaken

_COPY_SIZE: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that is there."""

    path: str
    byte_count: int
    modified: datetime


class Storage(ABC):
    """Files below one directory; paths are relative to it. It can be pickled, and used in every process.

    A name gets its content at once: readers see the old content or the new, and a writer that dies leaves at most a
    temporary file, whose name begins with a dot.
    """

    @abstractmethod
    def below(self, directory: str) -> Storage:
        """The storage of a directory in this one, which need not be there yet."""

    @abstractmethod
    def find(self, path: str) -> bytes | None:
        """Content of a small file; None if there is none."""

    @abstractmethod
    def put(self, path: str, content: bytes) -> None:
        """Write a small file, in place of another if there is one."""

    @abstractmethod
    def put_new(self, path: str, content: bytes) -> None:
        """Write a small file where none may be; TargetTaken if there is one."""

    @abstractmethod
    def upload(self, local_file: Path, path: str) -> None:
        """Take over a file that was written in `working_directory`; it is gone from there."""

    @abstractmethod
    def working_directory(self, path: str) -> Path:
        """Where to write a file that is to have this path later."""

    @abstractmethod
    def open(self, path: str) -> pa.NativeFile:
        """A file to be read at any place; FileNotFoundError if there is none."""

    @abstractmethod
    def files(self, directory: str, *, recursive: bool = False) -> list[StoredFile]:
        """Files of a directory, by path; none if there is no such directory."""

    @abstractmethod
    def remove(self, path: str) -> None:
        """Remove a file; nothing happens if it is gone already."""

    @contextmanager
    def writing(self, path: str, owner: str) -> Iterator[Path]:
        """A local file to be written, under a name that tells its owner; when the context is left without an error, it
        has to be uploaded, and else it is removed."""
        directory = self.working_directory(path)
        temporary = directory / f".{owner}-{uuid.uuid4().hex}.tmp"
        try:
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)


def storage_of(target: str) -> Storage:
    """The storage of a directory: a path, `file:///...`, or `s3://bucket/prefix` as pyarrow understands it.

    Raises:
        OptionError: it is none of them.
    """
    parts = urlsplit(target)
    if parts.scheme == "":
        return LocalStorage(str(Path(target).absolute()))
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost"):
            raise OptionError(f'the target "{target}" names a machine; a directory of this one is file:///directory')
        return LocalStorage(str(Path(unquote(parts.path)).absolute()))
    if parts.scheme != "s3":
        raise OptionError(f'the target "{target}" is neither a directory nor s3://bucket/prefix')
    if not parts.hostname:
        raise OptionError("the target names no bucket: it is s3://bucket/prefix")
    _filesystem(target)
    return BucketStorage(target, "")


@dataclass(frozen=True, slots=True)
class LocalStorage(Storage):
    """A directory of this machine, or of one that all machines see."""

    root: str

    def below(self, directory: str) -> Storage:
        return LocalStorage(f"{self.root}/{directory}")

    def find(self, path: str) -> bytes | None:
        try:
            return self._at(path).read_bytes()
        except FileNotFoundError:
            return None

    def put(self, path: str, content: bytes) -> None:
        with self.writing(path, "put") as temporary:
            _write_durably(temporary, content)
            self.upload(temporary, path)

    def put_new(self, path: str, content: bytes) -> None:
        with self.writing(path, "new") as temporary:
            _write_durably(temporary, content)
            try:
                os.link(temporary, self._at(path))  # unlike a rename, it fails if the name is taken
            except FileExistsError as error:
                raise TargetTaken(f"{self.root}/{path} has been written by somebody else") from error
            _sync_directory(self._at(path).parent)

    def upload(self, local_file: Path, path: str) -> None:
        with local_file.open("rb") as opened:
            os.fsync(opened.fileno())
        target = self._at(path)
        local_file.replace(target)
        _sync_directory(target.parent)

    def working_directory(self, path: str) -> Path:
        directory = self._at(path).parent
        directory.mkdir(parents=True, exist_ok=True)
        return directory

    def open(self, path: str) -> pa.NativeFile:
        return pa.OSFile(str(self._at(path)), "rb")

    def files(self, directory: str, *, recursive: bool = False) -> list[StoredFile]:
        return _listed(fs.LocalFileSystem(), self.root, directory, recursive=recursive)

    def remove(self, path: str) -> None:
        self._at(path).unlink(missing_ok=True)

    def _at(self, path: str) -> Path:
        return Path(self.root, path)


@dataclass(frozen=True, slots=True)
class BucketStorage(Storage):
    """A prefix of a bucket; objects are whole by themselves, so nothing is renamed.

    Files are written on the local disk first: an upload that breaks off leaves no object.
    """

    target: str
    """`s3://bucket/prefix?endpoint_override=...&region=...`; keys are taken from the environment, as AWS's tools do."""

    directory: str

    def below(self, directory: str) -> Storage:
        return BucketStorage(self.target, f"{self.directory}{directory}/")

    def find(self, path: str) -> bytes | None:
        filesystem, root = self._connect()
        try:
            with filesystem.open_input_stream(f"{root}/{path}") as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            return None

    def put(self, path: str, content: bytes) -> None:
        filesystem, root = self._connect()
        with filesystem.open_output_stream(f"{root}/{path}") as stream:
            stream.write(content)

    def put_new(self, path: str, content: bytes) -> None:
        # The exporter holds a lock in the cluster; this finds those who export by another cluster or consumer.
        if self.find(path) is not None:
            raise TargetTaken(f"{self.directory}{path} has been written by somebody else")
        self.put(path, content)

    def upload(self, local_file: Path, path: str) -> None:
        filesystem, root = self._connect()
        with local_file.open("rb") as source, filesystem.open_output_stream(f"{root}/{path}") as stream:
            shutil.copyfileobj(source, stream, _COPY_SIZE)

    def working_directory(self, path: str) -> Path:
        return Path(tempfile.gettempdir())

    def open(self, path: str) -> pa.NativeFile:
        filesystem, root = self._connect()
        return filesystem.open_input_file(f"{root}/{path}")

    def files(self, directory: str, *, recursive: bool = False) -> list[StoredFile]:
        return _listed(*self._connect(), directory, recursive=recursive)

    def remove(self, path: str) -> None:
        filesystem, root = self._connect()
        try:
            filesystem.delete_file(f"{root}/{path}")
        except FileNotFoundError:
            return

    def _connect(self) -> tuple[fs.FileSystem, str]:
        filesystem, prefix = _filesystem(self.target)
        return filesystem, f"{prefix.rstrip('/')}/{self.directory}".rstrip("/")


@lru_cache(maxsize=8)
def _filesystem(target: str) -> tuple[fs.FileSystem, str]:
    """The client of this process, with its connections, and the prefix; making one takes a while."""
    try:
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(target)
    except ValueError as error:
        raise OptionError(f"the target cannot be understood: {error}") from None  # it may have keys in it
    return found


def _listed(filesystem: fs.FileSystem, root: str, directory: str, *, recursive: bool) -> list[StoredFile]:
    base = f"{root}/{directory}".rstrip("/")
    selector = fs.FileSelector(base, allow_not_found=True, recursive=recursive)
    return sorted(
        (
            StoredFile(
                info.path.removeprefix(root).lstrip("/"), info.size, info.mtime or datetime.fromtimestamp(0, UTC)
            )
            for info in filesystem.get_file_info(selector)
            if info.type == fs.FileType.File
        ),
        key=lambda file: file.path,
    )


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("wb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
