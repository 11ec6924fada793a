"""What snapshots tell of what was seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from queue_agent.core.exports.config import ExportConfig
from queue_agent.core.exports.progress import ExportProgress, StoredProgress, TabletProgress
from queue_agent.core.exports.queue_exports import ExportState, QueueExports
from queue_agent.core.exports.schedule import EveryPeriod
from queue_agent.core.queues.config_keys import UNKNOWN_CONFIG_KEYS
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
    QueuePartition,
    QueueRowValues,
    QueueSnapshot,
    QueueView,
    Role,
)
from queue_agent.core.state.rows import ConsumerRow, QueueRow
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.observed import ConsumerOffset
from queue_agent.core.values.rates import Counters, EmaCounter
from queue_agent.core.values.refs import CrossClusterRef

NOW = datetime(2025, 1, 23, 13, 42, 21, tzinfo=UTC)
SECOND = timedelta(seconds=1)
QUEUE = CrossClusterRef("pythia", "//tmp/q")
CONSUMER = CrossClusterRef("hume", "//tmp/c")
BROKEN = ErrorInfo("broken")
COUNTERS = Counters(EmaCounter(10, NOW, NOW, 5.0, 5.0), EmaCounter(100, NOW, NOW, 50.0, 50.0))
PARTITION = QueuePartition("t0", "mounted", None, None, 3, 10, NOW, COUNTERS)
FAILED = FailedQueuePartition("t1", "unmounted", BROKEN)
READING = ConsumerPartition(
    8, NOW, Disposition.PENDING_CONSUMPTION, 2, None, None, 70, COUNTERS, QueueRowValues("t0", 8)
)
STUCK = FailedConsumerPartition(BROKEN, 4, NOW, COUNTERS)


def view(*partitions: QueuePartition | FailedQueuePartition, seen_at: datetime = NOW) -> QueueView:
    return QueueView(partitions, True, True, seen_at, 1)


def snapshot(content: QueueView | ErrorInfo, exports: QueueExports, **alerts: ErrorInfo) -> QueueSnapshot:
    return QueueSnapshot(QueueRow(QUEUE), Role.LEADING, 1, NOW, content, alerts=alerts, exports=exports)


def exported(tablets: Mapping[int, TabletProgress]) -> QueueExports:
    state = ExportState(ExportConfig(EveryPeriod(60), "//tmp/x"), StoredProgress(tablets=tablets))
    return QueueExports(exporters={"x": state}, alerts={"export": BROKEN})


def test_the_rows_of_a_partition_weigh_something_only_if_both_ends_are_known() -> None:
    assert PARTITION.available_row_count == 7
    assert replace(PARTITION, cumulative_data_weight=100, trimmed_data_weight=30).available_data_weight == 70
    assert replace(PARTITION, cumulative_data_weight=100).available_data_weight is None
    assert replace(PARTITION, trimmed_data_weight=30).available_data_weight is None


def test_a_queue_is_readable_as_long_as_any_partition_is() -> None:
    assert view(FAILED, PARTITION).readable
    assert view().readable
    assert not view(FAILED, FAILED).readable


def test_rates_of_a_queue_are_those_of_its_readable_partitions_and_fade_while_nothing_comes() -> None:
    seen = view(PARTITION, FAILED, PARTITION)
    assert (seen.write_row_count.immediate_rate, seen.write_data_weight.immediate_rate) == (10.0, 100.0)
    later = view(PARTITION, FAILED, PARTITION, seen_at=NOW + SECOND)
    assert (later.write_row_count.count, later.write_row_count.immediate_rate) == (20, 0.0)
    assert later.write_data_weight.minute_rate < 100.0


def test_rates_of_a_consumer_are_those_of_all_its_partitions_and_only_readable_ones_fade() -> None:
    later = ConsumerQueueView([READING, STUCK], NOW + SECOND)
    assert ConsumerQueueView([READING, STUCK], NOW).read_row_count.immediate_rate == 10.0
    assert later.read_row_count.immediate_rate == later.counters_of(STUCK).row_count.immediate_rate == 5.0
    assert later.read_data_weight.immediate_rate == 50.0


def test_a_weight_that_is_not_known_lets_no_rate_fade() -> None:
    unknown = replace(READING, cumulative_data_weight=None).counters_at(NOW + SECOND)
    assert (unknown.row_count.immediate_rate, unknown.data_weight.immediate_rate) == (0.0, 50.0)
    assert READING.counters_at(NOW + SECOND).data_weight.immediate_rate == 0.0


def test_a_snapshot_has_either_a_view_or_an_error() -> None:
    seen, failed = snapshot(view(), QueueExports()), snapshot(BROKEN, QueueExports())
    assert (seen.ref, seen.view, seen.error) == (QUEUE, view(), None)
    assert (failed.view, failed.error) == (None, BROKEN)
    content = ConsumerView({})
    reading, lost = (ConsumerSnapshot(ConsumerRow(CONSUMER), Role.LEADING, 1, NOW, one) for one in (content, BROKEN))
    assert (reading.ref, reading.view, reading.error) == (CONSUMER, content, None)
    assert (lost.view, lost.error) == (None, BROKEN)


def test_a_queue_is_whole_if_it_and_all_its_partitions_can_be_read() -> None:
    assert snapshot(view(PARTITION), QueueExports()).is_whole
    assert not snapshot(view(PARTITION, FAILED), QueueExports()).is_whole
    assert not snapshot(BROKEN, QueueExports()).is_whole


def test_exported_rows_count_for_the_tablets_that_a_queue_has_now() -> None:
    exports = exported(
        {0: TabletProgress(row_count=5, tablet_id="t0"), 1: TabletProgress(row_count=9, tablet_id="old")}
    )
    assert snapshot(view(PARTITION, FAILED), exports).exported == {"x": ExportProgress({0: 5}, frozenset({1}))}
    assert snapshot(BROKEN, exports).exported == {"x": ExportProgress({}, frozenset({0, 1}))}


def test_alerts_of_passes_exports_and_configuration_are_told_together() -> None:
    misspelt = replace(snapshot(view(), exported({})), row=QueueRow(QUEUE, auto_trim_config={"enabl": True}))
    assert set(misspelt.all_alerts) == {"export", UNKNOWN_CONFIG_KEYS}
    assert snapshot(view(), exported({}), trim=BROKEN).all_alerts == {"trim": BROKEN, "export": BROKEN}
    assert snapshot(view(), QueueExports(), trim=BROKEN).all_alerts == {"trim": BROKEN}


def test_an_offset_that_was_read_after_the_queue_is_known_beside_the_one_compared() -> None:
    early, later = (OffsetsRead({0: ConsumerOffset(0, row, 0)}, row) for row in (4, 9))
    assert Compared(view(PARTITION), early).later_offset(0) == 0
    assert Compared(view(PARTITION), early, [early, later]).later_offset(0) == 9
    assert Compared(view(PARTITION), early, [early, later]).later_offset(1) == 0
