"""Tablets of dynamic tables: where they are and in which state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from yt_local.cypress.alteration import (
    added_system_columns,
    altered_table_state,
    check_alteration,
    check_static_alteration,
    conversion,
)
from yt_local.cypress.nodes import checked_upstream
from yt_local.cypress.resolver import Resolver
from yt_local.cypress.settable_attributes import SETTABLE
from yt_local.cypress.system_objects import BUNDLE, CELL, bundle_of, cells_of, find_system_object
from yt_local.schema.rows import decode_values, encode_values
from yt_local.schema.schema import CUMULATIVE_DATA_WEIGHT, TIMESTAMP, TableSchema
from yt_local.security.permissions import Access
from yt_local.store.locks import EXCLUSIVE
from yt_local.store.model import NO_CONTENT, Node, Tablet
from yt_local.store.replicated_types import REPLICATED_TABLE, UPSTREAM_REPLICA_ID, refuse_chaos
from yt_local.store.state import TreeState
from yt_local.tables.dynamic.mode_changes import check_becomes_dynamic, make_dynamic, make_static
from yt_local.tables.dynamic.resharding import Resharding, check_tablet_count, new_tablet, tablet_starts
from yt_local.tables.dynamic.segments import drop_unflushed, flush
from yt_local.tables.dynamic.sorted_resharding import Sharding, initial_pivot_keys
from yt_wire import yson
from yt_wire.error import ErrorCode, YtError
from yt_wire.yson import Yson


@dataclass(frozen=True, slots=True)
class TabletRange:
    """Tablets a command is for, both ends included; None: from the first, to the last."""

    first: int | None = None
    last: int | None = None


ALL_TABLETS = TabletRange()

DEFAULT_CODEC: Final = "lz4"


class Tablets:
    """Lifecycle commands; transitions are instant, so the states in between never show."""

    def __init__(self, state: TreeState, resolver: Resolver) -> None:
        self._tree = state
        self._state = state.committed
        self._resolver = resolver
        self._resharding = Resharding(self._state)

    def create(self, table: Node, attributes: Mapping[str, Any]) -> None:
        """Give a new table its unmounted tablets; part of the change that makes the table.

        Args:
            table: the table, with no tablets yet.
            attributes: of its creation; `tablet_count` or `pivot_keys`, and with the former `trimmed_row_counts` and
                `cumulative_data_weights`, say what tablets there are.
        """
        pivot_keys = attributes.get("pivot_keys")
        if pivot_keys is not None and "tablet_count" in attributes:
            raise YtError('Cannot specify both "tablet_count" and "pivot_keys"')
        count = _integer(attributes, "tablet_count", 1)
        check_tablet_count(count)
        schema = _schema(table)
        if schema.is_sorted:
            keys = initial_pivot_keys(schema, Sharding(pivot_keys, count))
            check_tablet_count(len(keys))
            for index, key in enumerate(keys):
                self._state.tablets.put(replace(new_tablet(self._state, table.id, index), pivot_key=key))
            return
        if pivot_keys is not None:
            raise YtError("Table is ordered; must provide tablet count")
        starts = tablet_starts(
            count, _integers(attributes, "trimmed_row_counts"), _integers(attributes, "cumulative_data_weights")
        )
        for index, start in enumerate(starts):
            self._state.tablets.put(new_tablet(self._state, table.id, index, *start))

    def copy(self, source: Node, table_id: str) -> None:
        """Give a copy of a table copies of its tablets with all rows."""
        for tablet in self._state.tablets.of(source.id):
            copied = tablet.moved_to(table_id, self._state.next_tablet_number(), self._state.ids.next("tablet"))
            self._state.tablets.put(copied)
            self._state.storage.copy_rows(tablet.number, copied.number)
            self._state.tablets.put_segments(copied, self._state.tablets.segments(tablet))

    def move(self, source: Node, table_id: str) -> None:
        """Hand all tablets of a table over to another that has none; the tablets get new ids."""
        for tablet in self._state.tablets.of(source.id):
            self._state.tablets.move(tablet, tablet.moved_to(table_id, tablet.number, self._state.ids.next("tablet")))

    def mount(
        self,
        access: Access,
        path: str,
        chosen: TabletRange = ALL_TABLETS,
        *,
        freeze: bool = False,
        cell_id: str | None = None,
    ) -> None:
        """Make tablets serve, in the bundle's cell or the one named; mounted ones stay as they are."""
        state = "frozen" if freeze else "mounted"
        with self._state.change():
            for tablet in self._chosen(access, path, chosen):
                if tablet.state == "unmounted":
                    cell = cell_id or self._choose_cell(tablet)
                    self._check_cell(tablet, cell)
                    mounted = replace(tablet, state=state, cell_id=cell, mount_revision=self._state.next_revision())
                    self._state.tablets.put(mounted)
                elif tablet.state != state:
                    verb = "unfreeze" if state == "mounted" else "freeze"
                    raise self._wrong_state(tablet, f"mount, {verb} it instead")

    def unmount(self, access: Access, path: str, chosen: TabletRange = ALL_TABLETS, *, force: bool = False) -> None:
        """Stop serving; rows stay, but those of ordered tables that have not been flushed are lost by force."""
        with self._state.change():
            for tablet in self._chosen(access, path, chosen):
                if tablet.state != "unmounted":
                    tablet = drop_unflushed(self._state, tablet) if force else flush(self._state, tablet)
                    self._state.tablets.put(replace(tablet, state="unmounted", cell_id=None))

    def freeze(self, access: Access, path: str, chosen: TabletRange = ALL_TABLETS) -> None:
        """Serve reads only."""
        self._switch(access, path, chosen, "frozen", "freeze")

    def unfreeze(self, access: Access, path: str, chosen: TabletRange = ALL_TABLETS) -> None:
        """Serve writes again."""
        self._switch(access, path, chosen, "mounted", "unfreeze")

    def remount(self, access: Access, path: str, chosen: TabletRange = ALL_TABLETS) -> None:
        """Apply changed attributes; they are always applied here, so only the request is checked."""
        self._chosen(access, path, chosen)

    def alter(
        self,
        access: Access,
        path: str,
        schema: Yson | None = None,
        dynamic: bool | None = None,
        upstream_replica_id: str | None = None,
    ) -> None:
        """Give a table another schema, make it dynamic or static, or a replica; None leaves each as it is.

        Raises:
            YtError: a tablet is mounted, or rows there are do not fit what the table is to become.
        """
        with self._state.change():
            node = self._resolver.node(path)
            old = node.table
            refuse_chaos(node, path)
            if old is None:
                raise YtError(f"{path} is not a table but a {node.type}")
            access.check(node, "write")
            if self._tree.transaction_id is not None and (old.dynamic or dynamic):
                raise YtError("Operation cannot be performed in transaction")
            self._tree.lock(node, EXCLUSIVE)
            tablets = self._state.tablets.of(node.id)
            what = "dynamic mode" if schema is None else "schema"
            if any(tablet.state != "unmounted" for tablet in tablets):
                raise YtError(
                    f'Cannot change table {what} since not all of its tablets are in "unmounted" state',
                    ErrorCode.INVALID_TABLET_STATE,
                )
            new = altered_table_state(old, schema, dynamic)
            content = node.content
            if old.dynamic and not new.dynamic:
                check_static_alteration(old, new)
                codec = str(node.attributes.get("compression_codec", DEFAULT_CODEC))
                content = make_static(self._state, old.schema, tablets, codec)
            elif node.type == REPLICATED_TABLE and old.schema.is_sorted:
                self._check_log(path, old.schema, new.schema, tablets)
            elif old.dynamic:
                self._convert_rows(old.schema, new.schema, tablets)
            elif content.chunk_ids:
                check_static_alteration(old, new)
            revision = self._state.next_revision()
            node = replace(node, table=new, content=content, revision=revision, attribute_revision=revision)
            if new.dynamic and not old.dynamic:
                check_becomes_dynamic(old.schema, new.schema, has_rows=bool(content.chunk_ids))
                tablet = new_tablet(self._state, node.id, 0)
                self._state.tablets.put(tablet)
                make_dynamic(self._state, new.schema, self._state.chunks.of(content), tablet)
                node = replace(node, content=NO_CONTENT)
            if upstream_replica_id is not None:
                upstream = checked_upstream(node, upstream_replica_id)
                node = replace(node, attributes={**node.attributes, UPSTREAM_REPLICA_ID: upstream})
            self._tree.put_node(node)

    def _check_log(self, path: str, old: TableSchema, new: TableSchema, tablets: Sequence[Tablet]) -> None:
        check_alteration(old, new)
        has_rows = any(tablet.total_row_count > tablet.trimmed_row_count for tablet in tablets)
        if has_rows and len(old.key_columns) != len(new.key_columns):
            raise YtError(f"Cannot add key columns to replicated table {path} since its replication log is not empty")

    def _convert_rows(self, old: TableSchema, new: TableSchema, tablets: Sequence[Tablet]) -> None:
        check_alteration(old, new)
        hide = {
            TIMESTAMP: self._state.storage.hide_timestamps,
            CUMULATIVE_DATA_WEIGHT: self._state.storage.hide_weights,
        }
        for name in added_system_columns(old, new):
            for tablet in tablets:
                hide[name](tablet.number)
        rows = conversion(old, new)
        for tablet in tablets:
            self._state.storage.rewrite_rows(
                tablet.number,
                rows.key_suffix,
                lambda value: encode_values(rows.values(decode_values(value))),
                rows.written,
            )

    def reshard(
        self,
        access: Access,
        path: str,
        sharding: Sharding,
        chosen: TabletRange = ALL_TABLETS,
        *,
        trimmed_row_counts: Sequence[int] | None = None,
        cumulative_data_weights: Sequence[int] | None = None,
    ) -> None:
        """Replace a range of tablets by others.

        Args:
            path: the table.
            sharding: how many, and in sorted tables by which keys, the range has afterwards.
            chosen: the range; all tablets by default.
            trimmed_row_counts: first row index of each new tablet of an ordered table.
            cumulative_data_weights: weight each new tablet of an ordered table starts from.

        Raises:
            YtError: a tablet is mounted, or a tablet to be merged away has lost only some of its rows.
        """
        with self._state.change():
            table = self._table(access, path)
            tablets = self._chosen(access, path, chosen)
            if any(tablet.state != "unmounted" for tablet in self._state.tablets.of(table.id)):
                raise YtError(
                    'Cannot reshard table since not all of its tablets are in "unmounted" state',
                    ErrorCode.INVALID_TABLET_STATE,
                )
            if sharding.tablet_count is not None:
                check_tablet_count(sharding.tablet_count)
            if table.type == REPLICATED_TABLE and any(
                tablet.total_row_count > tablet.trimmed_row_count for tablet in self._state.tablets.of(table.id)
            ):
                raise YtError(f"Cannot reshard replicated table {path} since its replication log is not empty")
            if _schema(table).is_sorted:
                if trimmed_row_counts or cumulative_data_weights:
                    raise YtError('Cannot reshard sorted table with "trimmed_row_counts"')
                self._resharding.reshard_sorted(table, _schema(table), tablets, sharding)
                return
            if sharding.tablet_count is None:
                raise YtError("Table is ordered; must provide tablet count")
            added = max(sharding.tablet_count - len(tablets), 0)
            starts = tablet_starts(added, trimmed_row_counts, cumulative_data_weights)
            if added:
                self._resharding.grow(table, tablets[-1].index, starts)
            else:
                self._resharding.merge(table, tablets[sharding.tablet_count - 1 :])
            if table.type != REPLICATED_TABLE:  # there the progress of replicas is kept by the ids of tablets
                first, kept_count = tablets[0].index, min(sharding.tablet_count, len(tablets))
                self._resharding.renew_ids(self._state.tablets.of(table.id)[first : first + kept_count])

    def _switch(self, access: Access, path: str, chosen: TabletRange, state: str, verb: str) -> None:
        with self._state.change():
            for tablet in self._chosen(access, path, chosen):
                if tablet.state == "unmounted":
                    raise self._wrong_state(tablet, verb)
                if tablet.state != state:
                    flushed = flush(self._state, tablet) if state == "frozen" else tablet
                    self._state.tablets.put(replace(flushed, state=state))

    def _chosen(self, access: Access, path: str, chosen: TabletRange) -> Sequence[Tablet]:
        table = self._table(access, path)
        tablets = self._state.tablets.of(table.id)
        first = 0 if chosen.first is None else chosen.first
        last = len(tablets) - 1 if chosen.last is None else chosen.last
        if not 0 <= first <= last < len(tablets):
            raise YtError(f"Invalid tablet range [{first},{last}]: table {path} has {len(tablets)} tablet(s)")
        return tablets[first : last + 1]

    def _table(self, access: Access, path: str) -> Node:
        """A table whose tablets are to be changed."""
        node = self._resolver.node(path)
        if self._tree.transaction_id is not None:
            raise YtError("Operation cannot be performed in transaction")
        refuse_chaos(node, path)
        if node.table is None:
            raise YtError(f"{path} is not a table but a {node.type}")
        if not node.table.dynamic:
            raise YtError(f"Table {path} is not dynamic")
        access.check(node, "mount")
        self._tree.lock(node, EXCLUSIVE)
        return node

    def _bundle(self, tablet: Tablet) -> str:
        return str(self._state.node(tablet.table_id).attributes.get(BUNDLE, SETTABLE[BUNDLE].default))

    def _check_cell(self, tablet: Tablet, cell_id: str) -> None:
        cell, wanted = find_system_object(self._state, CELL, cell_id), self._bundle(tablet)
        if cell is None:
            raise YtError(f"No such tablet cell {cell_id}", ErrorCode.RESOLVE)
        if (bundle := bundle_of(cell)) != wanted:
            raise YtError(
                f'Cannot mount tablets into cell {cell_id} since it belongs to bundle "{bundle}" while the table is '
                f'configured to use bundle "{wanted}"'
            )

    def _choose_cell(self, tablet: Tablet) -> str:
        bundle = self._bundle(tablet)
        cells = cells_of(self._state, bundle)
        if not cells:
            raise YtError(f'No healthy tablet cells in bundle "{bundle}"')
        return cells[tablet.number % len(cells)].id

    def _wrong_state(self, tablet: Tablet, verb: str) -> YtError:
        return YtError(
            f'Cannot {verb}: tablet {tablet.id} is in "{tablet.state}" state', ErrorCode.INVALID_TABLET_STATE
        )


def _schema(table: Node) -> TableSchema:
    assert table.table is not None
    return table.table.schema


def _integer(attributes: Mapping[str, Any], name: str, default: int) -> int:
    value = attributes.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise YtError(f'Attribute "{name}" must be an integer, got {yson.shown(value)}')
    return int(value)


def _integers(attributes: Mapping[str, Any], name: str) -> Sequence[int] | None:
    values = attributes.get(name)
    if values is None:
        return None
    if not isinstance(values, list) or any(isinstance(item, bool) or not isinstance(item, int) for item in values):
        raise YtError(f'Attribute "{name}" must be a list of integers, got {yson.shown(values)}')
    return [int(item) for item in values]
