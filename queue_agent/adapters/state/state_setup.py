"""Making the state tables, and migrating them: looks at a cluster, and carries out steps of `core.state.migration`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, assert_never

import structlog

from queue_agent.adapters.cluster.queries import quote_path
from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.core.state.migration import (
    REBUILT_SUFFIX,
    REPLACED_SUFFIX,
    AddColumns,
    CreateDirectory,
    CreateIndex,
    CreateTable,
    FinishRebuild,
    FoundState,
    FoundTable,
    MountTable,
    MoveToBundle,
    RebuildTable,
    SetVersion,
    Step,
)
from queue_agent.core.state.schema import (
    BUNDLES,
    INDEX_TABLE,
    INDEXED_TABLE,
    LATEST_VERSION,
    OWN_TABLES,
    Columns,
    tables_at,
)
from queue_agent.errors import ClusterError, ObjectNotFound
from yt_wire import yson
from yt_wire.guid import NULL_GUID

log = structlog.get_logger(__name__)

_POLL_SECONDS: Final = 0.1
_COPIED_AT_ONCE: Final = 1000
_KEPT_ATTRIBUTES: Final = ("account", "acl", "inherit_acl", "optimize_for", "tablet_cell_bundle")
_TABLE_ATTRIBUTES: Final = ("type", "schema", "tablet_cell_bundle", "tablet_state", "upstream_replica_id")


@dataclass(frozen=True, slots=True)
class StateSetup:
    """The directory of the state tables on one cluster.

    Args:
        cluster: where they are.
        root: the directory.
        timeout: seconds a table may take to be mounted, unmounted or frozen.
    """

    cluster: YtCluster
    root: str
    timeout: float = 120.0

    async def look(self) -> FoundState:
        """What there is now."""
        if not await self._exists(self.root):
            return FoundState(
                root_exists=False, bundles=await self._bundles(), knows_indexes=await self._knows_indexes()
            )
        version = await self._find(f"{self.root}/@version")
        names = {*tables_at(LATEST_VERSION), *OWN_TABLES}
        answer = await self.cluster.execute("list", {"path": self.root})
        present = {str(name) for name in answer["value"]}
        tables = {
            name: await self._look_at(name)
            for name in sorted(present)
            if name.removesuffix(REBUILT_SUFFIX).removesuffix(REPLACED_SUFFIX) in names
        }
        return FoundState(
            version=None if version is None else int(version),
            tables=tables,
            bundles=await self._bundles(),
            knows_indexes=await self._knows_indexes(),
            has_index=await self._exists(f"{self.root}/{INDEX_TABLE}/@index_to"),
        )

    async def do(self, step: Step) -> None:
        """Carry out one step, and wait until it is done; it may have been done in part before.

        Raises:
            ClusterError: it could not be done, or did not end in time.
        """
        match step:
            case CreateDirectory():
                await self._run("create", self.root, type="map_node", recursive=True, ignore_existing=True)
            case CreateTable():
                await self._create(step)
            case AddColumns():
                await self._add_columns(step)
            case RebuildTable():
                await self._rebuild(step)
            case FinishRebuild():
                await self._finish_rebuild(step.name)
            case MoveToBundle():
                await self._unmount(step.name)
                await self.cluster.execute("set", {"path": f"{self._path(step.name)}/@tablet_cell_bundle"}, step.bundle)
                await self._mount(step.name)
            case CreateIndex():
                await self._create_index()
            case MountTable():
                await self._mount(step.name)
            case SetVersion():
                await self.cluster.execute("set", {"path": f"{self.root}/@version"}, step.version)
            case _:
                assert_never(step)

    async def _create(self, step: CreateTable) -> None:
        attributes = {
            "dynamic": True,
            "optimize_for": "lookup",
            "tablet_cell_bundle": step.bundle,
            "schema": _schema([column.to_map() for column in step.columns]),
            **(step.attributes or {}),
        }
        await self._run("create", self._path(step.name), type="table", attributes=attributes, ignore_existing=True)
        await self._mount(step.name)

    async def _add_columns(self, step: AddColumns) -> None:
        schema = _extended(await self.cluster.get(f"{self._path(step.name)}/@schema"), step.added)
        await self._unmount(step.name)
        await self._run("alter_table", self._path(step.name), schema=schema)
        await self._mount(step.name)

    async def _rebuild(self, step: RebuildTable) -> None:
        old, new = step.name, step.name + REBUILT_SUFFIX
        attributes = await self.cluster.get_attributes(self._path(old), ["schema", *_KEPT_ATTRIBUTES])
        attributes = {**attributes, "dynamic": True, "schema": _extended(attributes["schema"], step.added)}
        await self._run("create", self._path(new), type="table", attributes=attributes)
        is_replaced = False
        try:
            await self._mount(new)
            await self._copy(old, new, step.added)
            await self._unmount(old)
            await self._unmount(new)
            await self._move(old, old + REPLACED_SUFFIX)
            is_replaced = True
        finally:
            if not is_replaced:
                await self._take_back(old, new)
        await self._finish_rebuild(old)

    async def _copy(self, old: str, new: str, added: Columns) -> None:
        if await self._state(old) == "unmounted":
            await self._mount(old)
        # What would be written while rows are copied would be lost: from here on it is refused.
        await self._run("freeze_table", self._path(old))
        await self._wait(old, "frozen")
        [rows] = await self.cluster.select_all(self._path(old), [f"* from {quote_path(self._path(old))}"])
        nulls = {column.name: None for column in added}
        for start in range(0, len(rows), _COPIED_AT_ONCE):
            copied = [{**nulls, **row} for row in rows[start : start + _COPIED_AT_ONCE]]
            await self.cluster.insert_rows(self._path(new), copied)

    async def _take_back(self, old: str, new: str) -> None:
        """After a failure: have the table served as before, and the half-made successor gone."""
        try:
            if await self._exists(self._path(old)):
                await self._mount(old)
                await self._run("remove", self._path(new), force=True)
        except ClusterError as error:
            log.error("table not restored", path=self._path(old), successor=self._path(new), error=str(error))

    async def _finish_rebuild(self, name: str) -> None:
        await self._unmount(name + REBUILT_SUFFIX)
        await self._move(name + REBUILT_SUFFIX, name)
        await self._mount(name)

    async def _create_index(self) -> None:
        for name in (INDEXED_TABLE, INDEX_TABLE):
            await self._unmount(name)
        attributes = {
            "table_path": self._path(INDEXED_TABLE),
            "index_table_path": self._path(INDEX_TABLE),
            "kind": "unfolding",
            "unfolded_column": "replica_list",
            "table_to_index_correspondence": "bijective",
        }
        await self.cluster.execute("create", {"type": "secondary_index", "attributes": attributes})
        for name in (INDEXED_TABLE, INDEX_TABLE):
            await self._mount(name)

    async def _look_at(self, name: str) -> FoundTable:
        attributes = await self.cluster.get_attributes(self._path(name), _TABLE_ATTRIBUTES)
        columns = attributes.get("schema") or []
        bundle = attributes.get("tablet_cell_bundle")
        return FoundTable(
            columns=[str(column["name"]) for column in columns],
            key_columns=[str(column["name"]) for column in columns if column.get("sort_order")],
            bundle=None if bundle is None else str(bundle),
            is_plain=attributes.get("type") == "table"
            and attributes.get("upstream_replica_id", str(NULL_GUID)) == str(NULL_GUID),
            is_mounted=attributes.get("tablet_state") == "mounted",
        )

    async def _bundles(self) -> list[str]:
        return [name for name in BUNDLES if await self._exists(f"//sys/tablet_cell_bundles/{name}")]

    async def _knows_indexes(self) -> bool:
        """Every type of object a master knows has a node of its own there."""
        return await self._exists("//sys/schemas/secondary_index")

    async def _mount(self, name: str) -> None:
        command = "unfreeze_table" if await self._state(name) == "frozen" else "mount_table"
        await self._run(command, self._path(name))
        await self._wait(name, "mounted")

    async def _unmount(self, name: str) -> None:
        await self._run("unmount_table", self._path(name))
        await self._wait(name, "unmounted")

    async def _move(self, name: str, new_name: str) -> None:
        parameters = {"source_path": self._path(name), "destination_path": self._path(new_name)}
        await self.cluster.execute("move", parameters)

    async def _wait(self, name: str, state: str) -> None:
        try:
            async with asyncio.timeout(self.timeout):
                while await self._state(name) != state:  # noqa: ASYNC110 - it is the cluster that changes
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError as error:
            raise ClusterError(f"Table {self._path(name)} was not {state} within {self.timeout:g} s") from error

    async def _state(self, name: str) -> str:
        return str(await self.cluster.get(f"{self._path(name)}/@tablet_state"))

    async def _run(self, command: str, path: str, **parameters: Any) -> None:
        await self.cluster.execute(command, {"path": path, **parameters})

    async def _find(self, path: str) -> Any:
        try:
            return await self.cluster.get(path)
        except ObjectNotFound:
            return None

    async def _exists(self, path: str) -> bool:
        answer = await self.cluster.execute("exists", {"path": path})
        return bool(answer["value"])

    def _path(self, name: str) -> str:
        return f"{self.root}/{name}"


def _extended(schema: Any, added: Columns) -> Any:
    """A schema with further columns: keys behind the keys, values at the end."""
    keys = [column for column in schema if column.get("sort_order")]
    values = [column for column in schema if not column.get("sort_order")]
    new_keys = [column.to_map() for column in added if column.is_key]
    return _schema([*keys, *new_keys, *values, *(column.to_map() for column in added if not column.is_key)])


def _schema(columns: Sequence[Mapping[str, Any]]) -> Any:
    return yson.with_attributes(list(columns), {"strict": True, "unique_keys": True})
