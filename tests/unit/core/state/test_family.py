"""Which schemas are those of consumers, and which errors the others get."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from queue_agent.core.state.family import (
    find_consumer_row_error,
    find_queue_row_error,
    has_meta_column,
    is_multi_consumer,
)
from queue_agent.core.state.rows import ConsumerRow, MappingRow, QueueRow
from queue_agent.core.values.error_info import ErrorInfo
from tests.unit.core.state.test_attributes import CONSUMER, KEYS, META, OFFSET, ORIGIN
from yt_wire import yson

NAME = b"{name=queue_consumer_name;type=string;sort_order=ascending;required=%true};"


def row_of(schema: Any) -> ConsumerRow:
    return ConsumerRow(CONSUMER, row_revision=1, object_type="table", schema=schema)


def schema_of(columns: bytes, flags: bytes) -> Any:
    return yson.loads(b"<" + flags + b">[" + columns + b"]")


def error_of(row: ConsumerRow) -> ErrorInfo:
    error = find_consumer_row_error(row, ORIGIN)
    assert error is not None
    return error


@pytest.mark.parametrize(
    ("flags", "is_known"),
    [
        (b"unique_keys=%true", True),
        (b"unique_keys=%true;strict=%true", True),
        (b"unique_keys=%true;strict=%false", False),
        (b"unique_keys=%false;strict=%true", False),
    ],
)
def test_a_schema_is_strict_unless_it_says_otherwise_and_has_unique_keys_if_it_says_so(
    flags: bytes, is_known: bool
) -> None:
    assert (find_consumer_row_error(row_of(schema_of(KEYS + OFFSET, flags)), ORIGIN) is None) is is_known
    assert is_multi_consumer(row_of(schema_of(NAME + KEYS + OFFSET, flags))) is is_known


@pytest.mark.parametrize("first", [b"", b"{name=other;type=string;sort_order=ascending;required=%true};"])
def test_a_table_of_named_consumers_has_their_names_first(first: bytes) -> None:
    assert not is_multi_consumer(row_of(schema_of(first + KEYS + OFFSET, b"unique_keys=%true")))
    assert not is_multi_consumer(row_of(schema_of(NAME + first + KEYS, b"unique_keys=%true")))


@pytest.mark.parametrize("schema", [5, [5], [{"name": "meta"}]])
def test_a_schema_that_is_none_has_no_unique_keys(schema: Any) -> None:
    assert error_of(row_of(schema)).attributes["actual_schema"] == schema
    assert not is_multi_consumer(row_of(schema))
    assert has_meta_column(row_of(schema)) is (schema == [{"name": "meta"}])


def test_the_schema_that_was_expected_is_told() -> None:
    schema = schema_of(KEYS, b"unique_keys=%true")
    told = error_of(row_of(schema)).attributes
    assert told["actual_schema"] == schema
    columns = yson.loads(b"[" + KEYS + OFFSET + META + b"]")
    assert told["expected_schema"] == columns


def test_why_attributes_could_not_be_read_is_told() -> None:
    cause = ErrorInfo("No such node", 500)
    error = error_of(ConsumerRow(CONSUMER, synchronization_error=cause.to_map()))
    assert (error.message, list(error.inner_errors)) == ("Consumer synchronization failed", [cause])


@pytest.mark.parametrize("object_type", ["replicated_table", "chaos_replicated_table"])
def test_a_replicated_object_has_to_have_a_mapping_that_makes_sense(object_type: str) -> None:
    queue = QueueRow(CONSUMER, row_revision=1, object_type=object_type, dynamic=True, sorted=False)
    reading = replace(row_of(schema_of(KEYS + OFFSET, b"unique_keys=%true")), object_type=object_type)
    of_queue, of_consumer = find_queue_row_error(queue, ORIGIN), find_consumer_row_error(reading, ORIGIN)
    assert of_queue is not None
    assert of_queue.message == "No replicated table mapping row is known for replicated queue"
    assert of_consumer is not None
    assert of_consumer.message == "No replicated table mapping row is known for replicated consumer"
    broken = MappingRow(CONSUMER, object_type=object_type)
    assert find_queue_row_error(queue, ORIGIN, broken) == find_consumer_row_error(reading, ORIGIN, broken)
    meta = {f"{object_type.removesuffix('_table')}_table_meta": {"replicas": {}, "replication_card_id": "1-2-3-4"}}
    good = replace(broken, meta=meta)
    assert find_queue_row_error(queue, ORIGIN, good) is find_consumer_row_error(reading, ORIGIN, good) is None
