"""Rows of dynamic tables: writing, reading and trimming."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from queue_agent.local_cluster.keys import KeyEncoder, Row
from queue_agent.local_cluster.model import Node, Tablet
from queue_agent.local_cluster.permissions import Guarded
from queue_agent.local_cluster.query import KeyRange, select
from queue_agent.local_cluster.resolver import Resolver
from queue_agent.local_cluster.rows import MISSING, RowCodec, data_weight, decode_values, encode_values, row_mapper
from queue_agent.local_cluster.schema import (
    CUMULATIVE_DATA_WEIGHT,
    TIMESTAMP,
    Column,
    TableSchema,
)
from queue_agent.local_cluster.segments import drop_trimmed, store_end
from queue_agent.local_cluster.state import ClusterState
from queue_agent.local_cluster.storage import OrderedRow
from queue_agent.wire import yson
from queue_agent.wire.error import ErrorCode, YtError

LATEST_TIMESTAMP = 0x3FFFFFFFFFFFFF00
"""Reads what is visible now."""

_VERSIONS_KEPT_SECONDS = 60
MAX_ROW_INDEX = 2**62
"""Behind every row."""

_SYSTEM_VALUE_WEIGHT = 8


@dataclass(frozen=True, slots=True)
class Table:
    """A dynamic table opened for one command."""

    path: str
    node: Node
    schema: TableSchema
    codec: RowCodec


class DynamicTables(Guarded):
    """Commands on rows; reading and writing are immediate and all or nothing."""

    def __init__(self, state: ClusterState, resolver: Resolver, choices: random.Random) -> None:
        self._state = state
        self._resolver = resolver
        self._choices = choices
        self._codecs: dict[str, tuple[TableSchema, RowCodec]] = {}

    def open(self, path: str, permission: str | None = None) -> Table:
        """A dynamic table by its path.

        Raises:
            YtError: there is nothing, or no dynamic table, or the user lacks the permission for it.
        """
        node = self._resolver.node(path)
        if node.table is None:
            raise YtError(f"{path} is not a table but a {node.type}")
        if not node.table.dynamic:
            raise YtError(f"Table {path} is not dynamic")
        if permission is not None:
            self._access.check(node, permission)
        schema = node.table.schema
        known = self._codecs.get(node.id)
        if known is None or known[0] is not schema:
            known = self._codecs[node.id] = schema, RowCodec(schema)
        return Table(self._resolver.path_of(node), node, schema, known[1])

    def open_ordered(self, path: str, permission: str | None = None) -> Table:
        table = self.open(path, permission)
        if table.schema.is_sorted:
            raise YtError(f"Table {path} is not ordered")
        return table

    def open_sorted(self, path: str, permission: str | None = None) -> Table:
        table = self.open(path, permission)
        if not table.schema.is_sorted:
            raise YtError(f"Table {path} is not sorted", ErrorCode.TABLE_MUST_BE_SORTED)
        return table

    def insert_rows(self, path: str, rows: Sequence[Mapping[bytes, Any]], *, update: bool = False) -> None:
        """Append to an ordered table, or insert into a sorted one by key.

        Args:
            path: the table.
            rows: values by column name; ordered tables take `$tablet_index` among them.
            update: keep the old values of the columns a row does not name (sorted tables only).
        """
        table = self.open(path, "write")
        if table.schema.is_sorted:
            with self._state.change():
                self.write_sorted(table, rows, self._state.timestamps.next(), update=update)
        elif update:
            raise YtError('Cannot use "update" mode for ordered tables')
        else:
            parsed = [table.codec.parse_row(row) for row in rows]
            with self._state.change():
                self.append(table, parsed, self._state.timestamps.next())

    def append(self, table: Table, rows: Sequence[Row], timestamp: int) -> None:
        """Append rows as `RowCodec.parse_row` gives them; part of a change.

        Raises:
            YtError: 1701 for a tablet that does not exist, 1702 for one that is not mounted, or if none is.
        """
        by_tablet: dict[int, list[Row]] = {}
        chosen: int | None = None
        for row in rows:
            index = row[0]
            if index is None:
                if chosen is None:
                    chosen = self._choose_tablet(table)
                index = chosen
            assert isinstance(index, int)
            by_tablet.setdefault(index, []).append(row[1:])
        for index, values in by_tablet.items():
            self._append_to(table, self._writable_tablet(table, index), values, timestamp)

    def write_sorted(
        self, table: Table, rows: Sequence[Mapping[bytes, Any]], timestamp: int, *, update: bool = False
    ) -> None:
        """Insert rows into a sorted table; part of a change."""
        tablet = self._writable_tablet(table, 0)
        codec = table.codec
        versions: dict[bytes, bytes | None] = {}
        for row in rows:
            if update:
                partial = codec.parse_partial_row(row)
                key = codec.encode_key([value for value in partial if value is not MISSING])
                encoded = versions.get(key, self._find_value(tablet, key, LATEST_TIMESTAMP))
                old = decode_values(encoded) if encoded is not None else (None,) * len(partial)
                values = tuple(
                    before if value is MISSING else value for value, before in zip(partial, old, strict=True)
                )
                self._check_required(table, values)
            else:
                values = codec.parse_row(row)
                key = codec.encode_key(values)
            versions[key] = encode_values(values)
        self._put_versions(tablet, timestamp, versions)

    def delete_rows(self, path: str, keys: Sequence[Mapping[bytes, Any]]) -> None:
        """Delete rows of a sorted table by their whole keys; absent ones are no error."""
        table = self.open_sorted(path, "write")
        encoded = [table.codec.encode_key(table.codec.parse_key(key)) for key in keys]
        with self._state.change():
            tablet = self._writable_tablet(table, 0)
            self._put_versions(tablet, self._state.timestamps.next(), dict.fromkeys(encoded))

    def lookup_rows(
        self,
        path: str,
        keys: Sequence[Mapping[bytes, Any]],
        *,
        column_names: Sequence[str] | None = None,
        versioned: bool = False,
        keep_missing_rows: bool = False,
        timestamp: int | None = None,
    ) -> list[dict[str, Any] | None]:
        """Rows of a sorted table by whole keys, in the order of the keys; None for missing ones, if wanted.

        A versioned row has attributes `write_timestamps` and `delete_timestamps`, newest first, and a list of
        versions (attribute `timestamp`) for every value column.
        """
        table = self.open_sorted(path, "read")
        tablet = self._readable_tablet(table, 0)
        columns = table.schema.columns
        known = {column.name for column in columns}
        for name in column_names or ():
            if name not in known:
                raise YtError(f'No such column "{name}"')
        to_map = row_mapper(columns)
        result: list[dict[str, Any] | None] = []
        for mapping in keys:
            key = table.codec.encode_key(table.codec.parse_key(mapping))
            found = self._state.storage.find_version(tablet.number, key, timestamp or LATEST_TIMESTAMP)
            if found is None:
                if keep_missing_rows:
                    result.append(None)
                continue
            row = to_map(decode_values(found.value))
            if column_names is not None:
                row = {name: row[name] for name in column_names}
            result.append(_versioned(row, table.schema, found.timestamp) if versioned else row)
        return result

    def find_row(self, table: Table, key: Row) -> Row | None:
        """One row of a sorted table, values in the order of the schema."""
        found = self.find_version(table, key)
        return None if found is None else found[0]

    def find_version(self, table: Table, key: Row) -> tuple[Row, int] | None:
        """Like `find_row`, with the timestamp of the transaction that wrote the row."""
        tablet = self._readable_tablet(table, 0)
        found = self._state.storage.find_version(tablet.number, table.codec.encode_key(key), LATEST_TIMESTAMP)
        return None if found is None else (decode_values(found.value), found.timestamp)

    def select_rows(
        self,
        query: str,
        *,
        placeholder_values: Mapping[str, Any] | None = None,
        input_row_limit: int | None = None,
        output_row_limit: int | None = None,
        timestamp: int | None = None,
    ) -> list[dict[str, Any]]:
        """Rows a query selects."""

        def open_table(path: str) -> _Source:
            return _Source(self, self.open(path, "read"), timestamp or LATEST_TIMESTAMP)

        result = select(
            query,
            open_table,
            placeholder_values=placeholder_values,
            input_row_limit=input_row_limit,
            output_row_limit=output_row_limit,
        )
        to_map = row_mapper(result.columns)
        return [to_map(row) for row in result.rows]

    def tablet_infos(self, path: str, indexes: Sequence[int]) -> list[dict[str, Any]]:
        """Row counts and write times of tablets, in the order asked."""
        table = self.open(path)
        infos = []
        for index in indexes:
            tablet = self._readable_tablet(table, index)
            infos.append(
                {
                    "total_row_count": tablet.total_row_count,
                    "trimmed_row_count": tablet.trimmed_row_count,
                    "delayed_lockless_row_count": 0,
                    "barrier_timestamp": yson.Uint64(self._state.timestamps.last),
                    "last_write_timestamp": yson.Uint64(tablet.last_write_timestamp),
                }
            )
        return infos

    def trim_rows(self, path: str, tablet_index: int, trimmed_row_count: int) -> None:
        """Hide the rows below an index, and free what can be freed; nothing happens if they are hidden already."""
        table = self.open_ordered(path, "write")
        with self._state.change():
            tablet = self._writable_tablet(table, tablet_index)
            if trimmed_row_count > tablet.total_row_count:
                raise YtError(
                    f"Cannot trim tablet {tablet.id} at row {trimmed_row_count} since it only has"
                    f" {tablet.total_row_count} row(s)"
                )
            if trimmed_row_count > tablet.trimmed_row_count:
                trimmed = replace(tablet, trimmed_row_count=trimmed_row_count)
                self._state.put_tablet(trimmed)
                drop_trimmed(self._state, trimmed)

    def read_ordered(self, table: Table, index: int, lower: int, upper: int = MAX_ROW_INDEX) -> Iterator[Row]:
        """Available rows of one tablet with `lower <= row index < upper`, values in the order of the query columns."""
        tablet = self._readable_tablet(table, index)
        system = [(position + 2, name == TIMESTAMP) for position, name in _system_positions(table.schema)]
        rows = self._state.storage.ordered_rows(tablet.number, max(lower, tablet.trimmed_row_count), upper)
        for row_index, timestamp, cumulative_data_weight, value in rows:
            values: list[Any] = [index, row_index, *decode_values(value)]
            for position, is_timestamp in system:
                values.insert(position, timestamp if is_timestamp else cumulative_data_weight)
            yield tuple(values)

    def store_end(self, table: Table, index: int, row_index: int) -> int:
        """Where the segment ends that holds a row of a tablet, or would if rows were not trimmed."""
        tablet = self._readable_tablet(table, index)
        return store_end(self._state.segments(tablet), tablet, max(row_index, tablet.trimmed_row_count))

    def read_sorted(self, table: Table, lower: bytes, upper: bytes | None, timestamp: int) -> Iterator[Row]:
        """Rows of a sorted table by encoded key, `lower <= key < upper`."""
        tablet = self._readable_tablet(table, 0)
        for row in self._state.storage.sorted_rows(tablet.number, lower, upper, timestamp):
            yield decode_values(row.value)

    def tablet_count(self, table: Table) -> int:
        return len(self._state.tablets(table.node.id))

    def _append_to(self, table: Table, tablet: Tablet, rows: Sequence[Row], timestamp: int) -> None:
        weight = tablet.cumulative_data_weight
        fixed = _SYSTEM_VALUE_WEIGHT * len(_system_positions(table.schema))
        stored = []
        for position, values in enumerate(rows, start=tablet.total_row_count):
            weight += data_weight(values) + fixed
            stored.append(OrderedRow(position, timestamp, weight, encode_values(values)))
        self._state.storage.append_rows(tablet.number, stored)
        self._state.put_tablet(
            replace(
                tablet,
                total_row_count=tablet.total_row_count + len(rows),
                cumulative_data_weight=weight,
                last_write_timestamp=timestamp,
            )
        )

    def _put_versions(self, tablet: Tablet, timestamp: int, versions: Mapping[bytes, bytes | None]) -> None:
        self._state.storage.put_versions(tablet.number, timestamp, versions.items())
        horizon = timestamp - (_VERSIONS_KEPT_SECONDS << 30)
        self._state.storage.drop_old_versions(tablet.number, versions, horizon)
        self._state.put_tablet(replace(tablet, last_write_timestamp=timestamp))

    def _find_value(self, tablet: Tablet, key: bytes, timestamp: int) -> bytes | None:
        found = self._state.storage.find_version(tablet.number, key, timestamp)
        return found.value if found else None

    def _check_required(self, table: Table, values: Row) -> None:
        for column, value in zip(table.codec.write_columns, values, strict=True):
            if column.required and value is None:
                raise YtError(f'Required column "{column.name}" cannot have null value')

    def _choose_tablet(self, table: Table) -> int:
        mounted = [tablet.index for tablet in self._state.tablets(table.node.id) if tablet.state == "mounted"]
        if not mounted:
            raise YtError(f"Table {table.path} has no mounted tablets", ErrorCode.TABLET_NOT_MOUNTED)
        return self._choices.choice(mounted)

    def _writable_tablet(self, table: Table, index: int) -> Tablet:
        tablet = self._tablet(table, index)
        if tablet.state != "mounted":
            raise _not_mounted(table, tablet)
        return tablet

    def _readable_tablet(self, table: Table, index: int) -> Tablet:
        tablet = self._tablet(table, index)
        if not tablet.readable:
            raise _not_mounted(table, tablet)
        return tablet

    def _tablet(self, table: Table, index: int) -> Tablet:
        tablet = self._state.find_tablet(table.node.id, index)
        if tablet is None:
            count = self.tablet_count(table)
            raise YtError(
                f"Invalid tablet index for table {table.path}: expected in range [0,{count - 1}], got {index}",
                ErrorCode.NO_SUCH_TABLET,
            )
        return tablet


class _Source:
    """A dynamic table as queries see it."""

    def __init__(self, tables: DynamicTables, table: Table, timestamp: int) -> None:
        self._tables = tables
        self._table = table
        self._timestamp = timestamp
        self.columns: Sequence[Column] = table.schema.query_columns()
        self.key_width = len(table.schema.key_columns) if table.schema.is_sorted else 2

    def scan(self, ranges: Sequence[KeyRange]) -> Iterator[Row]:
        """Rows in the ranges; YtError 1702 if a tablet they touch is not mounted."""
        if self._table.schema.is_sorted:
            return self._scan_sorted(ranges)
        return self._scan_ordered(ranges)

    def _scan_sorted(self, ranges: Sequence[KeyRange]) -> Iterator[Row]:
        encoder = KeyEncoder(self._table.schema.key_columns)
        for key_range in ranges:
            lower, upper = key_range.encoded(encoder)
            yield from self._tables.read_sorted(self._table, lower, upper, self._timestamp)

    def _scan_ordered(self, ranges: Sequence[KeyRange]) -> Iterator[Row]:
        for index in range(self._tables.tablet_count(self._table)):
            for key_range in ranges:
                bounds = key_range.row_indexes(index)
                if bounds is not None:
                    lower, upper = bounds
                    yield from self._tables.read_ordered(
                        self._table, index, lower, MAX_ROW_INDEX if upper is None else upper
                    )


def _system_positions(schema: TableSchema) -> list[tuple[int, str]]:
    """Where the columns the system fills in stand in the schema, in order."""
    return [
        (position, column.name)
        for position, column in enumerate(schema.columns)
        if column.name in (TIMESTAMP, CUMULATIVE_DATA_WEIGHT)
    ]


def _versioned(row: dict[str, Any], schema: TableSchema, timestamp: int) -> Any:
    keys = {column.name for column in schema.key_columns}
    stamp = yson.Uint64(timestamp)
    values = {
        name: value if name in keys else [yson.with_attributes(value, {"timestamp": stamp})]
        for name, value in row.items()
    }
    return yson.with_attributes(values, {"write_timestamps": [stamp], "delete_timestamps": []})


def _not_mounted(table: Table, tablet: Tablet) -> YtError:
    return YtError(
        f'Tablet {tablet.id} of table {table.path} is in "{tablet.state}" state',
        ErrorCode.TABLET_NOT_MOUNTED,
        {"tablet_id": tablet.id},
    )
