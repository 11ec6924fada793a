"""Errors of trimming that failed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from queue_agent.core.state.quarantines import Quarantine
from queue_agent.core.trimming.bounds import TrimBounds
from queue_agent.core.trimming.errors import (
    TRIM_FAILED_CODE,
    ages_error,
    find_quarantine_alert,
    find_trim_error,
    join_session_errors,
    session_error,
    trim_alert,
)
from queue_agent.core.trimming.plan import PartitionPlan, TrimPlan
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind
from tests.unit.core.trimming.plans import ALICE, BOB, BROKEN, NOW, ORIGIN, QUEUE, mounted

REPLICA = CrossClusterRef("hume", "//tmp/r")
BOUNDS = [TrimBounds(ConstraintKind.VITAL_CONSUMER, wanted=5)]


NOTICE = Quarantine(BOB, "1-2-3-4", {}, NOW, NOW, timedelta(hours=24))


def planned(*errors: ErrorInfo | None) -> TrimPlan:
    partitions = {index: PartitionPlan(mounted(0, 9), BOUNDS, error) for index, error in enumerate(errors)}
    return TrimPlan(QUEUE, partitions=partitions)


def test_a_plan_that_was_carried_out_is_no_error() -> None:
    assert find_trim_error(planned(None, None), {}, ORIGIN) is None


def test_the_error_of_a_whole_plan_comes_before_those_of_partitions() -> None:
    whole = planned(BROKEN).blocked(ConstraintKind.ERROR, ErrorInfo("all of it"))
    assert find_trim_error(whole, {0: BROKEN}, ORIGIN) == ErrorInfo("all of it")


def test_partitions_that_failed_are_told_by_index_in_the_error_of_their_table() -> None:
    error = find_trim_error(planned(None, BROKEN, None), {2: BROKEN, 0: ErrorInfo("denied", 901)}, ORIGIN)
    assert error is not None
    [session] = error.inner_errors
    assert (session.message, session.attributes["replica"]) == ("Failed to trim 3 partitions", str(QUEUE))
    assert [one.attributes["partition_index"] for one in session.inner_errors] == [0, 1, 2]
    denied, broken, _ = session.inner_errors
    assert denied.message == "Error occurred while executing trimming request for partition 0"
    assert denied.inner_errors == (ErrorInfo("denied", 901),)
    assert broken.message == "broken"


def test_a_request_that_failed_counts_more_than_why_its_partition_was_held_before() -> None:
    error = find_trim_error(planned(BROKEN), {0: BROKEN}, ORIGIN)
    assert error is not None
    [partition] = error.inner_errors[0].inner_errors
    assert partition.message.startswith("Error occurred while executing")


def test_the_alert_has_the_error_inside() -> None:
    alert = trim_alert(BROKEN, ORIGIN)
    assert (alert.message, alert.code, alert.inner_errors) == (
        "Error while trimming queue",
        TRIM_FAILED_CODE,
        (BROKEN,),
    )


def test_rows_whose_ages_are_not_known_are_told_with_partition_and_limit() -> None:
    error = ages_error(3, 1 << 60, BROKEN, ORIGIN)
    assert error.message == f"Error getting safe trim row count by timestamp {1 << 60}, not trimming partition 3"
    assert error.inner_errors == (BROKEN,)


def test_errors_of_replicas_are_told_side_by_side_whether_they_are_named_already_or_not() -> None:
    named = session_error(REPLICA, BROKEN, ORIGIN)
    joined = join_session_errors({QUEUE: ErrorInfo("lost"), REPLICA: named}, ORIGIN)
    assert joined is not None
    assert joined.message == "Error trimming 2 queue replicas"
    assert [(one.message, one.attributes["replica"]) for one in joined.inner_errors] == [
        ("broken", str(REPLICA)),
        ("lost", str(QUEUE)),
    ]
    assert join_session_errors({}, ORIGIN) is None


def test_each_consumer_in_quarantine_is_told_by_name() -> None:
    assert find_quarantine_alert([], None, ORIGIN) is None
    alert = find_quarantine_alert([NOTICE, replace(NOTICE, consumer=ALICE, is_started=True)], None, ORIGIN)
    assert alert is not None
    first, second = (one.message for one in alert.inner_errors)
    assert first == f'Rows that vital consumer "{ALICE}" has not read are trimmed: it is in quarantine'
    assert second.startswith(f'Vital consumer "{BOB}" has had notice since 2025-01-23T13:42:21.000000Z: later,')


def test_an_alert_says_why_quarantines_are_not_known() -> None:
    assert find_quarantine_alert([NOTICE], BROKEN, ORIGIN) == BROKEN
