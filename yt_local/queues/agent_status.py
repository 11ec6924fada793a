"""Attributes a queue agent answers for, asked the way a master asks: over the bus, at the stage's addresses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from yt_local.cypress.agent_attributes import AgentAttribute, Unanswered
from yt_local.cypress.attributes import Attributes
from yt_local.cypress.cypress import Cypress
from yt_local.cypress.resolver import Resolver
from yt_local.queues.orchid_gateway import OrchidGateway
from yt_local.security.permissions import UNLIMITED
from yt_local.store.model import Node
from yt_wire import yson
from yt_wire.error import ErrorCode, YtError
from yt_wire.ypath import escape_literal

_CLUSTERS = "//sys/clusters"


class AgentStatus:
    """The master's way to `@queue_status` and its sisters."""

    def __init__(
        self,
        cluster_name: str,
        cypress: Cypress,
        resolver: Resolver,
        attributes: Attributes,
        gateway: OrchidGateway,
    ) -> None:
        self._cluster_name = cluster_name
        self._cypress = cypress
        self._resolver = resolver
        self._attributes = attributes
        self._gateway = gateway

    async def get(self, node: Node, attribute: AgentAttribute) -> Any:
        """Value of an attribute; nothing is cached.

        Raises:
            YtError: the stage is not known, no agent answers, or the agent answers with an error.
        """
        stage = self._attributes.find(node, "queue_agent_stage")[1]
        key = escape_literal(f"{self._cluster_name}:{self._resolver.path_of(node)}")
        path = f"//queue_agent/{attribute.kind}s/{key}/{attribute.suffix}"
        return await self._gateway.get(self._addresses(stage), path)

    async def completed(self, value: Any) -> Any:
        """An answer with what an agent says in place of everything `Unanswered`.

        Raises:
            YtError: one of the values cannot be had; masters fail the whole request, too.
        """
        if isinstance(value, Unanswered):
            return await self.get(value.node, value.attribute)
        attributes = yson.attributes_of(value)
        if isinstance(value, dict):
            value = {key: await self.completed(item) for key, item in value.items()}
        elif isinstance(value, list):
            value = [await self.completed(item) for item in value]
        if not attributes:
            return value
        return yson.with_attributes(value, {name: await self.completed(item) for name, item in attributes.items()})

    def _addresses(self, stage: str) -> Sequence[str]:
        """From the own cluster's connection; if it has no such stage, from any other's."""
        for cluster in self._clusters():
            path = f"{_CLUSTERS}/{escape_literal(cluster)}/queue_agent/stages/{escape_literal(stage)}/addresses"
            if self._cypress.exists(UNLIMITED, path):
                addresses: Sequence[str] = self._cypress.get(UNLIMITED, path)
                return addresses
        raise YtError(f'Queue agent stage "{stage}" is not found', ErrorCode.GENERIC)

    def _clusters(self) -> Iterator[str]:
        yield self._cluster_name
        if self._cypress.exists(UNLIMITED, _CLUSTERS):
            yield from (name for name in self._cypress.list(UNLIMITED, _CLUSTERS) if name != self._cluster_name)
