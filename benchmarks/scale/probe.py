"""Orchid requests to a working agent: what its objects say, and how long the answers take."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from random import Random
from types import TracebackType
from typing import Any, Final, Self

from benchmarks.scale.world import CLUSTER, STILL, Load, Size, World, consumer_path, queue_path
from yt_wire import orchid
from yt_wire.error import YtError
from yt_wire.orchid import Verb, join_path
from yt_wire.proto.ypath_pb2 import TReqExecute
from yt_wire.rpc_client import RpcClient

_TIME_LIMIT: Final = 60.0
_SAMPLE: Final = 50
"""Queues whose passes are counted."""

_PAUSE: Final = 0.02
"""Seconds between two requests whose times are taken."""


class Probe:
    """A client of the agent's Orchid, over the bus as a master is; an async context manager."""

    def __init__(self, address: str, size: Size) -> None:
        self._address = address
        self._size = size
        self._client = RpcClient(orchid.SERVICE, connect_timeout=_TIME_LIMIT)
        self._random = Random(0)

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._client.__aexit__(kind, error, traceback)

    async def get(self, *path: str) -> Any:
        """A value of the tree; YtError if there is none."""
        attachments = orchid.encode_request(Verb.GET, join_path(path))
        body = TReqExecute().SerializeToString()
        answer = await self._client.call(self._address, orchid.METHOD, body, attachments, time_limit=_TIME_LIMIT)
        return orchid.decode_value(Verb.GET, orchid.decode_response(answer.attachments))

    async def led_count(self) -> int:
        """How many queues the agent leads."""
        attachments = orchid.encode_request(Verb.GET, "//queue_agent/owned_queues/@count")
        body = TReqExecute().SerializeToString()
        answer = await self._client.call(self._address, orchid.METHOD, body, attachments, time_limit=_TIME_LIMIT)
        return int(orchid.decode_value(Verb.GET, orchid.decode_response(answer.attachments)))

    async def pass_counts(self, load: Load) -> Sequence[tuple[float, int]]:
        """How many passes objects have had so far, of a sample half of which moves if any do, and when that was so."""
        world = World(self._size, load, 0)
        moving = [number for number in range(self._size.queues) if world.any_moves(number)]
        still = sorted({*range(self._size.queues)} - {*moving})
        numbers = [number for some in (moving, still) for number in some[:: max(1, len(some) * 2 // _SAMPLE)]]
        queues = [await self._pass_index("queues", queue_path(number)) for number in numbers]
        consumers = [
            await self._pass_index("consumers", consumer_path(number, index))
            for number in numbers
            for index in range(self._size.consumers)
        ]
        return queues + consumers

    async def wait_for_passes(self, count: int, load: Load = STILL) -> None:
        """Return when every object of a sample has had that many.

        Raises:
            RuntimeError: An object cannot be read. Then its passes are cheap, and say nothing.
        """
        while True:
            try:
                if min(passes for _, passes in await self.pass_counts(load)) >= count:
                    break
            except YtError:
                pass  # not all objects have a controller yet
            await asyncio.sleep(0.5)
        for kind, path in (("queues", queue_path(0)), ("consumers", consumer_path(0, 0))):
            status = await self.get("queue_agent", kind, f"{CLUSTER}:{path}", "status")
            errors = [one["error"] for one in (status, *status.get("queues", {}).values()) if "error" in one]
            if errors:
                raise RuntimeError(f"{path} cannot be read: {errors}")

    async def latencies(self, seconds: float) -> Sequence[float]:
        """Seconds of single requests for statuses and partitions of objects, one after the other."""
        taken = []
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            number = self._random.randrange(self._size.queues)
            part = self._random.choice(("status", "partitions"))
            if self._random.random() < 0.5:
                kind, path = "queues", queue_path(number)
            else:
                kind, path = "consumers", consumer_path(number, self._random.randrange(self._size.consumers))
            before = time.monotonic()
            await self.get("queue_agent", kind, f"{CLUSTER}:{path}", part)
            taken.append(time.monotonic() - before)
            await asyncio.sleep(_PAUSE)
        return taken

    async def _pass_index(self, kind: str, path: str) -> tuple[float, int]:
        passes = int(await self.get("queue_agent", kind, f"{CLUSTER}:{path}", "pass_index"))
        return time.monotonic(), passes
