"""Snapshots of queues, and their published form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.queues.queue_snapshots import (
    QueueObservation,
    banned_queue_snapshot,
    build_queue_snapshot,
    data_weight_rows,
    find_schema_error,
    idle_queue_snapshot,
    readable_partition_indexes,
    unprocessed_queue_snapshot,
)
from queue_agent.core.queues.snapshots import QueuePartition, QueueSnapshot, Role
from queue_agent.core.state.quarantines import Quarantine
from queue_agent.core.state.rows import QueueRow, Registration
from queue_agent.core.status import published as status
from queue_agent.core.values.encoding import Unsigned
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.observed import ColumnDescription, TableDescription, TabletDescription, TabletInfo
from queue_agent.core.values.rates import EmaCounter
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind, PartitionTrim, TrimConstraint

NOW = datetime(2025, 1, 23, 13, 42, 21, 839124, tzinfo=UTC)
SECOND = timedelta(seconds=1)
QUEUE = CrossClusterRef("pythia", "//tmp/q")
REGISTRATION = Registration(QUEUE, CrossClusterRef("hume", "//tmp/c"), vital=True)
ORIGIN = Origin("agent-1", 481, 7, "Controller:0", 8, "1-2-3-4", 9, NOW)
COLUMNS = [
    ColumnDescription("data", "string"),
    ColumnDescription("$timestamp", "uint64"),
    ColumnDescription("$cumulative_data_weight", "int64"),
]


def table(*states: str, columns: Sequence[ColumnDescription] = COLUMNS) -> TableDescription:
    tablets = [
        TabletDescription(index, f"tablet-{index}", state, "cell", "node-1:9022") for index, state in enumerate(states)
    ]
    return TableDescription(columns, tablets)


def info(lower: int, upper: int, timestamp: int = 0) -> TabletInfo:
    return TabletInfo(total_row_count=upper, trimmed_row_count=lower, last_write_timestamp=timestamp)


def first(role: Role = Role.LEADING) -> QueueSnapshot:
    return unprocessed_queue_snapshot(QueueRow(QUEUE), role, NOW, ORIGIN)


def build(
    previous: QueueSnapshot,
    described: TableDescription | ErrorInfo,
    infos: Mapping[int, TabletInfo] | ErrorInfo | None = None,
    weights: Mapping[tuple[int, int], int] | ErrorInfo | None = None,
    now: datetime = NOW,
) -> QueueSnapshot:
    observation = QueueObservation(described, {} if infos is None else infos, {} if weights is None else weights)
    return build_queue_snapshot(previous, previous.row, [REGISTRATION], now, 1, now, ORIGIN, observation)


def partition(snapshot: QueueSnapshot, index: int) -> QueuePartition:
    assert snapshot.view is not None
    found = snapshot.view.partitions[index]
    assert isinstance(found, QueuePartition)
    return found


def test_a_queue_that_was_never_written_is_published_as_the_listing_shows_it() -> None:
    snapshot = build(first(), table("mounted"), {0: info(0, 0)})
    zero = {"1m_raw": 0.0, "1h": 0.0, "current": 0.0, "1d": 0.0, "1m": 0.0}
    assert status.queue_status(snapshot, "agent-1", NOW) == {
        "partition_count": 1,
        "has_cumulative_data_weight_column": True,
        "family": "ordered_dynamic_table",
        "exports": {"progress": {}},
        "alerts": {},
        "queue_agent_host": "agent-1",
        "has_timestamp_column": True,
        "write_row_count_rate": zero,
        "registrations": [{"consumer": "hume://tmp/c", "vital": True, "queue": "pythia://tmp/q"}],
        "dead_vital_consumers": [],
        "quarantines": [],
        "time_to_quota": None,
        "write_data_weight_rate": zero,
    }
    assert status.queue_partitions(snapshot, NOW) == [
        {
            "meta": {"cell_id": "cell", "host": "node-1:9022"},
            "lower_row_index": 0,
            "cumulative_data_weight": None,
            "upper_row_index": 0,
            "available_row_count": 0,
            "write_row_count_rate": zero,
            "available_data_weight": None,
            "trimmed_data_weight": None,
            "last_row_commit_time": "1970-01-01T00:00:00.000000Z",
            "write_data_weight_rate": zero,
            "commit_idle_time": 1737639741839,
            "trim": None,
        }
    ]


def test_an_unmounted_tablet_is_an_error_of_its_partition_with_its_origin() -> None:
    snapshot = build(first(), table("unmounted", "frozen"), {1: info(0, 0)})
    failed, healthy = status.queue_partitions(snapshot, NOW)
    assert failed == {
        "error": {
            "code": 1,
            "message": "Tablet tablet-0 is not mounted or frozen",
            "attributes": {
                "host": "agent-1",
                "pid": 481,
                "tid": 7,
                "fid": 8,
                "thread": "Controller:0",
                "trace_id": "1-2-3-4",
                "span_id": 9,
                "datetime": "2025-01-23T13:42:21.839124Z",
                "state": "unmounted",
            },
        },
        "meta": {"cell_id": "", "host": ""},
    }
    attributes = failed["error"]["attributes"]
    assert {name for name, value in attributes.items() if isinstance(value, Unsigned)} == {"tid", "fid", "span_id"}
    assert "error" not in healthy
    assert status.queue_status(snapshot, "agent-1", NOW)["partition_count"] == 2


def test_partitions_tell_what_holds_back_their_trimming() -> None:
    snapshot = build(first(), table("unmounted", "frozen"), {1: info(0, 0)})
    trim = PartitionTrim(None, TrimConstraint(ConstraintKind.NOT_MOUNTED))
    failed, healthy = status.queue_partitions(replace(snapshot, trims={0: trim, 1: trim}), NOW)
    assert failed["trim"] == healthy["trim"] == trim.to_map()


def test_what_trimming_has_decided_stays_until_it_decides_again() -> None:
    notice = Quarantine(CrossClusterRef("hume", "//tmp/c"), "1-2-3-4", {}, NOW, NOW, timedelta(hours=1))
    previous = replace(build(first(), table("mounted"), {0: info(0, 0)}), quarantines=[notice], trims={})
    again = build(previous, table("mounted"), {0: info(0, 1)})
    assert (again.quarantines, again.trims) == ([notice], {})
    published = status.queue_status(again, "agent-1", NOW)["quarantines"]
    assert published == [notice.to_map()]


def test_only_mounted_and_frozen_tablets_are_asked() -> None:
    assert readable_partition_indexes(table("unmounted", "mounted", "mounting", "frozen")) == [1, 3]


def test_weights_are_those_of_the_first_and_last_row() -> None:
    described, infos = table("mounted"), {0: info(3, 10)}
    assert data_weight_rows(first(), described, infos) == {(0, 3), (0, 9)}
    seen = partition(build(first(), described, infos, {(0, 3): 80, (0, 9): 200}), 0)
    assert (seen.cumulative_data_weight, seen.trimmed_data_weight, seen.available_data_weight) == (200, 80, 120)


def test_rows_without_the_column_or_trimmed_away_are_not_asked_for() -> None:
    assert data_weight_rows(first(), table("mounted", "mounted"), {0: info(0, 0), 1: info(7, 7)}) == set()
    assert data_weight_rows(first(), table("mounted", columns=COLUMNS[:2]), {0: info(0, 5)}) == set()


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_weights_known_from_before_are_what_a_full_pass_would_have_read(
    lower: int, length: int, trimmed: int, written: int
) -> None:
    described = table("mounted")
    stored = {(0, index): 10 * (index + 1) for index in range(100)}

    def look(previous: QueueSnapshot, infos: Mapping[int, TabletInfo], now: datetime) -> QueueSnapshot:
        there = range(infos[0].trimmed_row_count, infos[0].total_row_count)
        rows = {row for row in data_weight_rows(previous, described, infos) if row[1] in there}
        return build(previous, described, infos, {row: stored[row] for row in rows}, now)

    old = look(first(), {0: info(lower, lower + length)}, NOW)
    infos = {0: info(min(lower + trimmed, lower + length), lower + length + written)}
    cheap = partition(look(old, infos, NOW + SECOND), 0)
    full = partition(look(first(), infos, NOW + SECOND), 0)
    assert replace(cheap, counters=full.counters) == full


def test_a_new_tablet_is_not_taken_for_the_old_one() -> None:
    described, infos = table("mounted"), {0: info(0, 5)}
    seen = build(first(), described, infos, {(0, 0): 10, (0, 4): 50})
    assert data_weight_rows(seen, described, infos) == set()
    recreated = replace(described, tablets=[replace(described.tablets[0], tablet_id="other")])
    assert data_weight_rows(seen, recreated, infos) == {(0, 0), (0, 4)}


def test_counters_go_on_by_partition_index_whatever_the_other_tablets_do() -> None:
    seen = build(first(), table("mounted", "mounted"), {0: info(0, 1000), 1: info(0, 10)})
    seen = build(seen, table("unmounted", "mounted"), {1: info(0, 15)}, now=NOW + SECOND)
    assert partition(seen, 1).counters.row_count.immediate_rate == 5.0
    assert seen.view is not None
    assert seen.view.write_row_count.immediate_rate == 5.0
    seen = build(seen, table("mounted", "mounted"), {0: info(0, 2000), 1: info(0, 15)}, now=NOW + 2 * SECOND)
    assert partition(seen, 0).counters.row_count.immediate_rate == 0.0


def test_a_pass_that_fails_late_keeps_counters_and_one_that_fails_early_loses_them() -> None:
    seen = build(first(), table("mounted"), {0: info(0, 10)})
    late = build(seen, table("mounted"), {0: info(0, 20)}, ErrorInfo("no answer"), NOW + SECOND)
    assert late.error == ErrorInfo("no answer")
    healed = build(late, table("mounted"), {0: info(0, 30)}, now=NOW + 2 * SECOND)
    assert partition(healed, 0).counters.row_count.immediate_rate == 10.0
    early = build(healed, table("mounted"), ErrorInfo("no answer"), now=NOW + 3 * SECOND)
    assert early.counters == {}
    assert status.queue_partitions(early, NOW) == []
    assert set(status.queue_status(early, "agent-1", NOW)) == {"queue_agent_host", "alerts", "exports", "error"}


def test_the_data_weight_rate_of_a_fully_trimmed_partition_fades() -> None:
    described = table("mounted")
    seen = build(first(), described, {0: info(0, 1)}, {(0, 0): 10})
    seen = build(seen, described, {0: info(0, 2)}, {(0, 0): 10, (0, 1): 30}, NOW + SECOND)
    assert partition(seen, 0).counters.data_weight.immediate_rate == 20.0
    seen = build(seen, described, {0: info(2, 2)}, now=NOW + 2 * SECOND)
    assert partition(seen, 0).cumulative_data_weight is None
    assert partition(seen, 0).counters.data_weight.immediate_rate == 0.0


def test_a_cluster_whose_clock_is_ahead_gives_no_negative_idle_time() -> None:
    ahead = (int(NOW.timestamp()) + 60) << 30
    [published] = status.queue_partitions(build(first(), table("mounted"), {0: info(0, 1, ahead)}), NOW)
    assert published["commit_idle_time"] == 0


def test_a_table_without_tablets_is_a_queue_without_partitions() -> None:
    snapshot = build(first(), table())
    assert snapshot.view is not None
    assert snapshot.view.readable
    assert status.queue_status(snapshot, "agent-1", NOW)["partition_count"] == 0


def test_a_sorted_table_is_no_queue() -> None:
    assert find_schema_error(table(), ORIGIN) is None
    key = ColumnDescription("key", "int64", sort_order="ascending")
    error = find_schema_error(table(columns=[key, *COLUMNS]), ORIGIN)
    assert error is not None
    assert error.message.startswith("Invalid queue schema [key (sorted);")


def test_a_ban_is_dated_from_its_first_pass_and_lets_rates_start_anew() -> None:
    seen = build(first(), table("mounted"), {0: info(0, 10)})
    banned = banned_queue_snapshot(seen, seen.row, NOW, ORIGIN)
    banned = banned_queue_snapshot(banned, seen.row, NOW + SECOND, ORIGIN)
    assert banned.error is not None
    assert banned.error.message == (
        'Queue is banned by "queue_agent_banned" attribute (BannedSince: 2025-01-23T13:42:21.839124Z)'
    )
    assert (banned.pass_index, banned.counters) == (3, {})
    exports = status.queue_status(banned, "agent-1", NOW)["exports"]
    assert exports["error"]["message"] == "Incorrect queue exports"


def test_before_its_first_pass_a_queue_says_so() -> None:
    published = status.queue_node(first(), "agent-1", NOW)
    assert published["status"]["error"]["message"] == "Queue is not processed yet"
    assert published["pass_index"] == 0


def test_a_following_controller_does_not_know_exports() -> None:
    snapshot = build(first(Role.FOLLOWING), table("mounted"), {0: info(0, 0)})
    exports = status.queue_status(snapshot, "agent-1", NOW)["exports"]
    assert exports["error"]["message"] == "Following queue controller can't track exports progress"


def test_a_queue_without_controller_publishes_row_and_error_alone() -> None:
    row = QueueRow(QUEUE, row_revision=3, revision=2**63)
    snapshot = QueueSnapshot(row, Role.ERROR, 0, NOW, ErrorInfo("broken"))
    node = status.queue_node(snapshot, "agent-1", NOW)
    assert set(node) == {"row", "replicated_table_mapping_row", "status", "partitions"}
    assert node["status"] == {"error": {"code": 1, "message": "broken", "attributes": {}}}
    assert node["partitions"] == []
    assert isinstance(node["row"]["revision"], Unsigned)
    assert node["row"]["auto_trim_config"] == {"enable": False}


def idle(previous: QueueSnapshot, now: datetime) -> QueueSnapshot | None:
    return idle_queue_snapshot(previous, previous.row, [REGISTRATION], now, 2, now, previous.exports)


def test_what_has_not_changed_is_not_built_anew_and_equals_what_would_be() -> None:
    described, infos, weights = table("mounted"), {0: info(3, 10)}, {(0, 3): 80, (0, 9): 200}
    seen = build(first(), described, infos, weights)
    again = build(seen, described, infos, now=NOW + SECOND)
    assert again.view is not None
    assert seen.view is not None
    assert again.view.partitions[0] is seen.view.partitions[0]
    quiet = idle(seen, NOW + SECOND)
    assert quiet is not None
    assert quiet.view is not None
    assert quiet.view.partitions is seen.view.partitions
    # As of then, counters are the same: those that were not rolled yet are rolled when they are read.
    assert status.queue_partitions(quiet, NOW + SECOND) == status.queue_partitions(again, NOW + SECOND)
    assert (quiet.pass_index, quiet.registrations, quiet.exports) == (2, again.registrations, again.exports)


def test_a_queue_of_which_something_is_still_to_be_asked_is_looked_at() -> None:
    described, infos, weights = table("mounted"), {0: info(3, 10)}, {(0, 3): 80, (0, 9): 200}
    seen = build(first(), described, infos, weights)
    assert idle(seen, NOW) is not None
    assert idle(seen, NOW - SECOND) is None
    assert idle(build(first(), described, infos), NOW) is None
    assert idle(build(first(), table("mounted", "unmounted"), infos, weights), NOW) is None
    assert idle(first(), NOW) is None


def test_a_table_that_can_not_be_described_is_an_error_without_counters() -> None:
    seen = build(first(), table("mounted"), {0: info(0, 10)})
    lost = build(seen, ErrorInfo("no such node", 500), now=NOW + SECOND)
    assert (lost.error, lost.counters, lost.pass_index) == (ErrorInfo("no such node", 500), {}, 2)


def test_a_table_that_loses_its_column_of_weights_has_no_weights_and_no_rate_of_them() -> None:
    seen = build(first(), table("mounted"), {0: info(0, 1)}, {(0, 0): 10})
    seen = build(seen, table("mounted", columns=COLUMNS[:2]), {0: info(0, 3)}, now=NOW + SECOND)
    counters = partition(seen, 0).counters
    assert (counters.row_count.immediate_rate, counters.data_weight) == (2.0, EmaCounter())
    assert partition(seen, 0).available_data_weight is None
