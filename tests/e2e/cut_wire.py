"""A wire between an agent and a cluster that can be cut."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

_READ_SIZE = 1 << 16


class CutWire:
    """Passes TCP connections on while it is entered.

    Args:
        target: `host:port`.
    """

    def __init__(self, target: str) -> None:
        self._host, _, port = target.rpartition(":")
        self._port = int(port)
        self._is_cut = False
        self._open_count = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        while self._open_count:
            self._drop_all()
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)  # transports close their sockets a turn later

    @property
    def address(self) -> str:
        assert self._server is not None
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        """From now on nothing arrives, in either direction, and neither side learns of it."""
        self._is_cut = True

    def mend(self) -> None:
        """Let new connections through; what was lost stays lost."""
        self._is_cut = False
        self._drop_all()

    def _drop_all(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open_count += 1
        try:
            await self._pass_on(reader, writer)
        finally:
            self._open_count -= 1
            writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            other_reader, other_writer = await asyncio.open_connection(self._host, self._port)
        except OSError:
            writer.transport.abort()
            return
        self._writers.add(other_writer)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pump(reader, other_writer))
            group.create_task(self._pump(other_reader, writer))
        self._writers -= {writer, other_writer}
        other_writer.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(_READ_SIZE):
                if not self._is_cut:
                    writer.write(data)
                    await writer.drain()
        except OSError:
            pass  # whoever it was has gone, or has been dropped
        finally:
            if not self._is_cut:
                writer.close()
