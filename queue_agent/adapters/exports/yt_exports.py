"""ExportCluster over HTTP: chunks are found by the lists of chunks, and their rows copied through the agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import structlog

from queue_agent.adapters.cluster.light_commands import LightCommand
from queue_agent.adapters.cluster.observations import tablet_descriptions
from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.adapters.cluster.yt_errors import has_code
from queue_agent.adapters.serving.orchid import to_yson
from queue_agent.core.exports.planning import RowPiece, TablePart, cut
from queue_agent.core.exports.progress import StoredProgress
from queue_agent.core.exports.source import (
    CONFIGURATION,
    DESTINATION,
    EXPORTER_LOCK,
    PROGRESS,
    QUEUE_FACTS,
    ChunkFacts,
    Destination,
    ExportedQueue,
    TabletChunks,
)
from queue_agent.errors import ClusterError
from yt_wire import yson
from yt_wire.error import ErrorCode

log = structlog.get_logger(__name__)

_TIMEOUT_SECONDS: Final = 60.0
"""How long a transaction outlives its agent: so long the directory stays locked."""

_PING_SECONDS: Final = 15.0
_ABORT_SECONDS: Final = 5.0
_PIECE_BYTES: Final = 16 << 20
"""Of rows that are in memory at a time, by their weight; in YSON they may be larger."""

_PIECE_ROWS: Final = 100_000
"""For rows that weigh little and have many columns, whose names come with every row."""

_DYNAMIC_STORE: Final = "dynamic_store"


class YtExports:
    """`ports.ExportCluster`.

    Args:
        cluster: where queue and tables are.
    """

    def __init__(self, cluster: YtCluster) -> None:
        self._cluster = cluster

    def looking(self) -> _View:
        """See the port."""
        return _View(self._cluster, None)

    @asynccontextmanager
    async def exporting(self, title: str) -> AsyncIterator[_Transaction]:
        """See the port."""
        async with _transaction(self._cluster, {"attributes": {"title": title}}) as transaction:
            yield transaction


class _View:
    """`ports.ExportView`.

    Args:
        cluster: to look at.
        transaction_id: by which it is seen; None: none.
    """

    def __init__(self, cluster: YtCluster, transaction_id: str | None) -> None:
        self._cluster = cluster
        self._scope: Mapping[str, Any] = {} if transaction_id is None else {"transaction_id": transaction_id}

    async def describe_queue(self, path: str) -> ExportedQueue:
        """See the port."""
        [facts] = await self._get(LightCommand.of("get", f"{path}/@", attributes=list(QUEUE_FACTS), **self._scope))
        return ExportedQueue(
            str(facts["id"]),
            str(facts["type"]),
            bool(facts.get("dynamic", False)),
            bool(facts.get("sorted", False)),
            facts.get("schema", []),
            str(facts.get("chunk_list_id", "")),
            [str(tag) for tag in facts.get("security_tags", [])],
        )

    async def list_tablet_ids(self, path: str) -> Sequence[str]:
        """See the port."""
        [tablets] = await self._get(LightCommand.of("get", f"{path}/@tablets"))
        return [tablet.tablet_id for tablet in tablet_descriptions(tablets)]

    async def is_wanted(self, path: str, name: str, directory: str) -> bool:
        """See the port."""
        [found] = await self._get(LightCommand.of("get", f"{path}/@", attributes=[CONFIGURATION]))
        export = (found.get(CONFIGURATION) or {}).get(name)
        return isinstance(export, Mapping) and str(export.get("export_directory")) == directory

    async def read_destination(self, directory: str) -> Destination:
        """See the port."""
        names = ["id", DESTINATION, PROGRESS]
        [found] = await self._get(LightCommand.of("get", f"{directory}/@", attributes=names, **self._scope))
        return Destination(str(found["id"]), found.get(DESTINATION), found.get(PROGRESS))

    async def list_chunks(self, chunk_list_id: str) -> Sequence[TabletChunks]:
        """See the port."""
        [tree] = await self._get(LightCommand.of("get", f"#{chunk_list_id}/@tree"))
        return [tablet_chunks(part) for part in tree]

    async def get_flushed_row_counts(self, chunk_list_ids: Sequence[str]) -> Sequence[int]:
        """See the port."""
        commands = [LightCommand.of("get", f"#{one}/@statistics/logical_row_count") for one in chunk_list_ids]
        return [int(count) for count in await self._get(*commands)]

    async def describe_chunks(self, chunk_ids: Sequence[str]) -> Mapping[str, ChunkFacts]:
        """See the port."""
        names = ["row_count", "max_timestamp", "data_weight"]
        commands = [LightCommand.of("get", f"#{chunk_id}/@", attributes=names) for chunk_id in chunk_ids]
        return {
            chunk_id: ChunkFacts(
                int(facts["row_count"]), int(facts.get("max_timestamp", 0)), int(facts.get("data_weight", 0))
            )
            for chunk_id, facts in zip(chunk_ids, await self._get(*commands), strict=True)
        }

    async def _get(self, *commands: LightCommand) -> list[Any]:
        values = []
        for outcome in await self._cluster.find_all(commands):
            if isinstance(outcome, ClusterError):
                raise outcome
            values.append(outcome["value"])
        return values


class _Transaction(_View):
    """`ports.ExportTransaction`."""

    def __init__(self, cluster: YtCluster, transaction_id: str) -> None:
        super().__init__(cluster, transaction_id)
        self.id = transaction_id
        self.committed = False

    async def lock_queue(self, path: str) -> str:
        """See the port."""
        answer = await self._execute("lock", path=path, mode="snapshot")
        return str(answer["node_id"])

    async def lock_directory(self, directory: str) -> str:
        """See the port."""
        answer = await self._execute("lock", path=directory, mode="shared", attribute_key=EXPORTER_LOCK)
        return str(answer["node_id"])

    async def make_table(
        self, directory_id: str, name: str, queue: ExportedQueue, part: TablePart, attributes: Mapping[str, Any]
    ) -> None:
        """See the port."""
        async with _transaction(self._cluster, {"transaction_id": self.id}) as nested:
            whole = {"schema": queue.schema, **attributes}
            answer = await nested._execute("create", type="table", path=f"#{directory_id}/{name}", attributes=whole)
            path = f"#{answer['node_id']}"
            for piece in cut(part.chunks, _PIECE_BYTES, _PIECE_ROWS):
                rows = await self._cluster.read_table_bytes(
                    f"#{queue.object_id}", {"ranges": [_range_of(piece)]}, self._scope
                )
                await self._cluster.write_table_bytes(path, rows, {"transaction_id": nested.id})
            await self._check_row_count(name, path, queue, part, nested)
            if queue.security_tags:
                await nested._execute("set", list(queue.security_tags), path=f"{path}/@security_tags")
            await nested.commit()

    async def generate_timestamp(self) -> int:
        """See the port."""
        return await self._cluster.generate_timestamp()

    async def set_progress(self, directory_id: str, progress: StoredProgress) -> None:
        """See the port."""
        await self._execute("set", to_yson(progress.to_map()), path=f"#{directory_id}/@{PROGRESS}")

    async def commit(self) -> None:
        """See the port."""
        await self._execute("commit_transaction")
        self.committed = True

    async def _check_row_count(
        self, name: str, path: str, queue: ExportedQueue, part: TablePart, nested: _Transaction
    ) -> None:
        """A table that lacks rows must not be taken for exported; those that are trimmed may be missing."""
        [count] = await self._get(LightCommand.of("get", f"{path}/@row_count", transaction_id=nested.id))
        if count == part.row_count:
            return
        indexes = sorted({chunk.tablet_index for chunk in part.chunks})
        infos = await self._cluster.get_tablet_infos(f"#{queue.object_id}", indexes)
        trimmed = {index: info.trimmed_row_count for index, info in infos.items()}
        least = sum(
            chunk.end_row_index - min(max(chunk.row_index, trimmed[chunk.tablet_index]), chunk.end_row_index)
            for chunk in part.chunks
        )
        if not least <= count <= part.row_count:
            raise ClusterError(
                f"{count} rows were copied to table {name} where there are {part.row_count} in its chunks"
            )

    async def _execute(self, command: str, value: Any = None, /, **parameters: Any) -> Any:
        return await self._cluster.execute(command, {**parameters, "transaction_id": self.id}, value)


@asynccontextmanager
async def _transaction(cluster: YtCluster, parameters: Mapping[str, Any]) -> AsyncIterator[_Transaction]:
    """Begin a transaction and keep it alive; in the end abort it unless it is committed."""
    milliseconds = round(_TIMEOUT_SECONDS * 1000)
    answer = await cluster.execute("start_transaction", {"timeout": milliseconds, **parameters})
    transaction = _Transaction(cluster, str(answer["transaction_id"]))
    failure: ClusterError | None = None
    try:
        async with asyncio.TaskGroup() as group:
            pings = group.create_task(_keep_alive(cluster, transaction.id))
            try:
                yield transaction
            except ClusterError as error:
                failure = error  # the group would wrap it
            finally:
                pings.cancel()
    finally:
        if not transaction.committed:
            await _abort(cluster, transaction.id)
    if failure is not None:
        raise failure


async def _abort(cluster: YtCluster, transaction_id: str) -> None:
    try:
        async with asyncio.timeout(_ABORT_SECONDS):
            await cluster.execute("abort_transaction", {"transaction_id": transaction_id})
    except (ClusterError, TimeoutError) as error:
        # It is gone, or will be when its time is up.
        log.info("export transaction not aborted", transaction=transaction_id, error=str(error))


async def _keep_alive(cluster: YtCluster, transaction_id: str) -> None:
    """Ping until cancelled, or until there is nothing left to ping: then every step of the task fails by itself."""
    while True:
        await asyncio.sleep(_PING_SECONDS)
        try:
            await cluster.execute("ping_transaction", {"transaction_id": transaction_id})
        except ClusterError as error:
            log.warning("export transaction not pinged", transaction=transaction_id, error=str(error))
            if has_code(error, ErrorCode.NO_SUCH_TRANSACTION):
                return


def tablet_chunks(tree: Any) -> TabletChunks:
    """Chunks in the part of an attribute `tree` that is about one tablet.

    Those that are trimmed away have left gaps, and rows that are not flushed come last.

    Raises:
        ClusterError: there is something else in it, parts of chunks for example.
    """
    list_id = str(yson.attributes_of(tree)["id"])
    chunk_ids = []
    for child in tree:
        kind = yson.attributes_of(child).get("type")
        if yson.is_null(child) or kind == _DYNAMIC_STORE:
            continue
        if kind is not None:
            raise ClusterError(f"Chunk list {list_id} has a {kind} among its chunks, which cannot be exported")
        chunk_ids.append(str(child))
    return TabletChunks(list_id, chunk_ids)


def _range_of(piece: RowPiece) -> Mapping[str, Any]:
    lower, upper = (
        {"tablet_index": piece.tablet_index, "row_index": row} for row in (piece.rows.start, piece.rows.stop)
    )
    return {"lower_limit": lower, "upper_limit": upper}
