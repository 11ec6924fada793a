"""Attributes that a queue agent answers for: which there are, and which nodes have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from yt_local.cypress.settable_attributes import is_consumer, is_producer, is_queue
from yt_local.store.model import Node


@dataclass(frozen=True, slots=True)
class AgentAttribute:
    """An attribute that a queue agent answers for."""

    kind: str
    """`queue`, `consumer` or `producer`."""

    suffix: str
    """`status` or `partitions`."""


AGENT_ATTRIBUTES: Final[Mapping[str, AgentAttribute]] = {
    "queue_status": AgentAttribute("queue", "status"),
    "queue_partitions": AgentAttribute("queue", "partitions"),
    "queue_consumer_status": AgentAttribute("consumer", "status"),
    "queue_consumer_partitions": AgentAttribute("consumer", "partitions"),
    "queue_producer_status": AgentAttribute("producer", "status"),
    "queue_producer_partitions": AgentAttribute("producer", "partitions"),
}

_KINDS: Final[Mapping[str, Callable[[Node], bool]]] = {
    "queue": is_queue,
    "consumer": is_consumer,
    "producer": is_producer,
}


@dataclass(frozen=True, slots=True)
class Unanswered:
    """Stands for the value of an attribute that an agent has yet to be asked for."""

    node: Node
    attribute: AgentAttribute


def find_agent_attribute(node: Node, name: str) -> AgentAttribute | None:
    """What to ask a queue agent for, if the attribute is one of those and the node has it."""
    attribute = AGENT_ATTRIBUTES.get(name)
    return attribute if attribute is not None and _KINDS[attribute.kind](node) else None
