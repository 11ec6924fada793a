from __future__ import annotations

from typing import Any

import pytest

from queue_agent.adapters.state.state_rows import (
    read_consumer,
    read_consumer_name,
    read_mapping,
    read_queue,
    read_registration,
    write_consumer,
    write_mapping,
    write_queue,
)
from queue_agent.core.state.rows import ConsumerNameRow, ConsumerRow, MappingRow, QueueRow, Registration
from queue_agent.core.values.encoding import Unsigned
from queue_agent.core.values.refs import CrossClusterRef
from yt_wire import yson

REF = CrossClusterRef("hume", "//tmp/q")
SCHEMA = yson.loads(b"<strict=%true;unique_keys=%true>[{name=a;type=string;sort_order=ascending}]")

QUEUE = QueueRow(
    queue=REF,
    row_revision=1,
    revision=2**63 + 5,
    object_type="table",
    dynamic=True,
    sorted=False,
    auto_trim_config={"enable": True},
    static_export_config={"default": {"export_period": 5}},
    queue_agent_stage="production",
    object_id="1-2-3-4",
    queue_agent_banned=False,
    synchronization_error={"code": 0, "message": "", "attributes": {}},
    queue_profiling_tag="tag",
)
CONSUMER = ConsumerRow(
    consumer=REF,
    row_revision=1,
    revision=2,
    object_type="table",
    treat_as_queue_consumer=True,
    schema=SCHEMA,
    queue_agent_stage="production",
    queue_agent_banned=False,
    synchronization_error={"code": 1, "message": "no", "attributes": {}},
    queue_consumer_profiling_tag="tag",
)


def on_the_wire(row: Any) -> Any:
    return yson.loads(yson.dumps(row))


@pytest.mark.parametrize("row", [QUEUE, QueueRow(REF)])
def test_a_queue_row_comes_back_as_it_was_written(row: QueueRow) -> None:
    assert read_queue(on_the_wire(write_queue(row))) == row


@pytest.mark.parametrize("row", [CONSUMER, ConsumerRow(REF)])
def test_a_consumer_row_comes_back_as_it_was_written(row: ConsumerRow) -> None:
    read = read_consumer(on_the_wire(write_consumer(row)))
    assert read == row
    assert yson.attributes_of(read.schema) == yson.attributes_of(row.schema)


def test_all_columns_are_written_and_revisions_are_unsigned() -> None:
    written = write_queue(QueueRow(REF, revision=5))
    assert set(written) == {
        "cluster",
        "path",
        "row_revision",
        "revision",
        "object_type",
        "dynamic",
        "sorted",
        "auto_trim_config",
        "static_export_config",
        "queue_agent_stage",
        "object_id",
        "queue_agent_banned",
        "synchronization_error",
        "queue_profiling_tag",
    }
    assert written["row_revision"] is None
    assert yson.dumps(written["revision"], "text") == b"5u"


def test_a_schema_is_stored_in_a_list_for_its_attributes_to_survive() -> None:
    cell = write_consumer(CONSUMER)["schema"]
    assert isinstance(cell, list)
    assert not yson.attributes_of(cell)
    assert yson.attributes_of(cell[0]) == {"strict": True, "unique_keys": True}


def test_unsigned_numbers_in_errors_stay_unsigned() -> None:
    error = {"code": 1, "message": "no", "attributes": {"tid": Unsigned(5)}}
    written = write_queue(QueueRow(REF, synchronization_error=error))
    assert yson.dumps(written["synchronization_error"]["attributes"]["tid"], "text") == b"5u"


def test_columns_a_table_lacks_are_null_and_those_it_has_beyond_are_ignored() -> None:
    assert read_queue({"cluster": "hume", "path": "//tmp/q", "future": 1}) == QueueRow(REF)
    assert read_consumer({"cluster": "hume", "path": "//tmp/q", "future": 1}) == ConsumerRow(REF)


@pytest.mark.parametrize("cell", [[], [1, 2], {}, "x"])
def test_a_schema_that_can_not_be_unwrapped_is_none_and_does_not_hide_other_rows(cell: Any) -> None:
    assert read_consumer({"cluster": "hume", "path": "//tmp/q", "schema": cell}).schema is None


@pytest.mark.parametrize(
    ("vital", "partitions", "expected"),
    [
        (True, [1, 2], (True, (1, 2))),
        (False, [], (False, None)),
        (None, None, (False, None)),
        (True, {"a": 1}, (True, None)),
        (True, ["x"], (True, None)),
    ],
)
def test_registrations_without_partitions_are_for_all_of_them(
    vital: bool | None, partitions: Any, expected: tuple[bool, tuple[int, ...] | None]
) -> None:
    row = {
        "queue_cluster": "pythia",
        "queue_path": "//tmp/q",
        "consumer_cluster": "hume",
        "consumer_path": "//tmp/c",
        "vital": vital,
        "partitions": partitions,
    }
    queue, consumer = CrossClusterRef("pythia", "//tmp/q"), CrossClusterRef("hume", "//tmp/c")
    assert read_registration(row) == Registration(queue, consumer, *expected)


@pytest.mark.parametrize(("name", "expected"), [("a", "a"), ("", ""), (None, "")])
def test_a_registration_may_be_that_of_a_named_consumer(name: str | None, expected: str) -> None:
    row = {
        "queue_cluster": "pythia",
        "queue_path": "//tmp/q",
        "consumer_cluster": "hume",
        "consumer_path": "//tmp/c",
        "consumer_name": name,
    }
    assert read_registration(row).consumer == CrossClusterRef("hume", "//tmp/c", expected)


META = {"replicated_table_meta": {"replicas": {"1": {"cluster_name": "hume", "replica_path": "//r", "mode": "sync"}}}}


@pytest.mark.parametrize(
    "row",
    [
        MappingRow(REF),
        MappingRow(REF, 2**63 + 5, "replicated_table", META, {"code": 0, "message": "", "attributes": {}}),
    ],
)
def test_a_mapping_row_comes_back_as_it_was_written(row: MappingRow) -> None:
    assert read_mapping(on_the_wire(write_mapping(row))) == row


def test_a_mapping_row_lists_its_replicas_for_those_who_look_for_their_table() -> None:
    assert write_mapping(MappingRow(REF, 1, "replicated_table", META))["replica_list"] == ["hume://r"]
    assert write_mapping(MappingRow(REF))["replica_list"] is None


def test_a_consumer_name_is_read_with_its_table() -> None:
    row = {"cluster": "hume", "path": "//tmp/q", "name": "a", "queue_agent_stage": None}
    assert read_consumer_name(row) == ConsumerNameRow(CrossClusterRef("hume", "//tmp/q", "a"))
