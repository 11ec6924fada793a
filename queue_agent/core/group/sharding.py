"""Which agent leads which object: rendezvous hashing as the C++ agent does it, and what changes in the mapping."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from queue_agent.core.state.rows import ObjectHosts, StateRows
from queue_agent.core.values.refs import CrossClusterRef

Fingerprint = Callable[[bytes], int]
"""FarmHash's Fingerprint64."""

_MASK: Final = (1 << 64) - 1
_MULTIPLIER: Final = 0xC6A4A7935BD1E995
_SHIFT: Final = 47


def mix(seed: int, value: int) -> int:
    """Take one more 64-bit number into a 64-bit hash."""
    value = value * _MULTIPLIER & _MASK
    value ^= value >> _SHIFT
    value = value * _MULTIPLIER & _MASK
    return (seed ^ value) * _MULTIPLIER & _MASK


class Rendezvous:
    """Chooses among agents; remembers what it has hashed.

    Args:
        fingerprint: of paths and addresses.
    """

    def __init__(self, fingerprint: Fingerprint) -> None:
        self._fingerprint = fingerprint
        self._hashes: dict[CrossClusterRef, int] = {}

    def choose(self, table: CrossClusterRef, members: Mapping[str, int]) -> str:
        """The agent that leads an object.

        Args:
            table: the object.
            members: by address, as `hash_members` gives them; at least one.
        """
        seed = self._hashes.get(table)
        if seed is None:
            seed = mix(mix(0, self._hash(table.cluster)), self._hash(table.path))
            self._hashes[table] = seed
        return min((mix(seed, number), address) for address, number in members.items())[1]

    def hash_members(self, members: Collection[str]) -> Mapping[str, int]:
        """What `choose` wants to know of agents."""
        return {address: self._hash(address) for address in members}

    def forget_all_but(self, tables: Collection[CrossClusterRef]) -> None:
        """Remember nothing of other objects any more."""
        self._hashes = {table: number for table, number in self._hashes.items() if table in tables}

    def _hash(self, text: str) -> int:
        return self._fingerprint(text.encode("utf-8", "surrogateescape"))


@dataclass(frozen=True, slots=True)
class StageTables:
    """The objects of the state tables, by whose they are."""

    own: Collection[CrossClusterRef]
    """Of the stage."""

    others: Collection[CrossClusterRef]
    """Of other stages, or of none."""


def split_by_stage(rows: StateRows, stage: str) -> StageTables:
    """Objects that are both a queue and a consumer count once; one that is of a stage in either way is of the stage."""
    stages = [(row.queue, row.queue_agent_stage) for row in rows.queues]
    stages += [(row.consumer.table, row.queue_agent_stage) for row in rows.consumers]
    own = {table for table, of in stages if of == stage}
    return StageTables(own, {table for table, _ in stages} - own)


@dataclass(frozen=True, slots=True)
class HostChanges:
    """What makes the mapping table what it should be."""

    write: ObjectHosts = field(default_factory=dict)
    delete: Collection[CrossClusterRef] = ()

    @property
    def any(self) -> bool:
        return bool(self.write or self.delete)


def plan_hosts(
    tables: StageTables,
    hosts: ObjectHosts,
    members: Collection[str],
    rendezvous: Rendezvous,
    orphans: Collection[CrossClusterRef],
) -> HostChanges:
    """Say which rows of the mapping are to change.

    Rows of objects of other stages are somebody else's. A row whose object is in no state table is deleted if it was
    such an orphan before: rows and tables are not read at one moment.

    Args:
        tables: the objects.
        hosts: the mapping as it is.
        members: addresses of the agents of the stage, at least one.
        rendezvous: chooses.
        orphans: what `find_orphans` said the last time.
    """
    hashed = rendezvous.hash_members(members)
    wanted = {table: rendezvous.choose(table, hashed) for table in tables.own}
    return HostChanges(
        write={table: host for table, host in wanted.items() if hosts.get(table) != host},
        delete=[table for table in find_orphans(tables, hosts) if table in orphans],
    )


def find_orphans(tables: StageTables, hosts: ObjectHosts) -> Collection[CrossClusterRef]:
    """Objects in the mapping that are in no state table."""
    return {table for table in hosts if table not in tables.own and table not in tables.others}
