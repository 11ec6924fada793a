"""Files and directories of one cluster's Cypress, by the rules of a Hadoop file system."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from queue_agent.adapters.cluster.yt_errors import to_cluster_error
from queue_agent.adapters.cluster.yt_http import YtHttp
from queue_agent.errors import ClusterError, ClusterUnavailable, ObjectNotFound, OutcomeUnknown
from queue_agent.webhdfs.paths import cypress_path
from yt_wire.error import ErrorCode, YtError

PIECE_SIZE: Final = 16 << 20
"""Bytes that are held in memory of one file that is read or written."""

_ATTRIBUTES: Final = ("type", "uncompressed_data_size", "modification_time", "access_time", "owner", "count")
_DIRECTORY_TYPES: Final = ("map_node", "portal_exit", "portal_entrance", "sys_node")
_TRANSACTION_TIMEOUT_MS: Final = 60_000
_PING_SECONDS: Final = 15.0
_WRITE_ATTEMPTS: Final = 3


class FileError(Exception):
    """A request that the rules of file systems forbid, or whose end is not known."""


class MissingPath(FileError):
    """There is nothing at this path."""


class PathTaken(FileError):
    """There is something at this path already."""


class NotADirectory(FileError):
    """A path leads through something that is no directory."""


class DirectoryNotEmpty(FileError):
    """Something is in the directory that is to be removed."""


class UnknownUpload(FileError):
    """Whether a file was written is not known: the cluster did not answer when the upload was to become visible."""


@dataclass(frozen=True, slots=True)
class FileStatus:
    """What is known of a file or a directory."""

    name: str
    """In its directory; empty for the path that was asked about."""

    is_directory: bool
    length: int
    """Bytes; 0 for directories, and for nodes that are neither."""

    modification_ms: int
    access_ms: int
    owner: str
    children_count: int


class CypressFiles:
    """Files below one node of a cluster.

    Paths are absolute, `/` being the root node. Nodes that are neither files nor directories look like empty files.
    Every method raises ClusterError for what the cluster refuses or fails at.

    Args:
        http: the way to the cluster.
        root: Cypress path of the root node, such as `//home/spark`; `/` is the whole of Cypress.
    """

    def __init__(self, http: YtHttp, root: str) -> None:
        self._http = http
        self._root = root.rstrip("/")

    async def get_status(self, path: str) -> FileStatus:
        """Status of one path; MissingPath if there is nothing."""
        [status] = await self._look(path, with_children=False)
        return status

    async def list_statuses(self, path: str) -> list[FileStatus]:
        """Statuses of what is in a directory, by name; of a file its own. MissingPath if there is nothing."""
        return await self._look(path, with_children=True)

    async def make_directory(self, path: str) -> None:
        """Make a directory and those above it; NotADirectory if something else is in the way."""
        try:
            if path != "/" or self._root:
                parameters = {"path": self._at(path), "type": "map_node", "recursive": True, "ignore_existing": True}
                await self._execute("create", parameters)
        except ClusterError as error:
            # What is there in place of a directory is an obstacle by one code, what is there on the way by another.
            if _has_code(error, ErrorCode.ALREADY_EXISTS, ErrorCode.RESOLVE):
                raise NotADirectory(f"{path} cannot be made a directory: {error.message}") from error
            raise
        if not (await self.get_status(path)).is_directory:
            raise NotADirectory(f"{path} is there and no directory")

    async def move(self, source: str, target: str) -> bool:
        """Give a file or directory another name, at once or not at all.

        Returns:
            False if there is nothing to move, if something is at the target, or if nothing is where it is to be put.
        """
        try:
            await self._execute("move", {"source_path": self._at(source), "destination_path": self._at(target)}, source)
        except ObjectNotFound:
            return False
        except ClusterError as error:
            if _has_code(error, ErrorCode.ALREADY_EXISTS):
                return False
            raise
        return True

    async def remove(self, path: str, *, recursive: bool) -> bool:
        """Remove a file or directory; False if there is none, DirectoryNotEmpty if that forbids it."""
        try:
            if not recursive and (await self.get_status(path)).children_count:
                raise DirectoryNotEmpty(f"{path} is not empty")
            await self._execute("remove", {"path": self._at(path), "recursive": recursive})
        except (ObjectNotFound, MissingPath):
            return False
        return True

    async def write(self, path: str, content: AsyncIterator[bytes], *, overwrite: bool) -> None:
        """Make a file of all the content, which nobody sees before its end; directories above are made.

        Args:
            path: of the file.
            content: if it fails nothing is changed; up to `PIECE_SIZE` bytes of it are kept.
            overwrite: whether a file that is there may be replaced.

        Raises:
            PathTaken: something is there that may not be replaced.
            NotADirectory: the path leads through something else.
            UnknownUpload: the file may have been written. It is not tried again then: the second file would find the
                first in its way, or replace what somebody else has put there since.
        """
        pieces = _pieces(content)
        first = await anext(pieces, b"")
        last = len(first) < PIECE_SIZE
        for attempt in range(1, _WRITE_ATTEMPTS + 1):
            try:
                async with self._transaction() as transaction:
                    await self._create_file(path, transaction, overwrite=overwrite)
                    size = await self._write_pieces(path, transaction, first, pieces)
                    await self._check_size(path, transaction, size)
                return
            except ClusterUnavailable as error:
                # Content that has been taken from the client cannot be had again.
                if attempt == _WRITE_ATTEMPTS or not last:
                    # Whatever became of its pieces, their transaction is not committed.
                    words = f"{path} was not written: {error.message}"
                    raise ClusterUnavailable(words, error.code, error.details) from error

    async def read(self, path: str, offset: int, length: int | None) -> AsyncIterator[bytes]:
        """Content of a file from an offset, in pieces, to the end or up to a number of bytes.

        Raises:
            MissingPath: there is no such file.
        """
        size = (await self.get_status(path)).length
        end = size if length is None else min(size, offset + length)
        while offset < end:
            parameters = {"path": self._at(path), "offset": offset, "length": min(PIECE_SIZE, end - offset)}
            piece = await self._http.call_bytes("read_file", parameters)
            if not piece:
                raise ClusterUnavailable(f"{path} became shorter while it was read")
            yield piece
            offset += len(piece)

    async def _look(self, path: str, *, with_children: bool) -> list[FileStatus]:
        at = self._at(path)
        requests = [{"command": "get", "parameters": {"path": f"{at}/@{name}"}} for name in _ATTRIBUTES]
        if with_children:
            requests.append({"command": "list", "parameters": {"path": at, "attributes": list(_ATTRIBUTES)}})
        results = await self._batch(requests, path)
        own = results[: len(_ATTRIBUTES)]
        if "error" in own[0]:
            error = to_cluster_error(YtError.from_map(own[0]["error"]), f"get {at}")
            if isinstance(error, ObjectNotFound):
                raise MissingPath(f"{path} does not exist")
            raise error
        values = [result["output"]["value"] if "output" in result else None for result in own]
        status = _status("", dict(zip(_ATTRIBUTES, values, strict=True)))
        if not (with_children and status.is_directory):
            return [status]
        listed = results[-1]
        if "error" in listed:
            raise to_cluster_error(YtError.from_map(listed["error"]), f"list {at}")
        children = listed["output"]["value"]
        if getattr(children, "attributes", {}).get("incomplete"):
            raise ClusterError(f"{path} has more members than the cluster tells of at once")
        return sorted((_status(str(child), child.attributes) for child in children), key=lambda each: each.name)

    async def _create_file(self, path: str, transaction: str, *, overwrite: bool) -> None:
        try:
            status = await self.get_status(path)
        except MissingPath:
            pass
        else:
            if status.is_directory or not overwrite:
                raise PathTaken(f"{path} already exists")
        parameters = {"path": self._at(path), "type": "file", "recursive": True, "transaction_id": transaction}
        try:
            await self._execute("create", {**parameters, "force": overwrite})
        except ObjectNotFound as error:
            raise NotADirectory(f"{path} leads through something that is no directory: {error.message}") from error
        except ClusterError as error:
            if _has_code(error, ErrorCode.ALREADY_EXISTS):
                raise PathTaken(f"{path} already exists") from error
            raise

    async def _write_pieces(self, path: str, transaction: str, first: bytes, rest: AsyncIterator[bytes]) -> int:
        """Write all pieces, each once; returns how many bytes they have."""
        clock = asyncio.get_running_loop().time
        parameters = {"path": self._at(path), "transaction_id": transaction}
        await self._http.call_bytes("write_file", parameters, first)
        size = len(first)
        pinged = clock()
        async for piece in rest:
            await self._http.call_bytes("write_file", {**parameters, "path": f"<append=%true>{self._at(path)}"}, piece)
            size += len(piece)
            if clock() - pinged > _PING_SECONDS:
                await self._execute("ping_transaction", {"transaction_id": transaction})
                pinged = clock()
        return size

    async def _check_size(self, path: str, transaction: str, size: int) -> None:
        """An upload becomes visible only if the cluster has as much as was sent.

        Nothing here sends a piece twice; what is between here and the cluster might.
        """
        parameters = {"path": f"{self._at(path)}/@uncompressed_data_size", "transaction_id": transaction}
        [result] = await self._batch([{"command": "get", "parameters": parameters}], path)
        if "error" in result:
            raise to_cluster_error(YtError.from_map(result["error"]), f"get {parameters['path']}")
        found = int(result["output"]["value"])
        if found != size:
            raise ClusterUnavailable(
                f"{path} has {found} bytes in the cluster, though {size} were sent: it is not kept"
            )

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[str]:
        attributes = {"title": "WebHDFS upload"}
        started = await self._execute(
            "start_transaction", {"type": "master", "timeout": _TRANSACTION_TIMEOUT_MS, "attributes": attributes}
        )
        transaction = str(started["transaction_id"])
        try:
            yield transaction
        except BaseException:
            # Also when the client has gone away: what it began is no good to anybody.
            await self._abort(transaction)
            raise
        try:
            await self._execute("commit_transaction", {"transaction_id": transaction})
        except OutcomeUnknown as error:
            raise UnknownUpload(error.message) from error

    async def _abort(self, transaction: str) -> None:
        # It runs out by itself, and the error that led here is the one to tell of.
        with suppress(ClusterError):
            await self._execute("abort_transaction", {"transaction_id": transaction})

    async def _execute(self, command: str, parameters: Mapping[str, Any], subject: str | None = None) -> Any:
        return await self._http.execute(command, parameters, subject=subject)

    async def _batch(self, requests: Sequence[Mapping[str, Any]], subject: str) -> Sequence[Mapping[str, Any]]:
        answer = await self._http.call("execute_batch", {"requests": requests}, subject=f"requests about {subject}")
        results: Sequence[Mapping[str, Any]] = answer["results"]
        return results

    def _at(self, path: str) -> str:
        return cypress_path(self._root, path)


def _status(name: str, attributes: Mapping[str, Any]) -> FileStatus:
    is_directory = attributes.get("type") in _DIRECTORY_TYPES
    is_file = attributes.get("type") == "file"
    return FileStatus(
        name,
        is_directory,
        int(attributes.get("uncompressed_data_size") or 0) if is_file else 0,
        _milliseconds(attributes.get("modification_time")),
        _milliseconds(attributes.get("access_time")),
        str(attributes.get("owner") or "unknown"),
        int(attributes.get("count") or 0) if is_directory else 0,
    )


def _milliseconds(instant: Any) -> int:
    return 0 if instant is None else int(datetime.fromisoformat(str(instant)).timestamp() * 1000)


async def _pieces(content: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same content, in pieces of just the size that is kept; the last may be shorter."""
    buffer = bytearray()
    async for chunk in content:
        buffer += chunk
        while len(buffer) >= PIECE_SIZE:
            yield bytes(buffer[:PIECE_SIZE])
            del buffer[:PIECE_SIZE]
    if buffer:
        yield bytes(buffer)


def _has_code(error: ClusterError, *codes: int) -> bool:
    return error.code in codes or (
        error.details is not None and YtError.from_map(error.details).find(*codes) is not None
    )
