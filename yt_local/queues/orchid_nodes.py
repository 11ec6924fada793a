"""Nodes of type `orchid`: what is below them is asked of a server elsewhere, over RPC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from yt_local.cypress.documents import AttributeKey
from yt_local.cypress.nodes import ORCHID, REMOTE_ADDRESSES
from yt_local.cypress.resolver import Target
from yt_local.queues.orchid_gateway import OrchidGateway
from yt_local.store.model import Node
from yt_wire.error import YtError
from yt_wire.ypath import escape_literal

_NETWORK: Final = "default"


class OrchidNodes:
    """Reads through the orchid nodes of one cluster; every method raises YtError, the server's own among them.

    Args:
        gateway: the way to servers.
    """

    def __init__(self, gateway: OrchidGateway) -> None:
        self._gateway = gateway

    async def get(self, target: Target) -> Any:
        """The value at a path that leads below an orchid node, or to it."""
        return await self._gateway.get(_addresses(target.node), _remote_path(target.inside))

    async def list(self, target: Target) -> Any:
        """Keys of the map there."""
        return await self._gateway.list(_addresses(target.node), _remote_path(target.inside))

    async def exists(self, target: Target) -> bool:
        """Whether there is anything."""
        return await self._gateway.exists(_addresses(target.node), _remote_path(target.inside))


def leads_elsewhere(target: Target) -> bool:
    """Whether a path goes on at a server."""
    return target.node.type == ORCHID and target.attribute is None and not target.wildcard


def _addresses(node: Node) -> Sequence[str]:
    addresses = node.attributes.get(REMOTE_ADDRESSES)
    if not isinstance(addresses, Mapping) or _NETWORK not in addresses:
        raise YtError(f'Orchid node has no address in network "{_NETWORK}"')
    return [str(addresses[_NETWORK])]


def _remote_path(keys: Sequence[str]) -> str:
    parts = ["/@" + escape_literal(key) if isinstance(key, AttributeKey) else "/" + escape_literal(key) for key in keys]
    return "/" + "".join(parts)
