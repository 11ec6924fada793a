"""Which table is asked in place of a replicated one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from queue_agent.core.state.replication import (
    QueueAccess,
    Replica,
    find_consumer_access,
    find_mapping_error,
    find_queue_access,
    replicas_of,
    synchronous_of,
)
from queue_agent.core.state.rows import ConsumerRow, MappingRow, QueueRow
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef

ORIGIN = Origin("agent-1", 481, 7, "Controller:0", 8, "1-2-3-4", 9, datetime(2025, 1, 23, tzinfo=UTC))
TABLE = CrossClusterRef("pythia", "//t")


def replica(path: str, mode: str, **more: str) -> dict[str, str]:
    return {"cluster_name": "hume", "replica_path": path, "state": "enabled", "mode": mode, **more}


def plain(replicas: Any) -> MappingRow:
    return MappingRow(TABLE, 1, "replicated_table", {"replicated_table_meta": {"replicas": replicas}})


def chaos(replicas: Any) -> MappingRow:
    meta = {"chaos_replicated_table_meta": {"replication_card_id": "1-2-3-4", "replicas": replicas}}
    return MappingRow(TABLE, 1, "chaos_replicated_table", meta)


def test_a_plain_table_is_asked_itself() -> None:
    assert find_queue_access(QueueRow(TABLE, object_type="table"), None, ORIGIN) == QueueAccess(TABLE, TABLE)
    named = ConsumerRow(TABLE._replace(name="a"), object_type="table")
    assert find_consumer_access(named, None, ORIGIN) == TABLE


def test_tablets_of_a_replicated_queue_are_those_of_its_first_synchronous_replica() -> None:
    mapping = plain({"3": replica("//c", "sync"), "1": replica("//a", "async"), "2": replica("//b", "sync")})
    row = QueueRow(TABLE, object_type="replicated_table")
    assert find_queue_access(row, mapping, ORIGIN) == QueueAccess(CrossClusterRef("hume", "//b"), TABLE)


def test_rows_of_a_chaos_queue_come_from_the_same_replica() -> None:
    mapping = chaos({"1": replica("//a", "sync", content_type="queue")})
    expected = CrossClusterRef("hume", "//a")
    row = QueueRow(TABLE, object_type="chaos_replicated_table")
    assert find_queue_access(row, mapping, ORIGIN) == QueueAccess(expected, expected)


def test_offsets_in_a_chaos_table_are_in_replicas_that_hold_data() -> None:
    mapping = chaos(
        {"1": replica("//a", "sync", content_type="queue"), "2": replica("//b", "sync", content_type="data")}
    )
    row = ConsumerRow(TABLE, object_type="chaos_replicated_table")
    assert find_consumer_access(row, mapping, ORIGIN) == CrossClusterRef("hume", "//b")
    replicated = ConsumerRow(TABLE, object_type="replicated_table")
    assert find_consumer_access(replicated, plain({}), ORIGIN) == TABLE


def test_without_a_synchronous_replica_there_is_nothing_to_ask() -> None:
    access = find_queue_access(
        QueueRow(TABLE, object_type="replicated_table"), plain({"1": replica("//a", "async")}), ORIGIN
    )
    assert isinstance(access, ErrorInfo)
    assert access.message == 'Cannot get sync client for "pythia://t" since there are no known sync replicas'


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (MappingRow(TABLE), 'for object "pythia://t": object type cannot be null'),
        (MappingRow(TABLE, object_type="table"), 'for object "pythia://t": incompatible type "table"'),
        (chaos({}), 'for object "pythia://t": incompatible type "chaos_replicated_table"'),
        (
            MappingRow(TABLE, object_type="replicated_table"),
            'for object "pythia://t" of type "replicated_table": meta cannot be null',
        ),
        (
            MappingRow(TABLE, object_type="replicated_table", meta={"chaos_replicated_table_meta": {}}),
            'for replicated table "pythia://t": replicated table meta cannot be null',
        ),
        (plain({"1": {"mode": "sync"}}), 'for replicated table "pythia://t": replicas make no sense'),
        *(
            (
                plain({"1": {**replica("//a", "sync"), key: 5}}),
                'for replicated table "pythia://t": replicas make no sense',
            )
            for key in ("cluster_name", "replica_path", "mode")
        ),
        (plain("nonsense"), 'for replicated table "pythia://t": replicas make no sense'),
    ],
)
def test_a_mapping_row_of_no_use_is_an_error(row: MappingRow, words: str) -> None:
    error = find_mapping_error(row, "replicated_table", ORIGIN)
    assert error is not None
    assert error.message == f"Invalid replicated table mapping row {words}"


def test_the_kind_of_meta_that_is_missing_is_told() -> None:
    row = MappingRow(TABLE, object_type="chaos_replicated_table", meta={"replicated_table_meta": {}})
    error = find_mapping_error(row, "chaos_replicated_table", ORIGIN)
    assert error is not None
    assert error.message.endswith("chaos replicated table meta cannot be null")


@pytest.mark.parametrize(
    "row",
    [
        MappingRow(TABLE),
        MappingRow(TABLE, object_type="table"),
        MappingRow(TABLE, object_type="replicated_table"),
        MappingRow(TABLE, object_type="replicated_table", meta={"other": {}}),
        plain("nonsense"),
    ],
)
def test_the_reason_for_a_mapping_row_of_no_use_is_told(row: MappingRow) -> None:
    cause = ErrorInfo("no replicas for you").to_map()
    error = find_mapping_error(replace(row, synchronization_error=cause), "replicated_table", ORIGIN)
    assert error is not None
    assert [inner.message for inner in error.inner_errors] == ["no replicas for you"]


def test_a_mapping_row_in_order_is_no_error() -> None:
    row = plain({"1": replica("//a", "sync")})
    assert find_mapping_error(row, "replicated_table", ORIGIN) is None
    assert replicas_of(row) == [Replica(CrossClusterRef("hume", "//a"), "sync", None)]
    assert replicas_of(MappingRow(TABLE)) == []


def test_replicas_that_make_no_sense_are_left_out_and_those_in_step_are_known() -> None:
    row = plain({"3": replica("//c", "sync"), "2": "nonsense", "1": replica("//a", "async"), "4": {"mode": "sync"}})
    assert [one.table.path for one in replicas_of(row)] == ["//a", "//c"]
    assert synchronous_of(row) == [CrossClusterRef("hume", "//c")]
