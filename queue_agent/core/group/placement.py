"""Where the objects of a stage are led."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from queue_agent.core.state.rows import ConsumerRow, ObjectHosts, StateRows
from queue_agent.core.values.refs import CrossClusterRef


@dataclass(frozen=True, slots=True)
class Placement:
    """The objects of a stage, and the agents that lead them."""

    address: str
    """Of this agent."""

    hosts: ObjectHosts = field(default_factory=dict)
    queues: Collection[CrossClusterRef] = ()
    consumers: Collection[CrossClusterRef] = ()
    """Named ones included."""

    multi_consumers: Collection[CrossClusterRef] = ()

    def find_host(self, ref: CrossClusterRef) -> str | None:
        """Address of the agent that leads an object; None if it is not mapped to any."""
        return self.hosts.get(ref.table)

    def is_here(self, ref: CrossClusterRef) -> bool:
        """Whether this agent leads an object."""
        return self.find_host(ref) == self.address

    @property
    def object_counts(self) -> Mapping[str, int]:
        """How many tables each agent leads, by its address."""
        counts: dict[str, int] = {}
        for table in {ref.table for refs in (self.queues, self.consumers, self.multi_consumers) for ref in refs}:
            host = self.find_host(table)
            if host is not None:
                counts[host] = counts.get(host, 0) + 1
        return counts


def place(address: str, rows: StateRows, multi_consumers: Collection[ConsumerRow], stage: str) -> Placement:
    """Say where the objects of a stage are.

    Args:
        address: of this agent.
        rows: of all stages, named consumers among the consumers.
        multi_consumers: rows of the tables that hold the named consumers.
        stage: the agent's own.
    """

    def of_stage(rows: Collection[ConsumerRow]) -> Collection[CrossClusterRef]:
        return dict.fromkeys(row.consumer for row in rows if row.queue_agent_stage == stage)

    return Placement(
        address,
        rows.hosts,
        dict.fromkeys(row.queue for row in rows.queues if row.queue_agent_stage == stage),
        of_stage(rows.consumers),
        of_stage(multi_consumers),
    )
