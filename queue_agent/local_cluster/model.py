"""What a cluster is made of: nodes of its tree and tablets of its tables, as immutable records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from queue_agent.local_cluster.schema import TableSchema, parse_schema
from queue_agent.wire import yson


@dataclass(frozen=True, slots=True)
class TableState:
    """What a table has beyond a node."""

    schema: TableSchema
    dynamic: bool


@dataclass(frozen=True, slots=True)
class Node:
    """One node of the Cypress tree."""

    id: str
    type: str
    """`map_node`, `table`, `document`, `string_node`, `link`, ..."""

    parent_id: str | None
    """None for the root."""

    name: str
    """Key in the parent."""

    creation_time: str
    modification_time: str
    revision: int
    attribute_revision: int
    content_revision: int
    value: Any = None
    """Of scalars, lists and documents; the target path of a link."""

    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Set by users; builtin attributes that can be set are kept here too."""

    table: TableState | None = None

    def encode(self) -> bytes:
        record = {name: getattr(self, name) for name in self.__slots__ if name not in ("table", "attributes")}
        record["attributes"] = dict(self.attributes)
        if self.table:
            record["table"] = {"schema": self.table.schema.to_yson(), "dynamic": self.table.dynamic}
        return yson.dumps(record)

    @classmethod
    def decode(cls, data: bytes) -> Node:
        record = yson.loads(data)
        table = record.pop("table", None)
        if table:
            table = TableState(schema=parse_schema(table["schema"]), dynamic=table["dynamic"])
        return cls(**record, table=table)


@dataclass(frozen=True, slots=True)
class Tablet:
    """One tablet of a dynamic table."""

    number: int
    """Key of its rows in the storage."""

    id: str
    table_id: str
    index: int
    state: str
    """`mounted`, `frozen` or `unmounted`: transitions are instant here."""

    cell_id: str | None
    mount_revision: int = 0
    total_row_count: int = 0
    """Ordered: index after the last row, trimmed rows included."""

    trimmed_row_count: int = 0
    """Ordered: index of the first row that is still there."""

    cumulative_data_weight: int = 0
    """Ordered: of all rows ever written."""

    last_write_timestamp: int = 0

    @property
    def readable(self) -> bool:
        return self.state in ("mounted", "frozen")

    def encode(self) -> bytes:
        return yson.dumps({name: getattr(self, name) for name in self.__slots__})

    @classmethod
    def decode(cls, data: bytes) -> Tablet:
        return cls(**yson.loads(data))

    def moved_to(self, table_id: str, number: int, tablet_id: str) -> Tablet:
        """The same tablet as part of a copy of its table."""
        return replace(self, table_id=table_id, number=number, id=tablet_id, state="unmounted", cell_id=None)
