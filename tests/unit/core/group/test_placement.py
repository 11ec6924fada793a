"""Where objects are led."""

from __future__ import annotations

from queue_agent.core.group.placement import Placement, place
from queue_agent.core.state.rows import ConsumerRow, QueueRow, StateRows
from queue_agent.core.values.refs import CrossClusterRef

QUEUE, OTHER, CONSUMER, MULTI = (CrossClusterRef("pythia", path) for path in ("//q", "//o", "//c", "//m"))
NAMED = [MULTI._replace(name=name) for name in ("x", "y")]


def placed(hosts: dict[CrossClusterRef, str] | None = None) -> Placement:
    rows = StateRows(
        queues=[QueueRow(QUEUE, queue_agent_stage="s"), QueueRow(OTHER, queue_agent_stage="another"), QueueRow(MULTI)],
        consumers=[ConsumerRow(ref, queue_agent_stage="s") for ref in (CONSUMER, *NAMED)],
        registrations=[],
        hosts=hosts or {},
    )
    return place("a:1", rows, [ConsumerRow(MULTI, queue_agent_stage="s"), ConsumerRow(OTHER)], "s")


def test_objects_of_other_stages_or_of_none_are_left_out() -> None:
    placement = placed()
    assert list(placement.queues) == [QUEUE]
    assert list(placement.consumers) == [CONSUMER, *NAMED]
    assert list(placement.multi_consumers) == [MULTI]


def test_named_consumers_are_led_where_their_table_is() -> None:
    placement = placed({MULTI: "a:1", QUEUE: "b:1"})
    assert [placement.find_host(ref) for ref in (MULTI, *NAMED)] == ["a:1"] * 3
    assert [ref for ref in (QUEUE, CONSUMER, MULTI, *NAMED) if placement.is_here(ref)] == [MULTI, *NAMED]
    assert placement.find_host(CONSUMER) is None


def test_a_table_counts_once_whatever_it_is_and_one_without_an_agent_does_not() -> None:
    hosts = {MULTI: "a:1", QUEUE: "b:1", CrossClusterRef("pythia", "//gone"): "c:1"}
    assert placed(hosts).object_counts == {"a:1": 1, "b:1": 1}
    assert placed({**hosts, CONSUMER: "a:1"}).object_counts == {"a:1": 2, "b:1": 1}
    assert placed().object_counts == {}
