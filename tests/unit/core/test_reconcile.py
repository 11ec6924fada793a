"""Which controllers there have to be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.reconcile import assign_objects, plan_fleet
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.rows import ConsumerRow, QueueRow, Registration, StateRows
from queue_agent.core.snapshots import Role

QUEUE = CrossClusterRef("pythia", "//q")
CONSUMER = CrossClusterRef("hume", "//c")

roles = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(Role))
running_roles = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([Role.LEADING, Role.FOLLOWING]))


@given(running_roles, roles)
def test_what_is_stopped_and_started_makes_what_is_wanted(running: dict[str, Role], wanted: dict[str, Role]) -> None:
    changes = plan_fleet(running, wanted)
    result = {key: role for key, role in running.items() if key not in changes.stop}
    assert not result.keys() & changes.start.keys()
    result |= changes.start
    assert result == {key: role for key, role in wanted.items() if role is not Role.ERROR}
    again = plan_fleet(result, wanted)
    assert not again.stop
    assert not again.start


@given(running_roles)
def test_controllers_that_fit_are_kept(running: dict[str, Role]) -> None:
    changes = plan_fleet(running, running)
    assert not changes.stop
    assert not changes.start


def rows(queue_stage: str | None, consumer_stage: str | None, registered: bool = True) -> StateRows:
    return StateRows(
        queues=[QueueRow(QUEUE, queue_agent_stage=queue_stage)],
        consumers=[ConsumerRow(CONSUMER, queue_agent_stage=consumer_stage)],
        registrations=[Registration(QUEUE, CONSUMER, vital=False)] if registered else [],
    )


def test_objects_of_the_stage_are_led_and_others_are_not() -> None:
    assignment = assign_objects(rows("s", None, registered=False), "s")
    assert assignment.queues == {QUEUE: Role.LEADING}
    assert assignment.consumers == {}


def test_the_other_side_of_a_registration_is_followed() -> None:
    assignment = assign_objects(rows("s", "other"), "s")
    assert assignment.consumers == {CONSUMER: Role.FOLLOWING}
    assignment = assign_objects(rows("other", "s"), "s")
    assert assignment.queues == {QUEUE: Role.FOLLOWING}


def test_following_goes_one_step_only() -> None:
    far = CrossClusterRef("hume", "//far")
    state = rows("s", "other")
    state = StateRows(
        queues=[*state.queues, QueueRow(far, queue_agent_stage="other")],
        consumers=state.consumers,
        registrations=[*state.registrations, Registration(far, CONSUMER, vital=False)],
    )
    assert far not in assign_objects(state, "s").queues


def test_an_object_without_row_is_not_followed() -> None:
    state = rows("s", "s")
    assert assign_objects(StateRows(state.queues, [], state.registrations), "s").consumers == {}


def test_a_queue_in_error_keeps_its_consumers_followed() -> None:
    assignment = assign_objects(rows("s", "other"), "s", {QUEUE})
    assert assignment.queues == {QUEUE: Role.ERROR}
    assert assignment.consumers == {CONSUMER: Role.FOLLOWING}
