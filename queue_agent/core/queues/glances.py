"""What a cheap look at a table spares: asking again for what is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from queue_agent.core.values.observed import Glance, TableDescription, TableFacts
from queue_agent.core.values.refs import CrossClusterRef

DESCRIPTION_PASSES: Final = 60
"""After so many passes a table is described anew: a tablet that went to another cell changes nothing else."""

OFFSETS_PASSES: Final = 100
"""After so many passes offsets are read anew, whatever the cluster says about writes."""

_LEAST_TIMESTAMP: Final = 1
"""Of a tablet that was never written to."""


@dataclass(frozen=True, slots=True)
class KnownTable:
    """A table's description, and the facts that were true before it was asked for."""

    table: CrossClusterRef
    facts: TableFacts
    description: TableDescription

    @property
    def tablet_count(self) -> int:
        return len(self.description.tablets)

    def is_confirmed_by(self, glance: Glance) -> bool:
        """Whether the description is still true, and the look at the tablets complete."""
        return glance.facts == self.facts and glance.tablet_infos is not None


def remember_table(table: CrossClusterRef, facts: TableFacts, description: TableDescription) -> KnownTable | None:
    """What can be relied on in the next pass; None while a tablet is on its way, or frozen."""
    if all(tablet.state == "mounted" for tablet in description.tablets):
        return KnownTable(table, facts, description)
    return None


def is_refresh_due(key: object, pass_index: int, period: int) -> bool:
    """Whether everything is to be asked in this pass: once in so many, but not for all objects in the same pass."""
    return (pass_index + hash(key)) % period == 0


def tablet_count(glance: Glance) -> int:
    """How many tablets a table had."""
    return sum(glance.facts.tablet_count_by_state.values())


def is_untouched(old: Glance | None, new: Glance) -> bool:
    """Whether nothing was written to a sorted table after the older look.

    Commits have growing timestamps, but may come to a tablet in another order: one that is late keeps its rows locked,
    and whoever reads waits for it. So what was read after the older look holds whatever has a timestamp up to then.
    """
    return (
        old is not None
        and old == new
        and bool(new.tablet_infos)
        and all(info.last_write_timestamp > _LEAST_TIMESTAMP for info in (new.tablet_infos or {}).values())
    )
