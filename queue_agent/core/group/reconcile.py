"""Which objects this agent has controllers for, and which controllers have to be started and stopped for that."""

from __future__ import annotations

from collections.abc import Collection, Container, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from queue_agent.core.queues.snapshots import Role
from queue_agent.core.state.replication import REPLICATED_TYPES, replicas_of
from queue_agent.core.state.rows import ConsumerRow, QueueRow, StateRows
from queue_agent.core.values.refs import CrossClusterRef

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Assignment:
    """The objects this agent is concerned with."""

    queues: Mapping[CrossClusterRef, Role]
    consumers: Mapping[CrossClusterRef, Role]
    multi_consumers: Mapping[CrossClusterRef, Role] = field(default_factory=dict)
    """These are led or not there at all."""


def assign_objects(
    rows: StateRows,
    stage: str,
    led: Container[CrossClusterRef],
    queues_in_error: Collection[CrossClusterRef] = frozenset(),
    *,
    multi_consumers: Collection[ConsumerRow] = (),
    handle_replicated_objects: bool = False,
) -> Assignment:
    """Say what to lead and what to follow.

    Objects of the stage are led if the mapping says so. The other side of a registration of a led object is
    followed, of whatever stage, if it has a row; and so are the replicas of queues that are led or followed.

    Args:
        rows: of all stages, named consumers among the consumers.
        stage: the agent's own.
        led: tables that this agent is to lead.
        queues_in_error: those for which no controller can be made.
        multi_consumers: rows of the tables that hold the named consumers.
        handle_replicated_objects: without it, objects of replicated types are in error unless they are followed.
    """

    def may_lead(row: QueueRow | ConsumerRow) -> bool:
        return handle_replicated_objects or row.object_type not in REPLICATED_TYPES

    own_queues = [row for row in rows.queues if row.queue_agent_stage == stage and row.queue in led]
    own_consumers = [row for row in rows.consumers if row.queue_agent_stage == stage and row.consumer.table in led]
    queues = {row.queue: Role.LEADING for row in own_queues if may_lead(row)}
    consumers = {row.consumer: Role.LEADING for row in own_consumers if may_lead(row)}
    known_queues = {row.queue for row in rows.queues}
    known_consumers = {row.consumer for row in rows.consumers}
    led_queues, led_consumers = frozenset(queues), frozenset(consumers)
    for registration in rows.registrations:
        if registration.queue in led_queues and registration.consumer in known_consumers:
            consumers.setdefault(registration.consumer, Role.FOLLOWING)
        if registration.consumer in led_consumers and registration.queue in known_queues:
            queues.setdefault(registration.queue, Role.FOLLOWING)
    replicas = {row.table: replicas_of(row) for row in rows.mappings or () if row.table in queues}
    for replica in (replica.table for of_queue in replicas.values() for replica in of_queue):
        if replica in known_queues:
            queues.setdefault(replica, Role.FOLLOWING)
    for queue_row in own_queues:
        queues.setdefault(queue_row.queue, Role.ERROR)
    for consumer_row in own_consumers:
        consumers.setdefault(consumer_row.consumer, Role.ERROR)
    return Assignment(
        queues={ref: Role.ERROR if ref in queues_in_error else role for ref, role in queues.items()},
        consumers=consumers,
        multi_consumers={
            row.consumer: Role.LEADING
            for row in multi_consumers
            if row.queue_agent_stage == stage and row.consumer in led and may_lead(row)
        },
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
