"""Tables that keep consumers' offsets: of one consumer, or of several that have names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from yt_local.base.clock import NULL_TIMESTAMP
from yt_local.queues.registrations import Reference
from yt_local.schema.keys import Row
from yt_local.schema.schema import TableSchema, parse_schema
from yt_local.security.permissions import Check
from yt_local.tables.dynamic.open_tables import Table
from yt_local.tables.dynamic.tables import DynamicTables
from yt_wire import yson
from yt_wire.error import YtError


def key_column(name: str, column_type: str) -> dict[str, Any]:
    """A key column of a consumer or producer table, as a schema lists it."""
    return {"name": name, "type": column_type, "sort_order": "ascending", "required": True}


_COLUMNS: Final = (
    key_column("queue_cluster", "string"),
    key_column("queue_path", "string"),
    key_column("partition_index", "uint64"),
    {"name": "offset", "type": "uint64", "required": True},
    {"name": "meta", "type": "any", "required": False},
)
_ATTRIBUTES: Final = {"strict": True, "unique_keys": True}

CONSUMER_SCHEMA: Final = yson.with_attributes(list(_COLUMNS), _ATTRIBUTES)

MULTI_CONSUMER_SCHEMA: Final = yson.with_attributes(
    [key_column("queue_consumer_name", "string"), *_COLUMNS], _ATTRIBUTES
)


def _variants(schema: yson.Yson) -> tuple[TableSchema, TableSchema]:
    """With `meta`, and without."""
    full = parse_schema(schema)
    return full, replace(full, columns=full.columns[:-1])


_OF_ONE: Final = _variants(CONSUMER_SCHEMA)
_OF_SEVERAL: Final = _variants(MULTI_CONSUMER_SCHEMA)


@dataclass(frozen=True, slots=True)
class Consumer:
    """A consumer with its table opened for one command."""

    table: Table
    reference: Reference

    @property
    def has_meta(self) -> bool:
        return any(column.name == "meta" for column in self.table.schema.columns)

    def key(self, queue: Reference, partition_index: int) -> Row:
        """Key of the row for one partition of a queue."""
        name = () if self.reference.consumer_name is None else (self.reference.consumer_name.encode(),)
        return (*name, queue.cluster.encode(), queue.path.encode(), partition_index)

    def row(self, queue: Reference, partition_index: int, offset: int) -> dict[bytes, Any]:
        """The row, without `meta`, that says where the consumer stands."""
        names = [column.name.encode() for column in self.table.schema.key_columns]
        row: dict[bytes, Any] = dict(zip(names, self.key(queue, partition_index), strict=True))
        return {**row, b"offset": offset}

    def stored_offset(
        self, tables: DynamicTables, queue: Reference, partition_index: int, timestamp: int | None = None
    ) -> tuple[int, int]:
        """Where the consumer stood at a timestamp, and when it had said so; 0 and the null timestamp if it never had.

        Without a timestamp: where it stands now.
        """
        if partition_index < 0:
            raise YtError(f"Partition index must not be negative, got {partition_index}")
        key = self.key(queue, partition_index)
        found = tables.find_version(self.table, key, timestamp)
        if found is None:
            return 0, NULL_TIMESTAMP
        row, written = found
        offset = row[len(key)]
        assert isinstance(offset, int), "the column is required"
        return offset, written


def open_consumer(tables: DynamicTables, consumer: Reference, check: Check) -> Consumer:
    """Open a consumer's table.

    Raises:
        YtError: its schema is not a consumer's, or goes with a name where there is none, or the other way round; the
            user lacks the permission.
    """
    table = tables.open(consumer.path, check)
    is_multi = table.schema in _OF_SEVERAL
    if not is_multi and table.schema not in _OF_ONE:
        raise YtError(
            "Table schema is not recognized as a valid consumer schema",
            attributes={"expected_schema": CONSUMER_SCHEMA, "actual_schema": table.schema.to_yson()},
        )
    if is_multi and consumer.consumer_name is None:
        raise YtError("Queue consumer name is required for multi consumer schema")
    if not is_multi and consumer.consumer_name is not None:
        raise YtError("Queue consumer name is not supported for consumer schema")
    return Consumer(table, consumer)
