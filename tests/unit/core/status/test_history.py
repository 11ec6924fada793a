"""Snapshots become rows of the history."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from queue_agent.core.consumers.multi_consumers import MultiConsumerSnapshot
from queue_agent.core.queues.snapshots import (
    Compared,
    ConsumerPartition,
    ConsumerQueueView,
    ConsumerSnapshot,
    ConsumerView,
    Disposition,
    FailedConsumerPartition,
    FailedQueuePartition,
    OffsetsRead,
    QueueMissing,
    QueuePartition,
    QueueRowValues,
    QueueSnapshot,
    QueueView,
    Role,
    SubSnapshot,
)
from queue_agent.core.state.rows import ConsumerRow, QueueRow, Registration
from queue_agent.core.status.history import (
    MAX_TEXT_LENGTH,
    OPTIONAL_COLUMNS,
    REQUIRED_COLUMNS,
    TEXT_REPEATED_AFTER,
    SparseTexts,
    alert_rows,
    consumer_rows,
    fitted,
    multi_consumer_rows,
    producer_attributes,
    queue_attributes,
    queue_rows,
    queue_schema,
)
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.rates import Counters, EmaCounter
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind, PartitionTrim, TrimConstraint

NOW = datetime(2025, 1, 23, 10, tzinfo=UTC)
MICROSECONDS = 1_737_626_400_000_000
QUEUE = CrossClusterRef("pythia", "//tmp/q")
CONSUMER = CrossClusterRef("hume", "//tmp/c")
INSTANCE = "agent-1:9030/481/now"
BROKEN = ErrorInfo("not mounted", 1702, inner_errors=(ErrorInfo("tablet 1-2-3-4 is away"),))
COUNTERS = Counters(EmaCounter(10, NOW, NOW, 5.0, 5.0), EmaCounter(100, NOW, NOW, 50.0, 50.0))
PARTITION = QueuePartition("t", "mounted", None, None, 3, 20, NOW - timedelta(seconds=2), COUNTERS)
READING = ConsumerPartition(
    next_row_index=8,
    last_consume_time=NOW - timedelta(seconds=1),
    disposition=Disposition.PENDING_CONSUMPTION,
    unread_row_count=12,
    unread_data_weight=None,
    next_row_commit_time=NOW - timedelta(seconds=7),
    cumulative_data_weight=None,
    counters=COUNTERS,
    queue_row_values=QueueRowValues("t", 8),
)


def queue(content: QueueView | ErrorInfo, **values: Any) -> list[dict[str, Any]]:
    return list(queue_rows(QueueSnapshot(QueueRow(QUEUE), Role.LEADING, 7, NOW, content, **values), INSTANCE))


def consumer(content: ConsumerView | ErrorInfo, partitions: tuple[int, ...] | None = None) -> list[dict[str, Any]]:
    registration = Registration(QUEUE, CONSUMER, True, partitions)
    snapshot = ConsumerSnapshot(ConsumerRow(CONSUMER), Role.LEADING, 7, NOW, content, [registration])
    return list(consumer_rows(snapshot, INSTANCE))


def position(content: SubSnapshot) -> ConsumerView:
    return ConsumerView({QUEUE: content})


def test_each_partition_of_a_queue_is_a_row_with_what_holds_it_back() -> None:
    constraint = TrimConstraint(ConstraintKind.VITAL_CONSUMER, 8, 12, "hume://tmp/c")
    rows = queue(
        QueueView([PARTITION, FailedQueuePartition("t", "unmounted", BROKEN)], True, True, NOW, 1),
        trims={0: PartitionTrim(8, constraint)},
    )
    head = {
        "ts": MICROSECONDS,
        "agent_instance": INSTANCE,
        "pass_index": 7,
        "kind": "queue",
        "cluster": "pythia",
        "queue": "//tmp/q",
    }
    assert rows == [
        {
            **head,
            "partition": 0,
            "lower": 3,
            "upper": 20,
            "idle_ms": 2000,
            "write_rate": 5.0,
            "write_byte_rate": 50.0,
            "trim_target": 8,
            "trim_constraint": "vital_consumer",
            "trim_subject": "hume://tmp/c",
            "trim_row_index": 8,
            "trim_held_rows": 12,
        },
        {**head, "partition": 1, "error_code": 1702, "error": "not mounted: tablet 1-2-3-4 is away"},
    ]


def test_a_queue_that_can_not_be_looked_at_is_one_row_and_its_alerts_are_rows_of_their_own() -> None:
    first, second = queue(BROKEN, alerts={"trim_failed": ErrorInfo("no trim", 3036)})
    assert (first["kind"], first["error_code"], "partition" in first) == ("queue", 1702, False)
    assert (second["kind"], second["alert"], second["error"]) == ("alert", "trim_failed", "no trim")
    assert (second["queue"], second["pass_index"]) == ("//tmp/q", 7)


def test_each_registered_partition_of_a_consumer_is_a_row() -> None:
    seen = QueueView([PARTITION, PARTITION, PARTITION], True, True, NOW, 1)
    failed = FailedConsumerPartition(BROKEN, 4, NOW, Counters())
    view = ConsumerQueueView([READING, failed, READING], NOW, Compared(seen, OffsetsRead({}, 0)))
    first, second = consumer(position(view), partitions=(0, 1))
    assert first == {
        "ts": MICROSECONDS,
        "agent_instance": INSTANCE,
        "pass_index": 7,
        "kind": "consumer",
        "consumer": "hume://tmp/c",
        "cluster": "pythia",
        "queue": "//tmp/q",
        "vital": True,
        "partition": 0,
        "lower": 3,
        "upper": 20,
        "offset": 8,
        "idle_ms": 1000,
        "lag_rows": 12,
        "lag_ms": 7000,
        "disposition": "pending_consumption",
        "read_rate": 5.0,
        "read_byte_rate": 50.0,
    }
    assert (second["partition"], second["offset"], second["error_code"]) == (1, 4, 1702)
    assert "lag_rows" not in second


def test_a_consumer_in_error_is_one_row_and_so_is_each_of_its_queues() -> None:
    [row] = consumer(BROKEN)
    assert (row["consumer"], row["error_code"], "queue" in row) == ("hume://tmp/c", 1702, False)
    for content in (BROKEN, QueueMissing(BROKEN)):
        [row] = consumer(position(content))
        assert (row["queue"], row["vital"], row["error_code"], "partition" in row) == ("//tmp/q", True, 1702, False)


def test_a_multi_consumer_has_rows_for_its_own_error_and_alerts_alone() -> None:
    row = ConsumerRow(CONSUMER)
    assert list(multi_consumer_rows(MultiConsumerSnapshot(row, 7, NOW, None, ["a"]), INSTANCE)) == []
    broken = MultiConsumerSnapshot(row, 7, NOW, BROKEN, ["a"], alerts={"failed": BROKEN})
    error, alert = multi_consumer_rows(broken, INSTANCE)
    assert (error["kind"], error["consumer"], error["error_code"]) == ("consumer", "hume:" + CONSUMER.path, 1702)
    assert (alert["kind"], alert["consumer"], alert["alert"]) == ("alert", "hume:" + CONSUMER.path, "failed")


def test_alerts_of_the_agent_have_no_queue() -> None:
    [row] = alert_rows({"failed": BROKEN.to_map()}, INSTANCE, 3, NOW)
    assert (row["kind"], row["alert"], row["error_code"], row["pass_index"]) == ("alert", "failed", 1702, 3)
    assert "queue" not in row


def test_every_column_is_known_and_texts_are_bounded() -> None:
    seen = QueueView([PARTITION], True, True, NOW, 1)
    trims = {0: PartitionTrim(8, TrimConstraint(ConstraintKind.RETAINED_ROWS, 8, 12, "x"))}
    rows = [
        *queue(ErrorInfo("x" * 5000), alerts={"a": BROKEN}),
        *queue(seen, trims=trims),
        *consumer(position(ConsumerQueueView([READING], NOW, Compared(seen, OffsetsRead({}, 0))))),
    ]
    assert len(rows[0]["error"]) == MAX_TEXT_LENGTH
    used: set[str] = set()
    for row in rows:
        assert set(REQUIRED_COLUMNS) <= set(row)
        used |= set(row)
    assert used | {"lag_bytes"} == {*REQUIRED_COLUMNS, *OPTIONAL_COLUMNS}


def error_row(text: str | None, ts: int = 0, partition: int = 0) -> dict[str, Any]:
    row: dict[str, Any] = {"ts": ts, "queue": "//tmp/q", "partition": partition}
    return row if text is None else {**row, "error_code": 1, "error": text}


def test_a_text_is_told_once_and_again_when_it_is_another() -> None:
    texts = SparseTexts()
    told = []
    for text in ("a", "a", "b", None, "b"):
        told.append(texts.sparse(error_row(text)).get("error"))
        texts.finish_sample()
    assert told == ["a", None, "b", None, "b"]
    assert texts.sparse(error_row("b"))["error_code"] == 1
    assert texts.sparse(error_row("b", partition=1))["error"] == "b"


def test_texts_are_told_again_after_an_hour_and_when_rows_were_lost() -> None:
    texts = SparseTexts()
    hour = TEXT_REPEATED_AFTER // timedelta(microseconds=1)
    told = []
    for ts in (0, hour - 1, hour, hour + 1):
        told.append(texts.sparse(error_row("a", ts)).get("error"))
        texts.finish_sample()
    assert told == ["a", None, "a", None]
    texts.forget()
    assert texts.sparse(error_row("a", hour + 2))["error"] == "a"


def test_values_that_fit_no_column_are_left_out() -> None:
    row = {"ts": 1, "kind": "consumer", "offset": 2**63, "lag_rows": -(2**63), "read_rate": float("inf"), "lag_ms": 5}
    assert fitted(row) == {"ts": 1, "kind": "consumer", "lag_ms": 5}


def test_a_lag_that_is_not_known_is_none_and_no_lag_is_zero() -> None:
    def lag(unread: int) -> object:
        reading = replace(READING, next_row_commit_time=None, unread_row_count=unread)
        seen = QueueView([PARTITION], False, True, NOW, 1)
        [row] = consumer(position(ConsumerQueueView([reading], NOW, Compared(seen, OffsetsRead({}, 0)))))
        return row.get("lag_ms")

    assert (lag(12), lag(0), lag(-1)) == (None, 0, 0)


def test_the_queue_of_the_history_has_a_column_for_every_value_and_those_of_the_cluster() -> None:
    columns = {column["name"]: column for column in queue_schema()}
    assert columns.keys() == {*REQUIRED_COLUMNS, *OPTIONAL_COLUMNS, "$timestamp", "$cumulative_data_weight"}
    assert {name for name, column in columns.items() if column.get("required")} == set(REQUIRED_COLUMNS)


def test_rows_of_the_history_go_by_age_and_sooner_only_if_somebody_asks_for_it() -> None:
    attributes = queue_attributes()
    assert attributes.pop("auto_trim_config")["enable"] is False
    assert attributes == producer_attributes()
    assert timedelta(milliseconds=attributes["max_data_ttl"]) == timedelta(days=30)


def test_a_consumer_has_a_row_for_a_partition_whose_ends_are_not_known() -> None:
    seen = QueueView([FailedQueuePartition("t", "unmounted", BROKEN)], True, True, NOW, 1)
    failed = FailedConsumerPartition(BROKEN, 4, NOW, Counters())
    [row] = consumer(position(ConsumerQueueView([failed], NOW, Compared(seen, OffsetsRead({}, 0)))))
    assert (row["partition"], row["offset"]) == (0, 4)
    assert not {"lower", "upper"} & row.keys()
