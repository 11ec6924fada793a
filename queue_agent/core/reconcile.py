"""Which objects this agent has controllers for, and which controllers have to be started and stopped for that."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.rows import StateRows
from queue_agent.core.snapshots import Role

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Assignment:
    """The objects this agent is concerned with."""

    queues: Mapping[CrossClusterRef, Role]
    consumers: Mapping[CrossClusterRef, Role]


def assign_objects(
    rows: StateRows, stage: str, queues_in_error: Collection[CrossClusterRef] = frozenset()
) -> Assignment:
    """Say what to lead and what to follow.

    All objects of the stage are led. The other side of a registration of a led object is followed, of whatever stage,
    if it has a row.

    Args:
        rows: of all stages.
        stage: the agent's own.
        queues_in_error: those for which no controller can be made.
    """
    queue_stages = {row.queue: row.queue_agent_stage for row in rows.queues}
    consumer_stages = {row.consumer: row.queue_agent_stage for row in rows.consumers}
    queues = {ref: Role.LEADING for ref, its_stage in queue_stages.items() if its_stage == stage}
    consumers = {ref: Role.LEADING for ref, its_stage in consumer_stages.items() if its_stage == stage}
    led_queues, led_consumers = frozenset(queues), frozenset(consumers)
    for registration in rows.registrations:
        if registration.queue in led_queues and registration.consumer in consumer_stages:
            consumers.setdefault(registration.consumer, Role.FOLLOWING)
        if registration.consumer in led_consumers and registration.queue in queue_stages:
            queues.setdefault(registration.queue, Role.FOLLOWING)
    return Assignment(
        queues={ref: Role.ERROR if ref in queues_in_error else role for ref, role in queues.items()},
        consumers=consumers,
    )


@dataclass(frozen=True, slots=True)
class FleetChanges(Generic[K]):
    """Stops come first: what is stopped and started again must have ended in between."""

    stop: Collection[K]
    start: Mapping[K, Role]


def plan_fleet(running: Mapping[K, Role], wanted: Mapping[K, Role]) -> FleetChanges[K]:
    """Say what makes the running controllers those wanted; objects wanted as `Role.ERROR` have none.

    A controller whose role changes is replaced by a new one.
    """
    needed = {key: role for key, role in wanted.items() if role is not Role.ERROR}
    return FleetChanges(
        stop=[key for key, role in running.items() if needed.get(key) is not role],
        start={key: role for key, role in needed.items() if running.get(key) is not role},
    )
