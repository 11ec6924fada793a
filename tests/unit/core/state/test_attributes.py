"""Attributes become rows, and rows are judged."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from queue_agent.core.state.attributes import (
    build_consumer_row,
    build_mapping_row,
    build_queue_row,
    find_revision,
    find_tablet_ids,
    read_revision,
    unfetched_consumer_row,
    unfetched_queue_row,
    with_default_stage,
)
from queue_agent.core.state.family import (
    find_consumer_row_error,
    find_queue_row_error,
    has_meta_column,
    is_multi_consumer,
)
from queue_agent.core.state.rows import ConsumerRow, MappingRow, QueueRow
from queue_agent.core.values.encoding import MAX_UNSIGNED
from queue_agent.core.values.error_info import OK_ERROR, ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef
from yt_wire import yson

ORIGIN = Origin("agent-1", 481, 7, "Controller:0", 8, "1-2-3-4", 9, datetime(2025, 1, 23, tzinfo=UTC))
QUEUE = CrossClusterRef("pythia", "//tmp/q")
CONSUMER = CrossClusterRef("hume", "//tmp/c")

QUEUE_ATTRIBUTES = yson.loads(
    b'{attribute_revision=77u;type=table;dynamic=%true;sorted=%false;queue_agent_stage=production;id="1-2-3-4"}'
)
KEYS = (
    b"{name=queue_cluster;type=string;sort_order=ascending;required=%true};"
    b"{name=queue_path;type=string;sort_order=ascending;required=%true};"
    b"{name=partition_index;type=uint64;sort_order=ascending;required=%true};"
)
OFFSET = b"{name=offset;type=uint64;required=%true};"
META = b"{name=meta;type=any;required=%false};"


def consumer_attributes(columns: bytes = KEYS + OFFSET + META, flags: bytes = b"strict=%true;unique_keys=%true") -> Any:
    return yson.loads(
        b"{attribute_revision=78u;type=table;treat_as_queue_consumer=%true;queue_agent_stage=production;"
        b"schema=<" + flags + b">[" + columns + b"]}"
    )


def test_a_new_queue_gets_a_full_row() -> None:
    row = build_queue_row(QUEUE, QUEUE_ATTRIBUTES, None, ORIGIN)
    assert row == QueueRow(
        queue=QUEUE,
        row_revision=1,
        revision=77,
        object_type="table",
        dynamic=True,
        sorted=False,
        auto_trim_config={"enable": False},
        queue_agent_stage="production",
        object_id="1-2-3-4",
        synchronization_error=OK_ERROR,
    )
    assert find_queue_row_error(row, ORIGIN) is None


def test_the_row_revision_counts_on() -> None:
    assert build_queue_row(QUEUE, QUEUE_ATTRIBUTES, QueueRow(QUEUE, row_revision=6), ORIGIN).row_revision == 7
    assert unfetched_queue_row(QUEUE, ErrorInfo("gone"), QueueRow(QUEUE, row_revision=6)).row_revision == 7
    for last, after in ((None, 1), (6, 7), (MAX_UNSIGNED - 1, MAX_UNSIGNED), (MAX_UNSIGNED, 1)):
        previous = ConsumerRow(CONSUMER, row_revision=last)
        assert unfetched_consumer_row(CONSUMER, ErrorInfo("gone"), previous).row_revision == after
    assert unfetched_consumer_row(CONSUMER, ErrorInfo("gone"), None).row_revision == 1


def test_all_that_is_said_of_a_queue_is_in_its_row() -> None:
    more = {
        "auto_trim_config": {"enable": True},
        "static_export_config": {"daily": {}},
        "queue_agent_banned": True,
        "queue_profiling_tag": "hot",
        "attribute_revision": MAX_UNSIGNED,
    }
    row = build_queue_row(QUEUE, {**QUEUE_ATTRIBUTES, **more}, None, ORIGIN)
    assert (row.auto_trim_config, row.static_export_config) == ({"enable": True}, {"daily": {}})
    assert (row.queue_agent_banned, row.queue_profiling_tag, row.revision) == (True, "hot", MAX_UNSIGNED)


def test_all_that_is_said_of_a_consumer_is_in_its_row() -> None:
    attributes = {**consumer_attributes(), "queue_agent_banned": True, "queue_consumer_profiling_tag": "hot"}
    row = build_consumer_row(CONSUMER, attributes, ConsumerRow(CONSUMER, row_revision=6), ORIGIN)
    assert row == ConsumerRow(
        consumer=CONSUMER,
        row_revision=7,
        revision=78,
        object_type="table",
        treat_as_queue_consumer=True,
        schema=attributes["schema"],
        queue_agent_stage="production",
        queue_agent_banned=True,
        synchronization_error=OK_ERROR,
        queue_consumer_profiling_tag="hot",
    )
    del attributes["treat_as_queue_consumer"]
    assert build_consumer_row(CONSUMER, attributes, None, ORIGIN).treat_as_queue_consumer is False


def test_what_can_be_read_stays_beside_what_makes_no_sense() -> None:
    cause = ORIGIN.error("Unexpected type of value: 1")
    error = ORIGIN.error('Error parsing attribute "queue_agent_banned"', inner_errors=[cause]).to_map()
    assert build_queue_row(QUEUE, {**QUEUE_ATTRIBUTES, "queue_agent_banned": 1}, None, ORIGIN) == QueueRow(
        QUEUE,
        row_revision=1,
        revision=77,
        object_type="table",
        queue_agent_stage="production",
        synchronization_error=error,
    )
    assert build_consumer_row(
        CONSUMER, {**consumer_attributes(), "queue_agent_banned": 1}, None, ORIGIN
    ) == ConsumerRow(
        CONSUMER,
        row_revision=1,
        revision=78,
        object_type="table",
        queue_agent_stage="production",
        synchronization_error=error,
    )


def test_a_revision_is_read_or_it_is_said_why_not() -> None:
    assert find_revision(QUEUE_ATTRIBUTES) == read_revision(QUEUE_ATTRIBUTES, ORIGIN) == 77
    assert find_revision({"attribute_revision": "x"}) is None
    missing = read_revision({}, ORIGIN)
    assert isinstance(missing, ErrorInfo)
    assert missing.message == 'Attribute "attribute_revision" is not found'


def test_tablets_that_make_no_sense_have_no_ids() -> None:
    tablets = [{"index": 0, "tablet_id": "a"}, {"index": 1}, {"tablet_id": "b"}, {"index": "2", "tablet_id": "c"}, 5]
    assert find_tablet_ids({"tablets": tablets}) == {0: "a"}
    assert find_tablet_ids({"tablets": 5}) == find_tablet_ids({}) == {}


@pytest.mark.parametrize(
    "broken",
    [
        {"dynamic": 1},
        {"queue_agent_banned": "yes"},
        {"auto_trim_config": [1]},
        {"auto_trim_config": {"enable": True, "retained_lifetime_duration": 1500}},
        {"static_export_config": "daily"},
        {"attribute_revision": "x"},
        {"attribute_revision": -1},
    ],
)
def test_attributes_that_make_no_sense_leave_an_error_in_the_row(broken: dict[str, Any]) -> None:
    row = build_queue_row(QUEUE, {**QUEUE_ATTRIBUTES, **broken}, None, ORIGIN)
    assert row.queue_agent_stage == "production"
    assert row.revision == (None if "attribute_revision" in broken else 77)
    assert row.object_id is None
    error = find_queue_row_error(row, ORIGIN)
    assert error is not None
    assert error.message == "Queue synchronization error"
    (name,) = broken
    (parsing,) = error.inner_errors
    assert parsing.message == f'Error parsing attribute "{name}"'
    assert len(parsing.inner_errors) == 1


def test_a_row_that_could_not_be_fetched_loses_everything_but_the_error() -> None:
    error = ErrorInfo("No such node", 500)
    queue, consumer = unfetched_queue_row(QUEUE, error, None, 5), unfetched_consumer_row(CONSUMER, error, None, 5)
    told = {"code": 500, "message": "No such node", "attributes": {}}
    assert queue == QueueRow(QUEUE, row_revision=1, revision=5, synchronization_error=told)
    assert consumer == ConsumerRow(CONSUMER, row_revision=1, revision=5, synchronization_error=told)
    assert unfetched_queue_row(QUEUE, error, None).revision is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"row_revision": None}, "Queue is not in-sync yet"),
        ({"object_type": None}, "Object type is not known yet"),
        ({"object_type": "file"}, 'Invalid queue object type "file"'),
        ({"object_type": "replicated_table"}, "No replicated table mapping row is known for replicated queue"),
        (
            {"dynamic": None, "sorted": True},
            'Only ordered dynamic tables are supported as queues, found object of type "table" with dynamic=# and '
            "sorted=%true instead",
        ),
    ],
)
def test_a_row_that_is_no_queue_is_an_error(changes: dict[str, Any], words: str) -> None:
    row = replace(build_queue_row(QUEUE, QUEUE_ATTRIBUTES, None, ORIGIN), **changes)
    error = find_queue_row_error(row, ORIGIN)
    assert error is not None
    assert words in error.message


@pytest.mark.parametrize("columns", [KEYS + OFFSET + META, KEYS + OFFSET])
def test_both_schemas_of_consumers_are_known(columns: bytes) -> None:
    row = build_consumer_row(CONSUMER, consumer_attributes(columns), None, ORIGIN)
    assert find_consumer_row_error(row, ORIGIN) is None
    assert has_meta_column(row) is (columns != KEYS + OFFSET)


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        (consumer_attributes(flags=b"strict=%true;unique_keys=%false"), "must have unique keys"),
        (consumer_attributes(KEYS), "not recognized as a valid consumer schema"),
        (consumer_attributes(KEYS + OFFSET + META + META), "not recognized as a valid consumer schema"),
        (
            consumer_attributes(
                b"{name=queue_consumer_name;type=string;sort_order=ascending;required=%true};" + KEYS + OFFSET
            ),
            "not recognized as a valid consumer schema",
        ),
        (
            {**consumer_attributes(), "type": "chaos_replicated_table"},
            "No replicated table mapping row is known for replicated consumer",
        ),
        ({**consumer_attributes(), "schema": None}, "Consumer schema is not known yet"),
        ({**consumer_attributes(), "type": None}, "Consumer synchronization failed"),
    ],
)
def test_a_row_that_is_no_consumer_is_an_error(attributes: dict[str, Any], words: str) -> None:
    error = find_consumer_row_error(build_consumer_row(CONSUMER, attributes, None, ORIGIN), ORIGIN)
    assert error is not None
    assert words in error.message


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (ConsumerRow(CONSUMER), "Consumer is not in-sync yet"),
        (ConsumerRow(CONSUMER, row_revision=1), "Consumer object type is not known yet"),
    ],
)
def test_a_consumer_row_written_by_nobody_yet_is_an_error(row: ConsumerRow, words: str) -> None:
    error = find_consumer_row_error(row, ORIGIN)
    assert error is not None
    assert error.message == words


def test_a_chaos_table_without_stage_gets_the_default() -> None:
    chaos = {**QUEUE_ATTRIBUTES, "type": "chaos_replicated_table"}
    unset = {name: value for name, value in chaos.items() if name != "queue_agent_stage"}
    assert with_default_stage(unset, "s")["queue_agent_stage"] == "s"
    assert with_default_stage(chaos, "s") == chaos
    assert "queue_agent_stage" not in with_default_stage({"type": "table"}, "s")


def test_a_sorted_chaos_table_passes_for_a_queue() -> None:
    row = replace(build_queue_row(QUEUE, QUEUE_ATTRIBUTES, None, ORIGIN), object_type="chaos_replicated_table")
    meta = {"chaos_replicated_table_meta": {"replication_card_id": "1-2-3-4", "replicas": {}}}
    mapping = MappingRow(QUEUE, object_type="chaos_replicated_table", meta=meta)
    assert find_queue_row_error(replace(row, sorted=None), ORIGIN, mapping) is None
    error = find_queue_row_error(replace(row, dynamic=False), ORIGIN, mapping)
    assert error is not None
    assert error.message.startswith("Only ordered dynamic tables")


def test_a_named_consumer_takes_the_schema_of_its_table() -> None:
    name_column = b"{name=queue_consumer_name;type=string;sort_order=ascending;required=%true};"
    row = build_consumer_row(CONSUMER, consumer_attributes(name_column + KEYS + OFFSET + META), None, ORIGIN)
    assert is_multi_consumer(row)
    assert find_consumer_row_error(replace(row, consumer=CONSUMER._replace(name="a")), ORIGIN) is None
    assert not is_multi_consumer(build_consumer_row(CONSUMER, consumer_attributes(), None, ORIGIN))
    assert not is_multi_consumer(ConsumerRow(CONSUMER))


REPLICA = {"cluster_name": "hume", "replica_path": "//r", "state": "enabled", "mode": "sync", "replication_lag_time": 5}


def test_what_matters_of_replicas_is_kept() -> None:
    attributes = {**QUEUE_ATTRIBUTES, "type": "replicated_table", "replicas": {"1-1-1-1": REPLICA}}
    row = build_mapping_row(QUEUE, attributes, ORIGIN)
    kept = {"cluster_name": "hume", "replica_path": "//r", "state": "enabled", "mode": "sync"}
    assert row == MappingRow(
        QUEUE, 77, "replicated_table", {"replicated_table_meta": {"replicas": {"1-1-1-1": kept}}}, OK_ERROR
    )
    attributes = {
        **attributes,
        "type": "chaos_replicated_table",
        "replication_card_id": "5-5-5-5",
        "replicas": {"1-1-1-1": {**REPLICA, "content_type": "queue"}},
    }
    row = build_mapping_row(QUEUE, attributes, ORIGIN)
    assert row is not None
    assert row.meta == {
        "chaos_replicated_table_meta": {
            "replication_card_id": "5-5-5-5",
            "replicas": {"1-1-1-1": {**kept, "content_type": "queue"}},
        }
    }
    assert build_mapping_row(QUEUE, QUEUE_ATTRIBUTES, ORIGIN) is None


@pytest.mark.parametrize(
    "broken",
    [
        {"replicas": 5},
        {"replicas": {"1-1-1-1": "x"}},
        {"replicas": {"1-1-1-1": {}}},
        {"type": "chaos_replicated_table"},
    ],
)
def test_replicas_that_make_no_sense_leave_an_error_in_the_mapping(broken: dict[str, Any]) -> None:
    row = build_mapping_row(QUEUE, {**QUEUE_ATTRIBUTES, "type": "replicated_table", **broken}, ORIGIN)
    assert row is not None
    assert row.meta is None
    assert row.revision == 77
    assert row.synchronization_error is not None
    assert row.synchronization_error["code"] == 1
