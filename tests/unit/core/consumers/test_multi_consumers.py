"""Names of the consumers in a table that holds several."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.consumers.multi_consumers import (
    MultiConsumerSnapshot,
    banned_multi_consumer,
    multi_consumer_partitions,
    multi_consumer_status,
    plan_names,
    split_multi_consumers,
)
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.state.rows import ConsumerNameRow, ConsumerRow, StateRows
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef
from yt_wire import yson

TABLE = CrossClusterRef("hume", "//m")
PLAIN = CrossClusterRef("hume", "//c")
KEYS = (
    b"{name=queue_cluster;type=string;sort_order=ascending;required=%true};"
    b"{name=queue_path;type=string;sort_order=ascending;required=%true};"
    b"{name=partition_index;type=uint64;sort_order=ascending;required=%true};"
    b"{name=offset;type=uint64;required=%true}"
)
SCHEMA = yson.loads(b"<strict=%true;unique_keys=%true>[" + KEYS + b"]")
MULTI_SCHEMA = yson.loads(
    b"<strict=%true;unique_keys=%true>"
    b"[{name=queue_consumer_name;type=string;sort_order=ascending;required=%true};" + KEYS + b"]"
)
ROW = ConsumerRow(TABLE, row_revision=1, object_type="table", schema=MULTI_SCHEMA, queue_agent_stage="s")

names = st.sets(st.sampled_from(["a", "b", "c", "d"]))
recorded = st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), st.none() | st.sampled_from(["s", "other"]))


def name_row(name: str, stage: str | None = "s") -> ConsumerNameRow:
    return ConsumerNameRow(TABLE._replace(name=name), stage)


@given(names, recorded)
def test_after_the_names_are_recorded_there_is_nothing_left_to_do(
    names: set[str], recorded: dict[str, str | None]
) -> None:
    rows = {name: name_row(name, stage) for name, stage in recorded.items()}
    changes = plan_names(TABLE, "s", names, rows.values())
    for written in changes.write:
        rows[written.consumer.name] = written
    for ref in changes.delete:
        del rows[ref.name]
    assert set(rows) == names
    assert {row.queue_agent_stage for row in rows.values()} <= {"s"}
    again = plan_names(TABLE, "s", names, rows.values())
    assert not again.write
    assert not again.delete


def test_a_named_consumer_has_the_row_of_its_table() -> None:
    rows = StateRows(
        queues=[],
        consumers=[ROW, ConsumerRow(PLAIN, schema=SCHEMA)],
        registrations=[],
        consumer_names=[name_row("a"), ConsumerNameRow(PLAIN._replace(name="x"))],
    )
    split, multi_consumers = split_multi_consumers(rows)
    assert list(multi_consumers) == [ROW]
    assert [row.consumer for row in split.consumers] == [PLAIN, TABLE._replace(name="a")]
    assert split.consumers[1].schema is MULTI_SCHEMA


def test_the_status_is_that_of_all_its_consumers() -> None:
    snapshot = MultiConsumerSnapshot(ROW, 1, datetime(2025, 1, 23, tzinfo=UTC), None, ["a", "b"])
    status = multi_consumer_status(snapshot, "agent-1", {"a": {"queues": {}}, "b": None})
    assert status["queue_consumer_names"] == ["a", "b"]
    assert status["consumers"]["a"] == {"queues": {}}
    assert status["consumers"]["b"]["error"]["message"] == '"status" not found in consumer orchid'
    partitions = multi_consumer_partitions(snapshot, {"a": {"q": []}})
    assert partitions["consumers"]["a"] == {"q": []}
    assert partitions["consumers"]["b"]["error"]["message"] == '"partitions" not found in consumer orchid'
    failed = MultiConsumerSnapshot(ROW, 2, snapshot.pass_instant, ErrorInfo("no"), ["a"])
    assert multi_consumer_status(failed, "agent-1", {})["error"]["message"] == "no"
    assert "consumers" not in multi_consumer_status(failed, "agent-1", {})


def test_where_there_is_no_multi_consumer_the_rows_stay_as_they_are() -> None:
    rows = StateRows(queues=[], consumers=[ConsumerRow(PLAIN, schema=SCHEMA)], registrations=[])
    assert split_multi_consumers(rows) == (rows, ())


def test_a_ban_is_dated_from_its_first_pass_and_keeps_the_names_but_no_alerts() -> None:
    now = datetime(2025, 1, 23, tzinfo=UTC)
    origin = Origin("agent-1", 481, 7, "Controller:0", 8, "1-2-3-4", 9, now)
    seen = MultiConsumerSnapshot(ROW, 1, now, None, ["a"], alerts={"failed": ErrorInfo("no")})
    banned = banned_multi_consumer(seen, ROW, now, origin)
    banned = banned_multi_consumer(banned, ROW, now + timedelta(seconds=1), origin)
    assert banned.error is not None
    assert banned.error.attributes["banned_since"] == "2025-01-23T00:00:00.000000Z"
    assert (banned.pass_index, banned.banned_since, banned.names, banned.alerts) == (3, now, ["a"], {})


def test_multi_consumers_are_never_followed() -> None:
    snapshot = MultiConsumerSnapshot(ROW, 0, datetime(2025, 1, 23, tzinfo=UTC), None)
    assert (snapshot.ref, snapshot.role) == (TABLE, Role.LEADING)
