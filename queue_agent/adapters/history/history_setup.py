"""Making the queue and the producer of the history."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.config.clusters import HistoryTables
from queue_agent.core.status.history import producer_attributes, queue_attributes, queue_schema
from queue_agent.errors import ClusterError
from yt_wire import yson

_POLL_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """Something that is to be done."""

    words: str
    command: str
    path: str
    parameters: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.words} {self.path}"


@dataclass(frozen=True, slots=True)
class HistorySetup:
    """The two tables on their cluster.

    Args:
        cluster: where they are.
        tables: their paths.
        timeout: seconds a table may take to be mounted.
    """

    cluster: YtCluster
    tables: HistoryTables
    timeout: float = 120.0

    async def plan(self) -> list[HistoryStep]:
        """What is to be done; nothing if both tables are there and mounted.

        Raises:
            ClusterError: there is another table in the queue's place.
        """
        found = {path: await self._exists(path) for path in (self._queue, self._producer)}
        if found[self._queue]:
            await self._check_columns()
        steps = list(self._creations(found))
        for path, is_there in found.items():
            if not is_there or not await self._is_mounted(path):
                steps.append(HistoryStep("mount", "mount_table", path, {}))
        return steps

    async def do(self, step: HistoryStep) -> None:
        """Carry out one step, and wait until it is done.

        Raises:
            ClusterError: it could not be done, or did not end in time.
        """
        await self.cluster.execute(step.command, {"path": step.path, **step.parameters})
        if step.command == "mount_table":
            await self._wait(step.path)

    @property
    def _queue(self) -> str:
        return self.tables.queue.path

    @property
    def _producer(self) -> str:
        return self.tables.producer.path

    def _creations(self, found: dict[str, bool]) -> Iterator[HistoryStep]:
        common = {"recursive": True, "ignore_existing": True}
        if not found[self._queue]:
            schema = yson.with_attributes(queue_schema(), {"strict": True, "unique_keys": False})
            attributes = {"dynamic": True, "schema": schema, **queue_attributes()}
            parameters = {"type": "table", "attributes": attributes, **common}
            yield HistoryStep("create history queue", "create", self._queue, parameters)
        if not found[self._producer]:
            parameters = {"type": "queue_producer", "attributes": producer_attributes(), **common}
            yield HistoryStep("create history producer", "create", self._producer, parameters)

    async def _check_columns(self) -> None:
        present = {column.name for column in await self.cluster.get_columns(self._queue)}
        missing = [column["name"] for column in queue_schema() if column["name"] not in present]
        if missing:
            raise ClusterError(f"{self._queue} is no queue for the history: it has no columns {', '.join(missing)}")

    async def _exists(self, path: str) -> bool:
        return bool((await self.cluster.execute("exists", {"path": path}))["value"])

    async def _is_mounted(self, path: str) -> bool:
        return str(await self.cluster.get(f"{path}/@tablet_state")) == "mounted"

    async def _wait(self, path: str) -> None:
        try:
            async with asyncio.timeout(self.timeout):
                while not await self._is_mounted(path):  # noqa: ASYNC110 - it is the cluster that changes
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError as error:
            raise ClusterError(f"Table {path} was not mounted within {self.timeout:g} s") from error
