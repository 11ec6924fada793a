"""What a cluster is made of: nodes of its tree and tablets of its tables, as immutable records."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import attrgetter
from typing import Any, Final

from yt_local.schema.keys import Row
from yt_local.schema.rows import decode_values, encode_values
from yt_local.schema.schema import TableSchema, parse_schema
from yt_local.store.records import dump_record
from yt_wire import yson


@dataclass(frozen=True, slots=True)
class TableState:
    """What a table has beyond a node."""

    schema: TableSchema
    dynamic: bool
    weak: bool = False
    """`schema_mode`: nobody has given the table a schema, so that what it holds may change it."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a static table or a file holds."""

    chunk_ids: tuple[str, ...] = ()
    """In the order of their rows or bytes; a chunk may be part of other contents too."""

    md5: str | None = None
    """Of all bytes of a file, if it was asked for when they were written."""

    appended_count: int | None = 0
    """In a transaction: how many chunks at the end it has added to what others see; None if it has replaced all."""

    @property
    def settled(self) -> Content:
        """The same as content that others see too."""
        return self if self.appended_count == 0 else replace(self, appended_count=0)

    def merged_into(self, earlier: Content) -> Content:
        """What becomes of `earlier`, the version of others, when the transaction that has this one is committed."""
        if self.appended_count is None:
            return self
        added = self.chunk_ids[len(self.chunk_ids) - self.appended_count :]
        if not added:
            return earlier
        chunk_ids = (*earlier.chunk_ids, *added)
        count = None if earlier.appended_count is None else earlier.appended_count + len(added)
        return Content(chunk_ids, self.md5 if chunk_ids == self.chunk_ids else None, count)


NO_CONTENT: Final = Content()


EXPIRATION_TIME: Final = "expiration_time"
EXPIRATION_TIMEOUT: Final = "expiration_timeout"

LIST: Final = "list_node"
"""Type of nodes whose children have places instead of names."""

_NESTED: Final = frozenset({"table", "attributes", "content", "items"})
"""Members of a node that have an encoding of their own."""


@dataclass(frozen=True, slots=True)
class Node:
    """One node of the Cypress tree."""

    id: str
    type: str
    """`map_node`, `table`, `document`, `string_node`, `link`, ..."""

    parent_id: str | None
    """None for the root, and for a node that is no part of the tree (any more, or yet) but that a transaction needs."""

    name: str
    """Key in the parent, or the own id below a list; empty for the root alone."""

    creation_time: str
    modification_time: str
    revision: int
    attribute_revision: int
    content_revision: int
    value: Any = None
    """Of scalars and documents; the target path of a link. Files of earlier versions keep lists so, without items."""

    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Set by users; builtin attributes that can be set are kept here too."""

    table: TableState | None = None
    content: Content = NO_CONTENT
    items: tuple[str, ...] = ()
    """Of a list: the ids of its children, in their order."""

    @property
    def expires(self) -> bool:
        """Whether it is to go by itself."""
        return EXPIRATION_TIME in self.attributes or EXPIRATION_TIMEOUT in self.attributes

    def expiry(self, touched: float) -> float:
        """When it is to go, in seconds since the epoch, if nobody wants it any more after it was `touched`."""
        moment, timeout = self.attributes.get(EXPIRATION_TIME), self.attributes.get(EXPIRATION_TIMEOUT)
        return min(
            math.inf if moment is None else datetime.fromisoformat(moment).timestamp(),
            math.inf if timeout is None else touched + timeout / 1000,
        )

    def encode(self) -> bytes:
        record = {name: getattr(self, name) for name in self.__slots__ if name not in _NESTED}
        record["attributes"] = dict(self.attributes)
        if self.table:
            record["table"] = {
                "schema": self.table.schema.to_yson(),
                "dynamic": self.table.dynamic,
                "weak": self.table.weak,
            }
        if self.content != NO_CONTENT:
            record["content"] = {
                "chunk_ids": list(self.content.chunk_ids),
                "md5": self.content.md5,
                "appended_count": self.content.appended_count,
            }
        if self.items:
            record["items"] = list(self.items)
        return dump_record(record)

    @classmethod
    def decode(cls, data: bytes) -> Node:
        record = yson.loads(data)
        table = record.pop("table", None)
        if table:
            schema = parse_schema(table["schema"])
            table = TableState(schema, table["dynamic"], table.get("weak", not schema.columns))
        content = record.pop("content", None)
        if content:
            content = Content(tuple(content["chunk_ids"]), content["md5"], content["appended_count"])
        items = tuple(record.pop("items", ()))
        return cls(**record, table=table, content=content or NO_CONTENT, items=items)


@dataclass(frozen=True, slots=True)
class Transaction:
    """A master transaction that has neither been committed nor aborted."""

    id: str
    parent_id: str | None
    timeout: int
    """Milliseconds it lives without a ping."""

    deadline: float | None
    """Seconds since the epoch after which no ping helps."""

    start_time: str
    title: str | None
    owner: str
    attributes: Mapping[str, Any]
    """Users' own."""

    prerequisite_ids: Sequence[str] = ()
    """Transactions it does not outlive."""

    @property
    def type(self) -> str:
        return "transaction" if self.parent_id is None else "nested_transaction"

    def encode(self) -> bytes:
        record = {name: getattr(self, name) for name in self.__slots__}
        record.update(attributes=dict(self.attributes), prerequisite_ids=list(self.prerequisite_ids))
        return dump_record(record)

    @classmethod
    def decode(cls, data: bytes) -> Transaction:
        return cls(**yson.loads(data))


@dataclass(frozen=True, slots=True)
class Branch:
    """What one transaction sees otherwise at one node: what it has changed, or, under a snapshot lock, all of it."""

    transaction_id: str
    node: Node
    """The node with revisions, times, name and parent as they are in the transaction. Its attributes are those in a
    snapshot and else empty; its value, table and the like count in a snapshot and if `replaced`."""

    snapshot: bool = False
    replaced: bool = False
    """Whether more than attributes and children has been changed."""

    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Attributes that have been set."""

    removed_attributes: Set[str] = frozenset()
    children: Mapping[str, str | None] = field(default_factory=dict)
    """Ids of children by name, None for one that has been removed; of all children in a snapshot."""

    @property
    def node_ids(self) -> Iterator[str]:
        """All nodes the branch needs."""
        yield self.node.id
        yield from (child_id for child_id in self.children.values() if child_id)

    def encode(self) -> bytes:
        return dump_record(
            {
                "transaction_id": self.transaction_id,
                "node": self.node.encode(),
                "snapshot": self.snapshot,
                "replaced": self.replaced,
                "attributes": dict(self.attributes),
                "removed_attributes": sorted(self.removed_attributes),
                "children": list(self.children.items()),
            }
        )

    @classmethod
    def decode(cls, data: bytes) -> Branch:
        record = yson.loads(data)
        node, removed = record.pop("node"), record.pop("removed_attributes")
        return cls(
            **{**record, "children": dict(record["children"])},
            node=Node.decode(yson.bytes_of(node)),
            removed_attributes=frozenset(removed),
        )


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

    flushed_row_count: int = 0
    """Ordered: index after the last row that is part of a segment."""

    trimmed_row_count: int = 0
    """Ordered: index of the first row that is still there."""

    cumulative_data_weight: int = 0
    """Ordered: of all rows ever written."""

    flushed_data_weight: int = 0
    """Ordered: cumulative weight of the last row that is part of a segment."""

    last_write_timestamp: int = 0
    pivot_key: Row = ()
    """Sorted: the least key, or beginning of a key, that belongs here."""

    @property
    def readable(self) -> bool:
        return self.state in ("mounted", "frozen")

    def encode(self) -> bytes:
        record = dict(zip(self.__slots__, _values_of(self), strict=True))
        # Values of keys must come back exactly, whatever is in them.
        record["pivot_key"] = encode_values(self.pivot_key) if self.pivot_key else None
        return dump_record(record)

    @classmethod
    def decode(cls, data: bytes) -> Tablet:
        record = yson.loads(data)
        pivot_key = record.pop("pivot_key", None)
        return cls(**record, pivot_key=() if pivot_key is None else decode_values(yson.bytes_of(pivot_key)))

    @property
    def has_unflushed_rows(self) -> bool:
        return self.total_row_count > self.flushed_row_count

    def moved_to(self, table_id: str, number: int, tablet_id: str) -> Tablet:
        """The same tablet as part of a copy of its table."""
        return replace(self, table_id=table_id, number=number, id=tablet_id, state="unmounted", cell_id=None)


_values_of = attrgetter(*Tablet.__slots__)


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows of an ordered tablet that were flushed together: what a chunk is to a real cluster."""

    chunk_id: str
    row_index: int
    """Of the first row, trimmed rows of the tablet counted."""

    row_count: int
    data_weight: int
    min_timestamp: int
    max_timestamp: int

    @property
    def upper_row_index(self) -> int:
        return self.row_index + self.row_count

    def encode(self) -> bytes:
        return dump_record({name: getattr(self, name) for name in self.__slots__})

    @classmethod
    def decode(cls, data: bytes) -> Segment:
        return cls(**yson.loads(data))
