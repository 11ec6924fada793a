"""Tables for tests of queries, and what a query makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest

from yt_local.query import KeyRange, QueryTable, select
from yt_local.schema.keys import KeyEncoder, Row, Value
from yt_local.schema.schema import Column
from yt_wire.error import YtError
from yt_wire.yson import Yson


class Table:
    """Rows in a list; hands out exactly those in the ranges, and remembers what was asked."""

    def __init__(self, columns: Sequence[Column], rows: Sequence[Row]) -> None:
        self.columns = columns
        self.key_width = sum(column.sort_order is not None for column in columns)
        self._encoder = KeyEncoder(columns[: self.key_width])
        self.rows = sorted(rows, key=self._encoder.encode)
        self.scanned: list[KeyRange] = []
        self.rows_read = 0

    def scan(self, ranges: Sequence[KeyRange]) -> Iterator[Row]:
        self.scanned = list(ranges)
        encoded = [key_range.encoded(self._encoder) for key_range in ranges]
        edges = [edge for interval in encoded for edge in interval]
        assert edges == sorted(edges), "ranges are in order and do not overlap"
        for row in self.rows:
            key = self._encoder.encode(row)
            if any(low <= key < high for low, high in encoded):
                self.rows_read += 1
                yield row


QUEUE_COLUMNS = (
    Column("$tablet_index", "int64", sort_order="ascending"),
    Column("$row_index", "int64", sort_order="ascending"),
    Column("data", "string"),
    Column("$timestamp", "uint64"),
)
CONSUMER_COLUMNS = (
    Column("queue_cluster", "string", required=True, sort_order="ascending"),
    Column("queue_path", "string", required=True, sort_order="ascending"),
    Column("partition_index", "uint64", required=True, sort_order="ascending"),
    Column("offset", "uint64", required=True),
    Column("meta", "any"),
)
VALUE_COLUMNS = (
    Column("k", "int64", sort_order="ascending"),
    Column("i", "int32"),
    Column("u", "uint64"),
    Column("d", "double"),
    Column("s", "utf8"),
    Column("b", "boolean"),
    Column("a", "any"),
)


def queue(tablet_count: int = 3, row_count: int = 10) -> Table:
    rows = [
        (tablet, row, b"%d-%d" % (tablet, row), 1000 + row)
        for tablet in range(tablet_count)
        for row in range(row_count)
    ]
    return Table(QUEUE_COLUMNS, rows)


def consumer() -> Table:
    rows = [
        (cluster, path, partition, partition * 10, None)
        for cluster in (b"hume", b"pythia")
        for path in (b"//a", b"//b")
        for partition in range(4)
    ]
    return Table(CONSUMER_COLUMNS, rows)


def values() -> Table:
    return Table(
        VALUE_COLUMNS,
        [
            (1, 10, 100, 1.5, b"One", True, b"\x022"),
            (2, -20, 2**64 - 1, -2.5, b"two", False, None),
            (3, None, None, None, None, None, None),
        ],
    )


def opening_all(**tables: QueryTable) -> Callable[[str], QueryTable]:
    """Opens `//name` as the table of that name."""
    return lambda path: tables[path.removeprefix("//")]


def joined(text: str, **tables: QueryTable) -> list[Row]:
    return list(select(text, opening_all(**tables)).rows)


def opening(table: QueryTable) -> Callable[[str], QueryTable]:
    return lambda _path: table


def rows_of(text: str, table: QueryTable, placeholder_values: Mapping[str, Yson] | None = None) -> list[Row]:
    return list(select(text, opening(table), placeholder_values).rows)


def evaluate(expression: str) -> list[Value]:
    """Values of the expression for the rows of `values`."""
    return [row[0] for row in rows_of(f"{expression} as x from [//t]", values())]


def constant(expression: str) -> Value:
    return evaluate(expression)[0]


def error_of(text: str, table: QueryTable) -> YtError:
    with pytest.raises(YtError) as caught:
        select(text, opening(table))
    return caught.value
