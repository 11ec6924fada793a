"""Which node leads each tablet cell."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from queue_agent.adapters.cluster.light_commands import LightCommand, LightCommands
from queue_agent.errors import AccessDenied, ObjectNotFound

_KEPT_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class _CellHost:
    host: str | None
    known_until: float


class CellHosts:
    """Addresses of leading peers, remembered for a minute.

    Args:
        light: the way to the cluster.
    """

    def __init__(self, light: LightCommands) -> None:
        self._light = light
        self._known: dict[str, _CellHost] = {}

    async def get(self, cell_ids: Collection[str]) -> Mapping[str, str | None]:
        """By cell id; None where they cannot be known."""
        now = asyncio.get_running_loop().time()
        self._known = {cell: known for cell, known in self._known.items() if known.known_until > now}
        missing = [cell_id for cell_id in cell_ids if cell_id not in self._known]
        questions = [LightCommand.get(f"//sys/tablet_cells/{cell_id}/@peers") for cell_id in missing]
        for cell_id, outcome in zip(missing, await self._light.run_all(questions), strict=True):
            match outcome:
                case ObjectNotFound() | AccessDenied():  # the agent's user need not see cells
                    host = None
                case Exception():
                    raise outcome
                case _:
                    host = _leader_address(outcome["value"])
            self._known[cell_id] = _CellHost(host, now + _KEPT_SECONDS)
        return {cell_id: self._known[cell_id].host for cell_id in cell_ids}


def _leader_address(peers: Sequence[Mapping[str, Any]]) -> str | None:
    """Of the leading peer, or of the first that has an address: while nobody leads, or nobody says so."""
    with_address = [peer for peer in peers if "address" in peer]
    leading = [peer for peer in with_address if peer.get("state") == "leading"]
    return next((str(peer["address"]) for peer in leading or with_address), None)
