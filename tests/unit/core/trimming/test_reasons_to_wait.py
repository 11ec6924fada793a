"""When a plan is not to be carried out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from queue_agent.core.queues.snapshots import ConsumerSnapshot, Role
from queue_agent.core.state.rows import ConsumerRow, Registration
from queue_agent.core.trimming.reasons_to_wait import STATE_AGE_LIMIT, find_reason_to_wait
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef

NOW = datetime(2025, 1, 23, 13, 42, tzinfo=UTC)
ORIGIN = Origin("agent", 1, 2, "Controller:0", 3, "1-2-3-4", 5, NOW)
QUEUE = CrossClusterRef("pythia", "//tmp/q")
CONSUMER = CrossClusterRef("hume", "//tmp/c")
ANY = ErrorInfo("of no account here")


def reason(
    state_age: timedelta | None = timedelta(seconds=1),
    position_age: timedelta = timedelta(seconds=1),
    pass_period: timedelta = timedelta(seconds=1),
    *,
    vital: bool = True,
) -> str | None:
    error = find_reason_to_wait(
        None if state_age is None else NOW - state_age,
        [Registration(QUEUE, CONSUMER, vital=vital)],
        {CONSUMER: ConsumerSnapshot(ConsumerRow(CONSUMER), Role.LEADING, 1, NOW - position_age, ANY)},
        pass_period,
        NOW,
        ORIGIN,
    )
    return None if error is None else error.message


def test_what_is_fresh_is_believed() -> None:
    assert reason() is None


@pytest.mark.parametrize("age", [timedelta(0), STATE_AGE_LIMIT])
def test_what_is_as_old_as_may_be_is_believed(age: timedelta) -> None:
    assert reason(state_age=age) is None
    assert reason(position_age=timedelta(seconds=10)) is None


@pytest.mark.parametrize("age", [STATE_AGE_LIMIT + timedelta(microseconds=1), timedelta(seconds=-1)])
def test_old_state_tables_are_not_believed_nor_those_of_a_time_to_come(age: timedelta) -> None:
    assert str(reason(state_age=age)).endswith(f"state tables were read last: {encode_instant(NOW - age)}")


def test_state_tables_that_were_never_read_are_not_believed() -> None:
    assert str(reason(state_age=None)).endswith("state tables were read last: never")


def test_a_vital_consumer_that_was_polled_at_a_time_to_come_is_not_believed() -> None:
    assert str(CONSUMER) in str(reason(position_age=timedelta(seconds=-1)))


def test_a_vital_consumer_is_believed_for_a_few_passes() -> None:
    assert str(CONSUMER) in str(reason(position_age=timedelta(seconds=11)))
    assert reason(position_age=timedelta(seconds=11), vital=False) is None
    assert reason(position_age=timedelta(seconds=11), pass_period=timedelta(seconds=3)) is None
