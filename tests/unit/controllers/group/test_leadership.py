"""What an agent may act on, asked just before it does."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

import pytest

from queue_agent.controllers.group.leadership import Leadership, boot_seconds
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ActionRefused

QUEUE = CrossClusterRef("pythia", "//tmp/q")
REPLICA = CrossClusterRef("hume", "//tmp/replica")


def alone_with(*led: CrossClusterRef) -> Leadership:
    leadership = Leadership("a:1", timedelta(minutes=5))
    now = boot_seconds()
    leadership.prolong(now)
    leadership.observe(now, dict.fromkeys(led, 1))
    leadership.saw_alone(boot_seconds() + 1)
    return leadership


def test_who_leads_a_queue_may_act_on_its_replica_only_while_it_leads_that_too() -> None:
    leadership = alone_with(QUEUE, REPLICA)
    with leadership.acting([QUEUE, REPLICA]) as permit:
        permit.check()
        leadership.observe(boot_seconds(), {QUEUE: 1})
        with pytest.raises(ActionRefused, match="another agent leads it"):
            permit.check()
    with leadership.acting([QUEUE]) as permit:
        permit.check()


def test_a_refusal_names_all_that_would_have_to_be_led() -> None:
    leadership = alone_with(QUEUE)
    with pytest.raises(ActionRefused) as caught:
        leadership.permit([QUEUE, REPLICA]).check()
    words = '"pythia://tmp/q", "hume://tmp/replica" left alone since another agent leads it, or none'
    assert caught.value.message == words


@pytest.mark.parametrize(("clocks", "seconds"), [({"CLOCK_BOOTTIME": 7}, 42.0), ({}, 1.0)])
def test_time_goes_on_while_the_machine_sleeps_where_there_is_such_a_clock(
    clocks: dict[str, int], seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = SimpleNamespace(monotonic=lambda: 1.0, clock_gettime={7: 42.0}.__getitem__, **clocks)
    monkeypatch.setattr("queue_agent.controllers.group.leadership.time", machine)
    assert boot_seconds() == seconds


def test_a_new_membership_waits_as_another_agent_of_its_address_may_have_led() -> None:
    leadership = Leadership("a:1", timedelta(minutes=5))
    leadership.prolong(boot_seconds())
    leadership.observe(boot_seconds(), {QUEUE: 1})
    leadership.saw_alone(boot_seconds() + 1)
    leadership.begin()
    assert leadership.find_hold([QUEUE]) is None
    leadership.saw_alone(boot_seconds() - 1)
    assert leadership.find_hold([QUEUE]) is not None


def test_only_a_member_keeps_the_state_tables_and_only_until_its_membership_ends() -> None:
    leadership = Leadership("a:1", timedelta(minutes=5))
    leadership.is_elected = True
    assert not leadership.keeps_tables
    leadership.begin()
    leadership.prolong(boot_seconds())
    assert leadership.keeps_tables
    leadership.lose()
    leadership.begin()
    leadership.prolong(boot_seconds())
    assert leadership.is_member
    assert not leadership.keeps_tables, "the new membership was not elected"


def test_several_objects_are_led_since_the_last_of_them_came() -> None:
    leadership = Leadership("a:1", timedelta(minutes=5))
    leadership.observe(boot_seconds(), {QUEUE: 1})
    first = leadership.find_term([QUEUE])
    leadership.observe(boot_seconds(), {QUEUE: 1, REPLICA: 1})
    both = leadership.find_term([QUEUE, REPLICA])
    assert first.since < both.since <= both.now
    assert leadership.find_term([QUEUE]).since == first.since
