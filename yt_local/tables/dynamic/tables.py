"""Rows of dynamic tables: reading and trimming."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice
from operator import itemgetter
from typing import Any, Protocol

from yt_local.base.clock import LATEST_TIMESTAMP, checked_timestamp
from yt_local.cypress.resolver import Resolver
from yt_local.formats.row_output import ValueRows
from yt_local.query import QueryResult, SelectOptions, explain, select
from yt_local.schema.keys import Row, Value
from yt_local.schema.retention import Retention
from yt_local.schema.row_errors import parse_rows
from yt_local.schema.rows import data_weight, decode_values, row_mapper
from yt_local.schema.schema import CUMULATIVE_DATA_WEIGHT, TIMESTAMP, Column, TableSchema
from yt_local.security.permissions import UNCHECKED, UNLIMITED, Access
from yt_local.store.model import Tablet
from yt_local.store.replicated_types import REPLICATED_TABLE, TableReplica
from yt_local.store.retained_rows import ReadWindow, retained_row, rows_in_window
from yt_local.store.state import ClusterState
from yt_local.store.storage import shown
from yt_local.tables.dynamic.open_tables import OpenTables, Table
from yt_local.tables.dynamic.query_source import QuerySource
from yt_local.tables.dynamic.segments import drop_trimmed, store_end
from yt_local.tables.dynamic.versioned_rows import versioned_row
from yt_wire import yson
from yt_wire.error import ErrorCode, YtError

_INDEXES_WEIGHT = 16
"""Of the index of the tablet and that of the row, which are read with every row and not stored with any."""

_PAGE_ROWS = 1024
"""Read by one statement: none stays open while others have their turn."""

_MAX_ROW_INDEX = 2**62
"""Behind every row."""

_DEFAULT_OPTIONS = SelectOptions()


class ReadReplicas(Protocol):
    """Replicas, for those who read replicated tables."""

    def serving(self, table: Table) -> tuple[DynamicTables, Table] | None:
        """The synchronous replica that answers for a replicated table, and its cluster; None for other tables."""
        ...

    def replicas(self, table_id: str) -> Sequence[TableReplica]:
        """Of a replicated table, in the order of their ids."""
        ...

    def position(self, replica: TableReplica, tablet: Tablet) -> int:
        """Index of the first row of a tablet's log that has not been replicated."""
        ...

    def position_timestamp(self, replica: TableReplica, tablet: Tablet) -> int:
        """All rows with lower timestamps have been replicated."""
        ...

    def error(self, replica: TableReplica, tablet: Tablet) -> YtError | None:
        """Why the replica does not get the rows of a tablet."""
        ...


class DynamicTables(OpenTables):
    """Commands that read rows, or trim them; writing is `TableWriter`'s."""

    def __init__(self, state: ClusterState, resolver: Resolver, replication: ReadReplicas) -> None:
        super().__init__(state, resolver)
        self._replication = replication

    def lookup_rows(
        self,
        access: Access,
        path: str,
        keys: Sequence[Mapping[bytes, Any]],
        *,
        column_names: Sequence[str] | None = None,
        keep_missing_rows: bool = False,
        timestamp: int | None = None,
        retention_timestamp: int = 0,
    ) -> ValueRows:
        """Rows of a sorted table by whole keys, in the order of the keys; None for missing ones, if wanted."""
        tables, table, positions = self._open_for_lookup(access, path, column_names)
        window = ReadWindow(checked_timestamp(timestamp), retention_timestamp)
        rows = tables._found(table, tables._located(table, keys), window)
        if not keep_missing_rows:
            rows = [row for row in rows if row is not None]
        columns: Sequence[Column] = table.schema.columns
        if column_names is not None:
            columns = [columns[position] for position in positions]
            rows = [None if row is None else tuple([row[position] for position in positions]) for row in rows]
        return ValueRows(columns, rows)

    def _found(
        self, table: Table, located: Sequence[tuple[Tablet, bytes, Row]], window: ReadWindow
    ) -> list[Row | None]:
        """The rows with these keys, in their order; None for missing ones."""
        storage = self._state.storage
        if window.retention:
            versions = (storage.versions(tablet.number, key, window.timestamp) for tablet, key, _ in located)
            return [retained_row(table.schema, of_key, window.retention) for of_key in versions]
        by_tablet: defaultdict[int, list[bytes]] = defaultdict(list)
        for tablet, key, _ in located:
            by_tablet[tablet.number].append(key)
        found: dict[bytes, bytes | None] = {}
        for number, encoded in by_tablet.items():
            found.update(storage.find_values(number, encoded, window.timestamp))
        stored = (found[key] for _, key, _ in located)
        return [None if value is None else decode_values(value) for value in stored]

    def lookup_versions(
        self,
        access: Access,
        path: str,
        keys: Sequence[Mapping[bytes, Any]],
        *,
        column_names: Sequence[str] | None = None,
        retention: Retention | None = None,
        keep_missing_rows: bool = False,
        timestamp: int | None = None,
    ) -> list[dict[str, Any] | None]:
        """Like `lookup_rows`, with all the versions there are.

        A row has attributes `write_timestamps` and `delete_timestamps`, newest first, and a list of versions
        (attribute `timestamp`) for every value column; a row that is deleted is one too. `retention` says which
        versions not to show.
        """
        tables, table, _ = self._open_for_lookup(access, path, column_names)
        read_timestamp, now = checked_timestamp(timestamp), tables._state.timestamps.present
        result: list[dict[str, Any] | None] = []
        for tablet, key, values in tables._located(table, keys):
            versions = tables._state.storage.versions(tablet.number, key, read_timestamp)
            if retention is not None:
                expired = retention.expired([version.timestamp for version in versions], now, None)
                versions = [version for version in versions if version.timestamp not in expired]
            if versions:
                row = versioned_row(table.schema, values, versions)
                if column_names is not None:
                    row = yson.with_attributes({name: row[name] for name in column_names}, yson.attributes_of(row))
                result.append(row)
            elif keep_missing_rows:
                result.append(None)
        return result

    def _open_for_lookup(
        self, access: Access, path: str, column_names: Sequence[str] | None
    ) -> tuple[DynamicTables, Table, Sequence[int]]:
        """The table that serves, where it is, and where the columns asked for stand in it."""
        table = self.open_sorted(path, access.to("read"))
        access.check_columns(table.node, column_names)
        if (serving := self._replication.serving(table)) is not None:
            tables, copy = serving
            return tables._open_for_lookup(UNLIMITED, copy.path, column_names)  # who may read it has been checked here
        known = {column.name: position for position, column in enumerate(table.schema.columns)}
        for name in column_names or ():
            if name not in known:
                raise YtError(f'No such column "{name}"')
        return self, table, [known[name] for name in dict.fromkeys(column_names or ())]

    def _located(self, table: Table, keys: Sequence[Mapping[bytes, Any]]) -> list[tuple[Tablet, bytes, Row]]:
        """Keys as clients give them, with their tablets: encoded, and as values."""
        tablets = self.sorted_tablets(table)
        located = []
        for values in parse_rows(table, keys, table.codec.parse_key):
            key = table.codec.encode_key(values)
            located.append((self.checked_readable(table, tablets.of_key(key)), key, values))
        return located

    def find_row(self, table: Table, key: Row, timestamp: int | None = None) -> Row | None:
        """One row of a sorted table, values in the order of the schema; the latest unless a timestamp is given."""
        found = self.find_version(table, key, timestamp)
        return None if found is None else found[0]

    def find_version(self, table: Table, key: Row, timestamp: int | None = None) -> tuple[Row, int] | None:
        """Like `find_row`, with the timestamp of the transaction that wrote the row."""
        if (serving := self._replication.serving(table)) is not None:
            return serving[0].find_version(serving[1], key, timestamp)
        encoded = table.codec.encode_key(key)
        tablet = self.checked_readable(table, self.sorted_tablets(table).of_key(encoded))
        found = self._state.storage.find_version(tablet.number, encoded, timestamp or LATEST_TIMESTAMP)
        return None if found is None else (decode_values(found.value), found.timestamp)

    def select_rows(self, access: Access, query: str) -> list[dict[str, Any]]:
        """Rows a query selects, as maps."""
        result = self.select(access, query)
        return list(map(row_mapper(result.columns), result.rows))

    def select(
        self,
        access: Access,
        query: str,
        *,
        placeholder_values: Mapping[str, Any] | None = None,
        options: SelectOptions = _DEFAULT_OPTIONS,
        timestamp: int | None = None,
        retention_timestamp: int = 0,
    ) -> QueryResult:
        """Run a query."""
        window = ReadWindow(checked_timestamp(timestamp), retention_timestamp)
        return select(query, self._query_source(access, window), placeholder_values, options)

    def explain(self, access: Access, query: str, options: SelectOptions) -> dict[str, Any]:
        """What `select` would read for a query."""
        return explain(query, self._query_source(access, ReadWindow()), options)

    def _query_source(self, access: Access, window: ReadWindow) -> Callable[[str], QuerySource]:
        def source(path: str) -> QuerySource:
            table = self.open(path, access.to("read"))
            access.check_columns(table.node)
            tables, copy = self._replication.serving(table) or (self, table)
            # What is committed while the query goes on by turns is not for it.
            latest = min(window.timestamp, tables._state.timestamps.last)
            return QuerySource(tables, copy, replace(window, timestamp=latest))

        return source

    def tablet_infos(self, path: str, indexes: Sequence[int], *, request_errors: bool = False) -> list[dict[str, Any]]:
        """Row counts and write times of tablets, in the order asked; of replicated tables those of the log."""
        table = self.open(path, UNCHECKED)
        infos = []
        for index in indexes:
            tablet = self.readable_tablet(table, index)
            infos.append(
                {
                    "total_row_count": tablet.total_row_count,
                    "trimmed_row_count": tablet.trimmed_row_count,
                    "delayed_lockless_row_count": 0,
                    "barrier_timestamp": yson.Uint64(self._state.timestamps.last),
                    "last_write_timestamp": yson.Uint64(tablet.last_write_timestamp),
                    **self._replica_infos(table, tablet, request_errors),
                }
            )
        return infos

    def _replica_infos(self, table: Table, tablet: Tablet, request_errors: bool) -> dict[str, Any]:
        if table.node.type != REPLICATED_TABLE:
            return {}
        infos: list[dict[str, Any]] = []
        for replica in self._replication.replicas(table.node.id):
            position = self._replication.position(replica, tablet)
            info = {
                "replica_id": replica.id,
                "last_replication_timestamp": yson.Uint64(self._replication.position_timestamp(replica, tablet)),
                "mode": replica.mode,
                "current_replication_row_index": position,
                "committed_replication_row_index": position,
            }
            if request_errors:
                error = self._replication.error(replica, tablet)
                info["replication_error"] = {} if error is None else error.to_map()
            infos.append(info)
        return {"replica_infos": infos}

    def trim_rows(self, access: Access, path: str, tablet_index: int, trimmed_row_count: int) -> None:
        """Hide the rows below an index, and free what can be freed; nothing happens if they are hidden already."""
        table = self.open_ordered(path, access.to("write"))
        with self._state.change():
            tablet = self.writable_tablet(table, tablet_index)
            if trimmed_row_count > tablet.total_row_count:
                raise YtError(
                    f"Cannot trim tablet {tablet.id} at row {trimmed_row_count} since it only has"
                    f" {tablet.total_row_count} row(s)"
                )
            if trimmed_row_count > tablet.trimmed_row_count:
                trimmed = replace(tablet, trimmed_row_count=trimmed_row_count)
                self._state.tablets.put(trimmed)
                drop_trimmed(self._state, trimmed)

    def read_ordered(self, table: Table, index: int, lower: int, upper: int | None = None) -> Iterator[Row]:
        """Available rows of one tablet by index, values in the order of the query columns.

        Args:
            table: ordered.
            index: of the tablet.
            lower: of the first row.
            upper: behind the last row; None reads to the end.
        """
        if (serving := self._replication.serving(table)) is not None:
            yield from serving[0].read_ordered(serving[1], index, lower, upper)
            return
        tablet = self.readable_tablet(table, index)
        arrange = _query_order(table.schema)
        # Bounds behind the last number there is are of no use to storage.
        first = min(max(lower, tablet.trimmed_row_count), _MAX_ROW_INDEX)
        end = _MAX_ROW_INDEX if upper is None else min(upper, _MAX_ROW_INDEX)
        end = min(end, tablet.total_row_count)  # others may write while this goes on by turns
        while first < end:
            page = self._state.storage.marked_rows(tablet.number, first, min(first + _PAGE_ROWS, end))
            for row_index, timestamp, weight, value in list(page):
                yield arrange((index, row_index, shown(timestamp), shown(weight), *decode_values(value)))
            first += _PAGE_ROWS
            if first < end:
                self._check_unchanged(table, tablet)

    def read_ordered_batch(
        self, table: Table, index: int, lower: int, upper: int, row_count: int, max_data_weight: int
    ) -> list[Row]:
        """Like `read_ordered`, up to so many rows; the row that crosses the weight is still part of it."""
        if (serving := self._replication.serving(table)) is not None:
            return serving[0].read_ordered_batch(serving[1], index, lower, upper, row_count, max_data_weight)
        tablet = self.readable_tablet(table, index)
        arrange = _query_order(table.schema)
        stored = self._state.storage.marked_rows(tablet.number, max(lower, tablet.trimmed_row_count), upper)
        rows: list[Row] = []
        weight = weight_before = 0
        for row_index, timestamp, marked_weight, value in islice(stored, max(row_count, 0)):
            if weight >= max_data_weight:
                break
            row = arrange((index, row_index, shown(timestamp), shown(marked_weight), *decode_values(value)))
            cumulative_data_weight = marked_weight if marked_weight >= 0 else ~marked_weight
            if rows:
                weight += cumulative_data_weight - weight_before + _INDEXES_WEIGHT
            else:
                weight = data_weight(row)
            weight_before = cumulative_data_weight
            rows.append(row)
        return rows

    def first_available(self, table: Table, index: int, row_index: int) -> int:
        """The first row of a tablet from an index on that is not trimmed, or will not be."""
        if (serving := self._replication.serving(table)) is not None:
            return serving[0].first_available(serving[1], index, row_index)
        return max(row_index, self.readable_tablet(table, index).trimmed_row_count)

    def store_end(self, table: Table, index: int, row_index: int) -> int:
        """Where the segment ends that holds a row of a tablet, or would if rows were not trimmed."""
        if (serving := self._replication.serving(table)) is not None:
            return serving[0].store_end(serving[1], index, row_index)
        tablet = self.readable_tablet(table, index)
        return store_end(self._state.tablets.segments(tablet), tablet, max(row_index, tablet.trimmed_row_count))

    def read_sorted(self, table: Table, lower: bytes, upper: bytes | None, window: ReadWindow) -> Iterator[Row]:
        """Rows of a sorted table by encoded key, `lower <= key < upper`.

        Raises:
            YtError: 1702 if a tablet that can have such keys is not mounted.
        """
        for tablet, first, end in self.sorted_tablets(table).overlapping(lower, upper):
            self.checked_readable(table, tablet)
            place = first
            while True:
                stored = rows_in_window(self._state.storage, table.schema, tablet.number, place, end, window)
                page = list(islice(stored, _PAGE_ROWS))
                for row in page:
                    yield decode_values(row.value)
                if len(page) < _PAGE_ROWS:
                    break
                place = page[-1].key + b"\0"
                self._check_unchanged(table, tablet)

    def _check_unchanged(self, table: Table, tablet: Tablet) -> None:
        """YtError 1704 unless the rest of a tablet can be read as it could when reading began."""
        node = self._state.find_node(table.node.id)
        now = self._state.tablets.find(table.node.id, tablet.index)
        if node is None or now is None or node.table is None or node.table.schema is not table.schema:
            change = "changed"
        elif (now.number, now.mount_revision, now.readable) != (tablet.number, tablet.mount_revision, True):
            change = "unmounted, mounted again or resharded"
        else:
            return
        raise YtError(
            f"Tablet {tablet.id} was {change} while it was read",
            ErrorCode.INVALID_MOUNT_REVISION,
            {"tablet_id": tablet.id},
        )


def _query_order(schema: TableSchema) -> Callable[[tuple[Value, ...]], Row]:
    """Brings indexes of tablet and row, timestamp, cumulative weight, stored values to the order of query columns."""
    system = {TIMESTAMP: 2, CUMULATIVE_DATA_WEIGHT: 3}
    stored = count(4)
    return itemgetter(0, 1, *(system.get(column.name) or next(stored) for column in schema.columns))
