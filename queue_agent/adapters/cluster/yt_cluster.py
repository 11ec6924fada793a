"""Cluster over HTTP API v4: what the controllers ask, as commands."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any, Final

from queue_agent.adapters.cluster.batcher import Batcher
from queue_agent.adapters.cluster.cell_hosts import CellHosts
from queue_agent.adapters.cluster.cluster_access import Credential
from queue_agent.adapters.cluster.consumer_offsets import OffsetsQuestion, OffsetsReader, OffsetsTable
from queue_agent.adapters.cluster.light_commands import LightCommand, LightCommands, output_of
from queue_agent.adapters.cluster.observations import (
    TABLE_ATTRIBUTES,
    column_descriptions,
    created_at,
    data_ttl,
    object_revisions,
    poll,
    poll_commands,
    tablet_descriptions,
    tablet_infos,
    tablet_infos_command,
)
from queue_agent.adapters.cluster.queries import quote_path, split_list
from queue_agent.adapters.cluster.yt_http import YtHttp
from queue_agent.adapters.cluster.yt_tables import YtTables
from queue_agent.config.clusters import ClusterConfig
from queue_agent.core.trimming.ages import RowFound
from queue_agent.core.values.observed import (
    ColumnDescription,
    ConsumerOffset,
    ObjectRevisions,
    Poll,
    TableDescription,
    TabletInfo,
    Watch,
)
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError, ObjectNotFound
from queue_agent.isolation import contain
from queue_agent.ports.cluster import Permit, RequestObserver
from yt_wire import yson
from yt_wire.error import ErrorCode

_LARGEST_BATCH: Final = 100


class YtCluster(YtTables):
    """`ports.Cluster`, and the commands on rows that state tables need; an async context manager.

    Args:
        name: of the cluster, as references name it.
        config: how to reach it.
        observer: hears of every HTTP request.
        credential: who asks; the agent by default.
    """

    def __init__(
        self,
        name: str,
        config: ClusterConfig,
        observer: RequestObserver | None = None,
        credential: Credential | None = None,
    ) -> None:
        super().__init__(YtHttp(name, config, observer, credential=credential))
        self._name = name
        self._light = LightCommands(name, self._http)
        self._offsets_reader = OffsetsReader(self)
        self._next_row_indexes: Batcher[OffsetsTable, OffsetsQuestion, Mapping[int, int]]
        self._next_row_indexes = Batcher(self._offsets_reader.read_next_row_indexes)
        self._timestamps: Batcher[None, None, int] = Batcher(self._generate_timestamp)
        self._revisions: tuple[bytes, ObjectRevisions] | None = None
        self._cell_hosts = CellHosts(self._light)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> YtCluster:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._http)
            await stack.enter_async_context(self._light)
            await stack.enter_async_context(self._next_row_indexes)
            await stack.enter_async_context(self._timestamps)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    @property
    def name(self) -> str:
        return self._name

    async def get(self, path: str) -> Any:
        """The value of a node; ObjectNotFound if there is none."""
        return (await self._light.run(LightCommand.get(path)))["value"]

    async def run_light(self, commands: Sequence[LightCommand]) -> list[Any]:
        """Outputs of a few reading commands that travel in one request; the first failure is raised."""
        return [output_of(outcome) for outcome in await self._light.run_all(commands)]

    async def find_all(self, commands: Sequence[LightCommand]) -> Sequence[Any]:
        """The same of any number; each output, or the ClusterError in its place."""
        return [
            outcome
            for start in range(0, len(commands), _LARGEST_BATCH)
            for outcome in await self._light.run_all(commands[start : start + _LARGEST_BATCH])
        ]

    async def find_user(self) -> str | None:
        """Name of the user whom requests are taken to come from; None if the cluster does not tell."""
        return await self._http.find_user()

    async def execute(self, command: str, parameters: Mapping[str, Any], value: Any = None) -> Any:
        """Run a light command that changes something.

        Args:
            command: such as `create` or `mount_table`.
            parameters: of the command.
            value: its input, for commands such as `set`.

        Returns:
            What the command answers.
        """
        return await self._http.execute(command, parameters, value)

    async def may(self, user: str, permission: str, path: str, **details: Any) -> bool:
        """Whether a user has a permission on an object; ObjectNotFound if there is none."""
        answer = await self._light.run(
            LightCommand.of("check_permission", path, user=user, permission=permission, **details)
        )
        return str(answer["action"]) == "allow"

    async def get_object_revisions(self) -> ObjectRevisions:
        """The master's list of queues and consumers; paths that are not UTF-8 cannot be served and are left out.

        As long as nothing changes, it is the same object that is returned.
        """
        known = self._revisions
        digest, answer = await self._http.call_if_changed(
            "get", {"path": "//sys/@queue_agent_object_revisions"}, None if known is None else known[0]
        )
        if known is None or answer is not None:
            known = digest, object_revisions(answer["value"])
            self._revisions = known
        return known[1]

    async def get_attributes(self, path: str, names: Collection[str]) -> Mapping[str, Any]:
        """Those of the attributes that the object has."""
        answer = await self._light.run(LightCommand.of("get", f"{path}/@", attributes=list(names)))
        result: Mapping[str, Any] = answer["value"]
        return result

    async def poll(self, watch: Watch) -> Poll:
        """Ask cheaply whether something has happened to a table, or in its tablets; see the port."""
        outcomes = await self._light.run_all(poll_commands(watch.path, watch.tablet_count, watch.object_id))
        return poll(self._name, watch, outcomes)

    async def poll_all(self, watches: Sequence[Watch]) -> list[Poll | ClusterError]:
        """Poll many tables by one request of their own; see the port."""
        answers = await self._light.run_changed(
            [poll_commands(watch.path, watch.tablet_count, watch.object_id) for watch in watches],
            [None if watch.last is None else watch.last.digest for watch in watches],
        )
        return [
            self._find_poll(watch, digest, outcomes) for watch, (digest, outcomes) in zip(watches, answers, strict=True)
        ]

    def _find_poll(self, watch: Watch, digest: bytes | None, outcomes: Sequence[Any] | None) -> Poll | ClusterError:
        if outcomes is None and watch.last is not None:
            return watch.last
        assert outcomes is not None, "only what is known can be unchanged"
        try:
            return poll(self._name, watch, outcomes, digest)
        except ClusterError as error:
            return error
        except Exception as error:  # noqa: BLE001 - contained: the other tables of the request have their answers
            return contain("polls", f"{watch.path} on cluster {self._name}", error)

    async def get_table(self, path: str) -> TableDescription:
        """Identity, schema, creation, lifetime of rows, and tablets with the address of each tablet's cell.

        All by one request: a table may be removed and created again between two.
        """
        attributes = await self.get_attributes(path, TABLE_ATTRIBUTES)
        missing = next((name for name in ("schema", "tablets") if name not in attributes), None)
        if missing is not None:
            raise ObjectNotFound(f'{path} on cluster {self._name} has no attribute "{missing}"', ErrorCode.RESOLVE)
        schema, tablets = attributes["schema"], tablet_descriptions(attributes["tablets"])
        hosts = await self._cell_hosts.get({tablet.cell_id for tablet in tablets if tablet.cell_id and not tablet.host})
        return TableDescription(
            columns=column_descriptions(schema),
            tablets=[
                tablet if tablet.host or not tablet.cell_id else replace(tablet, host=hosts[tablet.cell_id])
                for tablet in tablets
            ],
            object_id=attributes.get("id"),
            unique_keys=bool(yson.attributes_of(schema).get("unique_keys", False)),
            created_at=created_at(attributes),
            data_ttl=data_ttl(attributes),
        )

    async def get_columns(self, path: str) -> Sequence[ColumnDescription]:
        """The schema alone."""
        return column_descriptions(await self.get(f"{path}/@schema"))

    async def get_tablet_infos(
        self, path: str, partition_indexes: Sequence[int], object_id: str | None = None
    ) -> Mapping[int, TabletInfo]:
        """By partition index; an empty request asks nothing; see the port."""
        if not partition_indexes:
            return {}
        answer = await self._light.run(tablet_infos_command(path, partition_indexes, object_id))
        return tablet_infos(self._name, path, partition_indexes, answer)

    async def get_write_times(self, path: str, tablet_count: int) -> tuple[int, Sequence[int]]:
        """How many tablets a table has, and when the first so many were written last; by one request."""
        tablets = range(tablet_count)
        count, answer = await self.run_light(
            [LightCommand.get(f"{path}/@tablet_count"), tablet_infos_command(path, tablets)]
        )
        infos = tablet_infos(self._name, path, tablets, answer)
        return int(count["value"]), [info.last_write_timestamp for info in infos.values()]

    async def select_row_values(
        self, path: str, columns: Sequence[str], rows: Collection[tuple[int, int]]
    ) -> Mapping[str, Mapping[tuple[int, int], int]]:
        """Integer columns of the rows (partition index, row index); see the port."""
        names = ", ".join(f"[{column}]" for column in columns)
        pairs = [f"({partition_index}u, {row_index}u)" for partition_index, row_index in rows]
        answers = await self.select_all(
            path,
            [
                f"[$tablet_index], [$row_index], {names} from {quote_path(path)}"
                f" where ([$tablet_index], [$row_index]) in ({', '.join(piece)})"
                for piece in split_list(pairs)
            ],
        )
        found: dict[str, dict[tuple[int, int], int]] = {column: {} for column in columns}
        for row in (row for answer in answers for row in answer):
            key = int(row["$tablet_index"]), int(row["$row_index"])
            for column in columns:
                if not yson.is_null(row[column]):
                    found[column][key] = int(row[column])
        return found

    async def read_consumer_offsets(
        self,
        consumer_path: str,
        partition_counts: Mapping[CrossClusterRef, int],
        *,
        with_meta: bool,
        name: str = "",
    ) -> Mapping[CrossClusterRef, Mapping[int, ConsumerOffset]]:
        """Offsets of some queues, by one request."""
        return await self._offsets_reader.read(OffsetsTable(consumer_path, with_meta, name), partition_counts)

    async def read_next_row_indexes(
        self, consumer_path: str, queue: CrossClusterRef, partition_count: int, *, name: str = ""
    ) -> Mapping[int, int]:
        """Offsets alone, of one queue, as they are now; those of other queues asked for at once come along."""
        if partition_count == 0:
            return {}
        table = OffsetsTable(consumer_path, with_meta=False, name=name)
        return await self._next_row_indexes.ask(table, OffsetsQuestion(queue, partition_count))

    async def read_consumer_names(self, path: str) -> Collection[str]:
        """The names in use in a multi-consumer; those that are not UTF-8 cannot be served and are left out."""
        query = f"[queue_consumer_name] from {quote_path(path)} group by [queue_consumer_name]"
        [rows] = await self.select_all(path, [query])
        return {row["queue_consumer_name"] for row in rows if isinstance(row["queue_consumer_name"], str)}

    async def generate_timestamp(self) -> int:
        """A timestamp of the cluster's clock; those who ask at the same moment get the same."""
        return await self._timestamps.ask(None, None)

    async def find_young_row(self, object_id: str, partition_index: int, rows: range, limit: int) -> RowFound | None:
        """The first of some rows that is young or of unknown age, or the last of them; see the port."""
        last = rows[-1]
        path = f"#{object_id}"
        query = (
            f"[$row_index], [$timestamp] from {quote_path(path)} where [$tablet_index] = {partition_index}"
            f" and [$row_index] between {rows[0]} and {last}"
            f" and (is_null([$timestamp]) or [$timestamp] >= {limit}u or [$row_index] = {last})"
            " order by [$row_index] limit 1"
        )
        [answer] = await self.select_all(path, [query])
        for row in answer:
            timestamp = row["$timestamp"]
            return RowFound(int(row["$row_index"]), None if yson.is_null(timestamp) else int(timestamp))
        return None

    async def find_other_row(self, object_id: str, partition_index: int, rows: range, timestamp: int) -> int | None:
        """The first of some rows that was written at another time; see the port."""
        path = f"#{object_id}"
        query = (
            f"[$row_index] from {quote_path(path)} where [$tablet_index] = {partition_index}"
            f" and [$row_index] between {min(rows)} and {max(rows)} and [$timestamp] != {timestamp}u"
            f" order by [$row_index] {'asc' if rows.step > 0 else 'desc'} limit 1"
        )
        [answer] = await self.select_all(path, [query])
        return next((int(row["$row_index"]) for row in answer), None)

    async def trim_rows(self, object_id: str, partition_index: int, trimmed_row_count: int, permit: Permit) -> None:
        """Drop the rows below `trimmed_row_count` of the table with this id; see the port."""
        await self._http.call(
            "trim_rows",
            {"path": f"#{object_id}", "tablet_index": partition_index, "trimmed_row_count": trimmed_row_count},
            permit=permit,
        )

    async def _generate_timestamp(self, key: None, questions: Sequence[None]) -> list[int]:
        answer = await self._http.call("generate_timestamp", {})
        return [int(answer["timestamp"])] * len(questions)
