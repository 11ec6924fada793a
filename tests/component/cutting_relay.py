"""A relay of HTTP between a client and a real cluster, which breaks kept-alive connections on demand."""

from __future__ import annotations

import asyncio
import enum
import socket
import struct
from collections import Counter
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from yt_wire import http

_HEAD_LIMIT: Final = 1 << 21
_RESET: Final = struct.pack("ii", 1, 0)


class Where(enum.Enum):
    """How far a request, or its answer, gets."""

    BEFORE_HEAD = "before the head"
    """Nothing of the request reaches the cluster."""

    IN_BODY = "in the body"
    """The cluster gets the head and half of the body; of a request without a body, half of the head."""

    BEFORE_ANSWER = "before the answer"
    """The cluster carries the request out; its answer does not come through."""

    IN_ANSWER = "in the answer"
    """Half of the answer comes through."""


@dataclass(slots=True)
class _Cut:
    command: str
    where: Where | None
    """None: the request goes through twice."""

    reset: bool
    skip: int


class CuttingRelay:
    """Passes requests on, and counts them, while it is entered.

    Args:
        target: `host:port` of the cluster's proxy.
    """

    def __init__(self, target: str) -> None:
        self._target = target
        self._cuts: list[_Cut] = []
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.came: Counter[str] = Counter()
        """Requests of clients by command, whatever became of them."""

        self.carried_out: Counter[str] = Counter()
        """Those that the cluster has answered."""

        self.cut_on_kept_alive = 0
        """Cuts of connections that had served an earlier request."""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=_HEAD_LIMIT)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    @property
    def address(self) -> str:
        assert self._server is not None
        return "{}:{}".format(*self._server.sockets[0].getsockname())

    def cut(self, command: str, where: Where, *, reset: bool = False, skip: int = 0) -> None:
        """Break the connection of one request for a command, after letting `skip` others of it pass."""
        self._cuts.append(_Cut(command, where, reset, skip))

    def cut_no_more(self) -> None:
        """Forget cuts that no request has come for."""
        self._cuts.clear()

    def double(self, command: str, *, skip: int = 0) -> None:
        """Have one request carried out twice, as something between client and cluster may; one answer comes back."""
        self._cuts.append(_Cut(command, None, reset=False, skip=skip))

    def _take_cut(self, command: str) -> _Cut | None:
        for cut in self._cuts:
            if cut.command == command:
                if not cut.skip:
                    self._cuts.remove(cut)
                    return cut
                cut.skip -= 1
        return None

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        host, port = self._target.rsplit(":", 1)
        cluster_reader, cluster_writer = await asyncio.open_connection(host, int(port), limit=_HEAD_LIMIT)
        try:
            served = 0
            while await self._pass_on(reader, writer, cluster_reader, cluster_writer, served):
                served += 1
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # either side has had enough, or the test is over: nobody waits for this task
        finally:
            writer.transport.abort()
            cluster_writer.transport.abort()
            self._tasks.discard(task)

    async def _pass_on(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        cluster_reader: asyncio.StreamReader,
        cluster_writer: asyncio.StreamWriter,
        served: int,
    ) -> bool:
        """Serve one request; False if the connection is broken by that."""
        head = await reader.readuntil(b"\r\n\r\n")
        command = head.split(b" ", 2)[1].partition(b"?")[0].decode().removeprefix(http.COMMAND_PREFIX)
        self.came[command] += 1
        cut = self._take_cut(command)
        where = None if cut is None else cut.where
        if cut is not None:
            self.cut_on_kept_alive += bool(served)
            if cut.reset:
                opened: socket.socket = writer.get_extra_info("socket")
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        if where is Where.BEFORE_HEAD:
            return False
        if where is Where.IN_BODY:
            length = int(_fields(head).get("content-length", "0"))
            half = await reader.readexactly(length // 2)
            cluster_writer.write(head + half if length else head[: len(head) // 2])
            await cluster_writer.drain()
            return False
        request = head + await _read_body(reader, head)
        for _ in range(2 if cut is not None and where is None else 1):
            cluster_writer.write(request)
            answer = await _read_answer(cluster_reader)
            self.carried_out[command] += 1
        if where is Where.BEFORE_ANSWER:
            return False
        if where is Where.IN_ANSWER:
            writer.write(answer[: len(answer) // 2])
            await writer.drain()
            return False
        writer.write(answer)
        await writer.drain()
        return True


async def _read_answer(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    return head + await _read_body(reader, head)


async def _read_body(reader: asyncio.StreamReader, head: bytes) -> bytes:
    """What comes after a head, as it is framed."""
    fields = _fields(head)
    if "chunked" not in fields.get("transfer-encoding", ""):
        return await reader.readexactly(int(fields.get("content-length", "0")))
    body = b""
    size = -1
    while size:
        line = await reader.readuntil(b"\r\n")
        size = int(line, 16)
        body += line + (await reader.readexactly(size + 2) if size else b"")
    while line != b"\r\n":
        line = await reader.readuntil(b"\r\n")
        body += line
    return body


def _fields(head: bytes) -> dict[str, str]:
    lines = head.decode("latin-1").split("\r\n")[1:]
    return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
