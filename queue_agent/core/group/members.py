"""The agents of a stage, as one look at the cluster shows them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GroupView:
    """Who is there; agents are named by their addresses, `host:port`."""

    members: Collection[str]
    """Those with a membership."""

    instances: Mapping[str, bool]
    """All that have ever been registered, those of other stages included; whether each is banned."""

    synchronizer: str | None
    """The membership of whoever keeps the state tables, of any stage; None: nobody does."""

    def has_only(self, address: str) -> bool:
        """Whether no agent but this one has ever been registered, or is a member."""
        return set(self.instances) == {address} and set(self.members) <= {address}

    @property
    def banned(self) -> Collection[str]:
        return {address for address, banned in self.instances.items() if banned}

    @property
    def eligible(self) -> list[str]:
        """Members that may lead objects, in order; the first decides which leads what."""
        return sorted(set(self.members) - set(self.banned))
