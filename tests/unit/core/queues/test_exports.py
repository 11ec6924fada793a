"""What is said of the exports a queue asks for."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.exports.config import ExportConfig
from queue_agent.core.exports.progress import ExportProgress, StoredProgress, TabletProgress, aggregate_progress
from queue_agent.core.exports.queue_exports import NO_EXPORTS, NO_STATES, ExportState
from queue_agent.core.exports.schedule import EveryPeriod
from queue_agent.core.queues.exports import (
    EXPORT_FAILED,
    EXPORT_MISCONFIGURED,
    EXPORT_RECOUNTED,
    banned_exports,
    find_config_error,
    find_exports,
)
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.state.rows import QueueRow
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef

ORIGIN = Origin("agent-1", 481, 7, "Controller:0", 8, "1-2-3-4", 9, datetime(2025, 1, 23, tzinfo=UTC))
CONFIG = {"export_directory": "//tmp/x", "export_period": 60_000}
TABLETS = {0: "t0"}
STATE = ExportState(
    ExportConfig(EveryPeriod(60), "//tmp/x"), StoredProgress(tablets={0: TabletProgress(row_count=7, tablet_id="t0")})
)

progresses = st.lists(st.dictionaries(st.integers(0, 5), st.integers(0, 9)).map(ExportProgress))


def row(config: Any, object_type: str | None = "table") -> QueueRow:
    return QueueRow(CrossClusterRef("hume", "//tmp/q"), object_type=object_type, static_export_config=config)


def test_a_partition_that_one_export_does_not_have_is_not_exported() -> None:
    left, right = ExportProgress({1: 1, 3: 1, 4: 2}), ExportProgress({2: 1, 3: 2, 4: 1})
    assert aggregate_progress([left, right]) == ExportProgress({1: 0, 2: 0, 3: 1, 4: 1})


def test_no_exports_are_something_else_than_exports_of_nothing() -> None:
    assert aggregate_progress([]) is None
    assert aggregate_progress([ExportProgress({})]) == ExportProgress({})


@given(progresses)
def test_all_exports_together_have_what_each_of_them_has(exports: list[ExportProgress]) -> None:
    together = aggregate_progress(exports)
    if together is not None:
        for index in range(6):
            assert together.row_count(index) == min(export.row_count(index) for export in exports)


def test_a_queue_that_asks_for_nothing_has_no_exports() -> None:
    assert find_exports(row(None), Role.LEADING, NO_STATES, ORIGIN) is NO_EXPORTS
    assert find_exports(row({}), Role.LEADING, NO_STATES, ORIGIN) is NO_EXPORTS


def test_an_export_nobody_has_looked_at_yet_has_exported_nothing() -> None:
    exports = find_exports(row({"a": CONFIG}), Role.LEADING, NO_STATES, ORIGIN)
    assert exports.reached(TABLETS) == {"a": ExportProgress({})}
    assert exports.to_map()["progress"]["a"]["last_export_unix_ts"] == 0


def test_what_is_known_counts_unless_it_is_of_another_directory() -> None:
    assert find_exports(row({"a": CONFIG}), Role.LEADING, {"a": STATE}, ORIGIN).reached(TABLETS)["a"].row_count(0) == 7
    elsewhere = {**CONFIG, "export_directory": "//tmp/y"}
    assert (
        find_exports(row({"a": elsewhere}), Role.LEADING, {"a": STATE}, ORIGIN).reached(TABLETS)["a"].row_count(0) == 0
    )
    assert find_exports(row({"b": CONFIG}), Role.LEADING, {"a": STATE}, ORIGIN).reached(TABLETS).keys() == {"b"}


def test_what_was_exported_of_another_queue_of_this_name_does_not_count() -> None:
    known = {"a": replace(STATE, queue_id="1-1-1-1")}
    mine, other = (replace(row({"a": CONFIG}), object_id=object_id) for object_id in ("1-1-1-1", "2-2-2-2"))
    assert find_exports(mine, Role.LEADING, known, ORIGIN).reached(TABLETS)["a"].row_count(0) == 7
    assert find_exports(other, Role.LEADING, known, ORIGIN).reached(TABLETS)["a"].row_count(0) == 0


def test_a_failed_task_is_an_alert_that_names_the_export() -> None:
    failed = ExportState(STATE.config, STATE.progress, error=ErrorInfo("broken"))
    exports = find_exports(row({"a": CONFIG}), Role.LEADING, {"a": failed}, ORIGIN)
    alert = exports.alerts[EXPORT_FAILED]
    assert (alert.code, alert.message) == (3035, "Failed to perform static export for queue")
    [inner] = alert.inner_errors
    assert (inner.message, inner.attributes["export_name"]) == ("broken", "a")
    assert exports.error is None


@pytest.mark.parametrize(
    ("queue", "words"),
    [
        (row({"a": {**CONFIG, "export_period": 5}}), "multiple of 1000"),
        (row({"a": CONFIG, "b": CONFIG}), "Duplicate directory in config (Value: //tmp/x)"),
        (row({"a": CONFIG}, "replicated_table"), "can only be set on replicas, not replicated_table"),
        (row({"a": CONFIG}, None), "object type is not known"),
    ],
)
def test_a_config_that_can_not_be_is_an_alert_and_no_progress(queue: QueueRow, words: str) -> None:
    exports = find_exports(queue, Role.LEADING, {"a": STATE}, ORIGIN)
    assert exports.error is not None
    assert exports.error.message == "Incorrect queue exports"
    assert words in str(exports.error.to_map())
    assert exports.alerts[EXPORT_MISCONFIGURED].code == 3037
    assert exports.to_map().keys() == {"error"}


def test_who_follows_a_queue_or_bans_it_knows_of_no_progress() -> None:
    following = find_exports(row({"a": CONFIG}), Role.FOLLOWING, NO_STATES, ORIGIN)
    banned = banned_exports(ErrorInfo("banned"), ORIGIN)
    for exports, words in ((following, "can't track exports progress"), (banned, "this queue is banned")):
        assert exports.error is not None
        assert words in str(exports.error.to_map())
        assert exports.alerts == {}


def test_partitions_that_are_exported_anew_are_an_alert_of_their_own() -> None:
    exports = find_exports(row({"a": CONFIG}), Role.LEADING, {"a": replace(STATE, recounted=[1, 3])}, ORIGIN)
    [alert] = exports.alerts.values()
    [inner] = exports.alerts[EXPORT_RECOUNTED].inner_errors
    assert "may be in its tables twice" in alert.message
    assert inner.message == 'Export "a" cannot continue its progress of partitions 1, 3'
    assert inner.attributes["partition_indexes"] == [1, 3]
    failed = replace(STATE, recounted=[1], error=ErrorInfo("broken"))
    both = find_exports(row({"a": CONFIG}), Role.LEADING, {"a": failed}, ORIGIN)
    assert both.alerts.keys() == {EXPORT_RECOUNTED, EXPORT_FAILED}


def test_where_no_exports_are_asked_for_nothing_is_wrong_with_them() -> None:
    assert find_config_error(row(None), ORIGIN) is None
    assert find_config_error(row({}, "replicated_table"), ORIGIN) is None
    assert find_config_error(row({"a": CONFIG}), ORIGIN) is None
