"""Every type of a column, from a cluster to Arrow and back, and what is refused by the name of its column."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, DecimalType, LongType, StructField, StructType

from queue_agent.spark.encoding import RowEncoder, gathered, rebatched
from queue_agent.spark.errors import ColumnError
from queue_agent.spark.options import OptionReader, ReadOptions
from queue_agent.spark.pulling import RangeReader, RowRange
from queue_agent.spark.queues import Queue
from queue_agent.spark.types import SYSTEM_COLUMNS, spark_schema, table_schema
from queue_agent.spark.values import decimal_bytes, decimal_of
from tests.spark.queues import create_queue, rows_of
from yt_local.testing import LocalCluster
from yt_wire import yson

SIMPLE: dict[str, tuple[str, list[Any]]] = {
    "int8": ("tinyint", [-128, 127]),
    "int16": ("smallint", [-(2**15), 2**15 - 1]),
    "int32": ("int", [-(2**31), 2**31 - 1]),
    "int64": ("bigint", [-(2**63), 2**63 - 1]),
    "uint8": ("smallint", [0, 255]),
    "uint16": ("int", [0, 2**16 - 1]),
    "uint32": ("bigint", [0, 2**32 - 1]),
    "uint64": ("bigint", [0, 2**63 - 1]),
    "float": ("float", [0.5, -1.5]),
    "double": ("double", [1 / 3, 1e300]),
    "bool": ("boolean", [True, False]),
    "string": ("string", [b"a\tb\\n\n\xff", b"\\N"]),
    "utf8": ("string", ["ü".encode(), b""]),
    "json": ("string", [b'{"a":"\\n"}', b"1"]),
    "uuid": ("string", [UUID(int=1).bytes, UUID(int=2**127).bytes]),
    "date": ("date", [0, 49672]),
    "datetime": ("timestamp", [0, 1_700_000_000]),
    "timestamp": ("timestamp", [0, 1_700_000_000_123_456]),
    "interval": ("bigint", [-5, 5]),
}
"""By type: its name in Spark, and values as the cluster has them."""

COMPOSITE: dict[str, tuple[Any, str, list[Any]]] = {
    "numbers": ({"type_name": "list", "item": "uint64"}, "array<bigint>", [[1, 2], []]),
    "holes": (
        {"type_name": "list", "item": {"type_name": "optional", "item": "utf8"}},
        "array<string>",
        [["a", None], [None]],
    ),
    "point": (
        {"type_name": "struct", "members": [{"name": "x", "type": "int64"}, {"name": "y", "type": "string"}]},
        "struct<x:bigint,y:string>",
        [[1, "one"], [2, "two"]],
    ),
    "pair": (
        {"type_name": "tuple", "elements": [{"type": "int64"}, {"type": "bool"}]},
        "struct<_1:bigint,_2:boolean>",
        [[1, True], [2, False]],
    ),
    "names": (
        {"type_name": "dict", "key": "string", "value": "int64"},
        "map<string,bigint>",
        [[["a", 1]], [["b", 2], ["c", 3]]],
    ),
    "either": (
        {"type_name": "variant", "members": [{"name": "a", "type": "int64"}, {"name": "b", "type": "string"}]},
        "struct<_va:bigint,_vb:string>",
        [["a", 1], ["b", "two"]],
    ),
    "tagged": (
        {"type_name": "tagged", "tag": "t", "item": {"type_name": "list", "item": "date"}},
        "array<date>",
        [[0, 1], [2]],
    ),
}


def read_options(cluster: LocalCluster, path: str, **options: str) -> ReadOptions:
    return OptionReader({"path": path, "proxy": cluster.address, "retries": "1", **options}, {}, {}).read_options()


def read(options: ReadOptions) -> tuple[StructType, pa.Table]:
    """All rows of partition 0, as Spark would get them."""
    queue = Queue(options)
    schema = spark_schema(queue.info().columns, options.types)
    batches = list(RangeReader(options, schema).read(RowRange(0, 0, queue.bound(0).upper_row_index)))
    return schema, pa.Table.from_batches(batches)


def write_back(cluster: LocalCluster, source: str, target: str, **options: str) -> list[dict[str, Any]]:
    """Read one queue and write what came to another one."""
    schema, table = read(read_options(cluster, source, **options))
    columns = Queue(read_options(cluster, target)).info().columns
    encoder = RowEncoder(schema, columns, is_queue=True, write_type_v3=True)
    rows = encoder.encode(table.combine_chunks().to_batches()[0])
    cluster.client.insert_rows(target, rows, format="<format=binary>yson", raw=True)
    return plain_rows(cluster, target)


def plain_rows(cluster: LocalCluster, path: str) -> list[dict[str, Any]]:
    """Rows without what the cluster adds to them."""
    return [
        {
            name: yson.bytes_of(value) if yson.is_string(value) else value
            for name, value in row.items()
            if name[0] != "$"
        }
        for row in rows_of(cluster, path)
    ]


def queue_of(cluster: LocalCluster, path: str, types: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    schema = [{"name": name, "type_v3": {"type_name": "optional", "item": type_v3}} for name, type_v3 in types.items()]
    create_queue(cluster, path, schema)
    cluster.client.insert_rows(path, rows)
    return path


def test_simple_types_come_and_go_unchanged(home: LocalCluster, folder: str) -> None:
    types = {name: name for name in SIMPLE}
    unsigned = ("uint8", "uint16", "uint32", "uint64", "date", "datetime", "timestamp")
    rows = [
        {name: yson.Uint64(values[i]) if name in unsigned else values[i] for name, (_, values) in SIMPLE.items()}
        for i in range(2)
    ]
    source = queue_of(home, f"{folder}/source", types, [*rows, {}])
    target = queue_of(home, f"{folder}/target", types, [])

    schema, table = read(read_options(home, source))

    assert {field.name: field.dataType.simpleString() for field in schema.fields} == {
        name: spark for name, (spark, _) in SIMPLE.items()
    }
    assert table.column("uuid").to_pylist() == [str(UUID(int=1)), str(UUID(int=2**127)), None]
    assert table.column("datetime").to_pylist()[1].isoformat() == "2023-11-14T22:13:20+00:00"
    assert write_back(home, source, target) == plain_rows(home, source)


def test_a_carriage_return_in_a_string_ends_no_row(home: LocalCluster, folder: str) -> None:
    source = queue_of(home, f"{folder}/source", {"text": "string"}, [{"text": "a\rb\r"}, {"text": "\r\n"}])

    _, table = read(read_options(home, source))

    assert table.column("text").to_pylist() == ["a\rb\r", "\r\n"]


def test_composite_types_come_and_go_unchanged(home: LocalCluster, folder: str) -> None:
    types = {name: type_v3 for name, (type_v3, _, _) in COMPOSITE.items()}
    rows = [{name: values[i] for name, (_, _, values) in COMPOSITE.items()} for i in range(2)]
    source = queue_of(home, f"{folder}/source", types, [*rows, {}])
    target = queue_of(home, f"{folder}/target", types, [])

    schema, _ = read(read_options(home, source, parsing_type_v3="true"))

    assert {field.name: field.dataType.simpleString() for field in schema.fields} == {
        name: spark for name, (_, spark, _) in COMPOSITE.items()
    }
    assert write_back(home, source, target, parsing_type_v3="true") == plain_rows(home, source)


def test_composite_columns_are_yson_without_parsing_type_v3(home: LocalCluster, folder: str) -> None:
    types = {"point": COMPOSITE["point"][0], "free": "yson"}
    source = queue_of(home, f"{folder}/source", types, [{"point": [1, "one"], "free": {"a": [1, None]}}])
    target = queue_of(home, f"{folder}/target", types, [])

    schema, table = read(read_options(home, source))

    assert [field.dataType for field in schema.fields] == [BinaryType(), BinaryType()]
    assert yson.loads(table.column("free")[0].as_py()) == {"a": [1, None]}
    assert write_back(home, source, target) == plain_rows(home, source)
    _, text = read(read_options(home, source, any_as_json="true"))
    assert text.column("free").to_pylist() == ['{"a": [1, null]}']


def test_decimals_come_and_go_unchanged(home: LocalCluster, folder: str) -> None:
    types = {"amount": {"type_name": "decimal", "precision": 12, "scale": 2}}
    rows = [{"amount": decimal_bytes(Decimal(value), 12, 2)} for value in ("-1234567890.12", "0.01")]
    source = queue_of(home, f"{folder}/source", types, [*rows, {}])
    target = queue_of(home, f"{folder}/target", types, [])

    schema, table = read(read_options(home, source))

    assert schema["amount"].dataType == DecimalType(12, 2)
    assert table.column("amount").to_pylist() == [Decimal("-1234567890.12"), Decimal("0.01"), None]
    assert write_back(home, source, target) == plain_rows(home, source)


@pytest.mark.parametrize(("precision", "length"), [(9, 4), (18, 8), (35, 16)])
def test_a_decimal_is_stored_so_that_bytes_sort_like_numbers(precision: int, length: int) -> None:
    values = [Decimal("-3.50"), Decimal("-0.01"), Decimal(0), Decimal("2.25")]

    stored = [decimal_bytes(value, precision, 2) for value in values]

    assert stored == sorted(stored)
    assert {len(data) for data in stored} == {length}
    assert [decimal_of(data, 2) for data in stored] == values


def test_unsigned_numbers_beyond_long_are_refused_or_decimals(home: LocalCluster, folder: str) -> None:
    source = queue_of(home, f"{folder}/source", {"big": "uint64"}, [{"big": yson.Uint64(2**64 - 1)}])
    target = queue_of(home, f"{folder}/target", {"big": "uint64"}, [])

    with pytest.raises(ColumnError, match=rf'column "big" has the value {2**64 - 1}.* uint64_as=decimal'):
        read(read_options(home, source))
    _, table = read(read_options(home, source, uint64_as="decimal"))
    assert table.column("big").to_pylist() == [Decimal(2**64 - 1)]
    assert write_back(home, source, target, uint64_as="decimal") == plain_rows(home, source)


def test_types_that_spark_has_not_are_refused_by_the_name_of_the_column(home: LocalCluster, folder: str) -> None:
    nested = {"type_name": "optional", "item": {"type_name": "optional", "item": "int64"}}
    source = queue_of(home, f"{folder}/source", {"twice": nested, "fine": "int64"}, [{"fine": 1}])
    options = read_options(home, source, parsing_type_v3="true")

    with pytest.raises(ColumnError, match=r'column "twice": .* leave it out with the option "columns"'):
        spark_schema(Queue(options).info().columns, options.types)


def test_strings_can_be_binary(home: LocalCluster, folder: str) -> None:
    source = queue_of(home, f"{folder}/source", {"data": "string"}, [{"data": b"\xff"}])

    schema, table = read(read_options(home, source, string_as_binary="true"))

    assert schema["data"].dataType == BinaryType()
    assert table.column("data").to_pylist() == [b"\xff"]


def test_a_dot_in_a_name_becomes_a_line(home: LocalCluster, folder: str) -> None:
    source = queue_of(home, f"{folder}/source", {"a.b": "int64"}, [{"a.b": 1}])
    target = queue_of(home, f"{folder}/target", {"a.b": "int64"}, [])

    schema, _ = read(read_options(home, source))

    assert schema.fieldNames() == ["a_b"]
    assert write_back(home, source, target) == [{"a.b": 1}]


def test_frames_that_do_not_fit_a_table_are_refused_by_the_name_of_the_column(home: LocalCluster, folder: str) -> None:
    columns = Queue(read_options(home, queue_of(home, f"{folder}/t", {"number": "int64"}, []))).info().columns

    def refused(schema: StructType, message: str) -> None:
        with pytest.raises(ColumnError, match=message):
            RowEncoder(schema, columns, is_queue=True, write_type_v3=False)

    refused(StructType([StructField("other", LongType())]), 'column "other" is not in the table')
    refused(StructType([StructField("number", BinaryType())]), 'column "number": binary cannot be written to int64')
    RowEncoder(
        StructType([StructField("number", LongType()), *(StructField(name, LongType()) for name in SYSTEM_COLUMNS)]),
        columns,
        is_queue=True,
        write_type_v3=False,
    )


def test_a_table_for_a_frame_keeps_the_types_of_columns_that_came_from_one(home: LocalCluster, folder: str) -> None:
    types = {"count": "uint64", "day": "date", "numbers": COMPOSITE["numbers"][0]}
    options = read_options(home, queue_of(home, f"{folder}/t", types, []), parsing_type_v3="true")
    schema = spark_schema(Queue(options).info().columns, options.types).add("new", LongType(), nullable=False)

    described = {entry["name"]: entry["type_v3"] for entry in table_schema(schema, type_v3=True)}

    assert described["count"] == {"type_name": "optional", "item": "uint64"}
    assert described["day"] == {"type_name": "optional", "item": "date"}
    assert described["numbers"]["item"]["type_name"] == "list"
    assert described["new"] == "int64"


def test_batches_are_put_together_and_cut_without_losing_a_row() -> None:
    batches = [pa.record_batch({"n": list(range(first, first + count))}) for first, count in ((0, 3), (3, 0), (3, 7))]

    sizes = [batch.num_rows for batch in rebatched(iter(batches), 4)]
    numbers = [n for batch in rebatched(iter(batches), 4) for n in batch.column("n").to_pylist()]

    assert sizes == [4, 4, 2]
    assert numbers == list(range(10))


def test_batches_are_gathered_until_they_have_enough_rows_or_bytes() -> None:
    batches = [pa.RecordBatch.from_pydict({"n": pa.array(range(count), pa.int64())}) for count in (2, 0, 2, 1, 5, 1)]

    def sizes(row_count: int, byte_count: int) -> list[int]:
        return [batch.num_rows for batch in gathered(iter(batches), row_count, byte_count)]

    assert sizes(4, 1 << 20) == [4, 6, 1]
    assert sizes(100, 3 * 8) == [4, 6, 1]
    assert sizes(100, 1 << 20) == [11]
