"""What an agent may act on, asked just before it does."""

from __future__ import annotations

from datetime import timedelta

import pytest

from queue_agent.controllers.leadership import Leadership, boot_seconds
from queue_agent.core.refs import CrossClusterRef
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
