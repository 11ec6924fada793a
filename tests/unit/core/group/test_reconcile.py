"""Which controllers there have to be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.group.reconcile import assign_objects, plan_fleet
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.state.rows import ConsumerRow, MappingRow, QueueRow, Registration, StateRows
from queue_agent.core.values.refs import CrossClusterRef

QUEUE = CrossClusterRef("pythia", "//q")
CONSUMER = CrossClusterRef("hume", "//c")


class Everything:
    """All objects are mapped to this agent."""

    def __contains__(self, ref: object) -> bool:
        return True


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
    assignment = assign_objects(rows("s", None, registered=False), "s", Everything())
    assert assignment.queues == {QUEUE: Role.LEADING}
    assert assignment.consumers == {}


def test_the_other_side_of_a_registration_is_followed() -> None:
    assignment = assign_objects(rows("s", "other"), "s", Everything())
    assert assignment.consumers == {CONSUMER: Role.FOLLOWING}
    assignment = assign_objects(rows("other", "s"), "s", Everything())
    assert assignment.queues == {QUEUE: Role.FOLLOWING}


def test_following_goes_one_step_only() -> None:
    far = CrossClusterRef("hume", "//far")
    state = rows("s", "other")
    state = StateRows(
        queues=[*state.queues, QueueRow(far, queue_agent_stage="other")],
        consumers=state.consumers,
        registrations=[*state.registrations, Registration(far, CONSUMER, vital=False)],
    )
    assert far not in assign_objects(state, "s", Everything()).queues


def test_an_object_without_row_is_not_followed() -> None:
    state = rows("s", "s")
    assert assign_objects(StateRows(state.queues, [], state.registrations), "s", Everything()).consumers == {}


def test_a_queue_in_error_keeps_its_consumers_followed() -> None:
    assignment = assign_objects(rows("s", "other"), "s", Everything(), {QUEUE})
    assert assignment.queues == {QUEUE: Role.ERROR}
    assert assignment.consumers == {CONSUMER: Role.FOLLOWING}


REPLICA = CrossClusterRef("hume", "//replica")
META = {
    "replicated_table_meta": {
        "replicas": {"1": {"cluster_name": "hume", "replica_path": "//replica", "state": "disabled", "mode": "async"}}
    }
}


def replicated(queue_stage: str, consumer_stage: str) -> StateRows:
    state = rows(queue_stage, consumer_stage)
    return StateRows(
        queues=[
            QueueRow(QUEUE, queue_agent_stage=queue_stage, object_type="replicated_table"),
            QueueRow(REPLICA, queue_agent_stage="other", object_type="table"),
        ],
        consumers=state.consumers,
        registrations=state.registrations,
        mappings=[MappingRow(QUEUE, object_type="replicated_table", meta=META)],
    )


def test_replicated_objects_are_led_only_if_they_are_to_be_handled() -> None:
    state = replicated("s", "other")
    assert assign_objects(state, "s", Everything()).queues == {QUEUE: Role.ERROR}
    assignment = assign_objects(state, "s", Everything(), handle_replicated_objects=True)
    assert assignment.queues == {QUEUE: Role.LEADING, REPLICA: Role.FOLLOWING}
    assert assignment.consumers == {CONSUMER: Role.FOLLOWING}


def test_a_replicated_queue_that_is_not_led_is_followed_for_its_consumers_and_so_are_its_replicas() -> None:
    assignment = assign_objects(replicated("s", "s"), "s", Everything())
    assert assignment.queues == {QUEUE: Role.FOLLOWING, REPLICA: Role.FOLLOWING}


def test_a_replicated_consumer_that_is_not_led_is_followed_for_its_queue() -> None:
    consumer = ConsumerRow(CONSUMER, queue_agent_stage="s", object_type="chaos_replicated_table")
    state = rows("s", "s")
    state = StateRows(state.queues, [consumer], state.registrations)
    assert assign_objects(state, "s", Everything()).consumers == {CONSUMER: Role.FOLLOWING}
    alone = StateRows([], [consumer], [])
    assert assign_objects(alone, "s", Everything()).consumers == {CONSUMER: Role.ERROR}


def test_replicas_are_not_followed_without_a_row() -> None:
    state = replicated("s", "other")
    state = StateRows(state.queues[:1], state.consumers, state.registrations, state.mappings)
    assert assign_objects(state, "s", Everything(), handle_replicated_objects=True).queues == {QUEUE: Role.LEADING}


def test_multi_consumers_are_led_by_stage_and_never_followed() -> None:
    own, foreign = ConsumerRow(CONSUMER, queue_agent_stage="s"), ConsumerRow(QUEUE, queue_agent_stage="other")
    assignment = assign_objects(StateRows([], [], []), "s", Everything(), multi_consumers=[own, foreign])
    assert assignment.multi_consumers == {CONSUMER: Role.LEADING}


stages = st.sampled_from([None, "s", "other"])
types = st.sampled_from(["table", "replicated_table"])
paths = st.sampled_from(["//a", "//b", "//c"])
refs = st.builds(CrossClusterRef, st.just("hume"), paths)


@given(
    st.dictionaries(refs, st.tuples(stages, types)),
    st.dictionaries(refs, st.tuples(stages, types)),
    st.lists(st.builds(Registration, refs, refs, st.booleans())),
    st.booleans(),
)
def test_what_is_led_is_of_the_stage_and_what_is_followed_is_needed(
    queues: dict[CrossClusterRef, tuple[str | None, str]],
    consumers: dict[CrossClusterRef, tuple[str | None, str]],
    registrations: list[Registration],
    handle: bool,
) -> None:
    state = StateRows(
        [QueueRow(ref, queue_agent_stage=stage, object_type=kind) for ref, (stage, kind) in queues.items()],
        [ConsumerRow(ref, queue_agent_stage=stage, object_type=kind) for ref, (stage, kind) in consumers.items()],
        registrations,
    )
    assignment = assign_objects(state, "s", Everything(), handle_replicated_objects=handle)
    for roles, objects in ((assignment.queues, queues), (assignment.consumers, consumers)):
        assert roles.keys() <= objects.keys()
        for ref, (stage, kind) in objects.items():
            may_lead = stage == "s" and (handle or kind == "table")
            assert (roles.get(ref) is Role.LEADING) is may_lead
            assert (roles.get(ref) is Role.ERROR) <= (stage == "s" and not may_lead)
    followed = {ref for ref, role in assignment.queues.items() if role is Role.FOLLOWING}
    needed = {one.queue for one in registrations if assignment.consumers.get(one.consumer) is Role.LEADING}
    assert followed <= needed
    backwards = StateRows(state.queues, state.consumers, registrations[::-1])
    assert assign_objects(backwards, "s", Everything(), handle_replicated_objects=handle) == assignment
