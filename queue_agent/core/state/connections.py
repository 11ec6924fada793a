"""What clusters say of themselves: their name, and where their proxies keep the registrations of consumers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from queue_agent.core.values.refs import CrossClusterRef

TABLE_ATTRIBUTES: Final = ("id", "type", "upstream_replica_id", "replicas")
"""Of a table of registrations."""

_NULL_ID: Final = "0-0-0-0"


@dataclass(frozen=True, slots=True)
class Connection:
    """One cluster's word."""

    cluster_name: str | None = None
    """None: it does not say, as with the tables below."""

    read_tables: Sequence[CrossClusterRef] = ()
    """Where its proxies read registrations; several are replicas of one table."""

    write_tables: Sequence[CrossClusterRef] = ()
    """Where its proxies write them."""


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A table of registrations, as its cluster describes it."""

    object_id: str | None
    replica_id: str | None
    """Of which replicated table it is a replica, by the replica's id; None: it is none."""

    replicas: Mapping[str, Any]
    """By id; empty for what is no replicated table."""

    @classmethod
    def parse(cls, attributes: Mapping[str, Any]) -> TableFacts:
        upstream = attributes.get("upstream_replica_id")
        replicas = attributes.get("replicas")
        return cls(
            object_id=None if attributes.get("id") is None else str(attributes["id"]),
            replica_id=None if upstream is None or str(upstream) == _NULL_ID else str(upstream),
            replicas=replicas if isinstance(replicas, Mapping) else {},
        )


def find_name_mismatch(configured: str, connection: Connection) -> str | None:
    """Whether references to the cluster mean another one to its proxies."""
    if connection.cluster_name is None or connection.cluster_name == configured:
        return None
    return f'cluster "{configured}" of the configuration calls itself "{connection.cluster_name}"'


def find_registrations_mismatch(
    cluster: str,
    configured: CrossClusterRef,
    connection: Connection,
    facts: Mapping[CrossClusterRef, TableFacts],
) -> str | None:
    """Whether the registrations this agent reads may not be all that the proxies of a cluster know.

    Args:
        cluster: the proxies'.
        configured: the table this agent reads.
        connection: what the cluster says.
        facts: about all these tables, as far as they could be had.
    """
    write_tables = connection.write_tables
    tables = write_tables or connection.read_tables
    if not tables or _is_among(configured, write_tables, facts):
        return None
    replica_id = facts[configured].replica_id if configured in facts else None
    if replica_id is None:
        if not write_tables and _is_among(configured, tables, facts):
            return None
        return (
            f'registrations are read from {configured}, but the proxies of cluster "{cluster}" keep them in'
            f" {', '.join(map(str, tables))}"
        )
    replica = next(
        (
            facts[table].replicas[replica_id]
            for table in write_tables
            if table in facts and replica_id in facts[table].replicas
        ),
        None,
    )
    if not isinstance(replica, Mapping):
        return (
            f"registrations are read from {configured}, which is a replica, and it is not known to be a synchronous one"
            f' of the table that the proxies of cluster "{cluster}" write'
        )
    mode, state = replica.get("mode"), replica.get("state")
    if (mode, state) == ("sync", "enabled"):
        return None
    return (
        f"registrations are read from {configured}, a replica that is {state} and {mode}: new registrations by the"
        f' proxies of cluster "{cluster}" may come late'
    )


def _is_among(
    table: CrossClusterRef, others: Sequence[CrossClusterRef], facts: Mapping[CrossClusterRef, TableFacts]
) -> bool:
    """By reference, or by id: a path may lead over links."""
    own_id = facts[table].object_id if table in facts else None
    return any(
        other == table
        or (
            own_id is not None
            and other.cluster == table.cluster
            and other in facts
            and facts[other].object_id == own_id
        )
        for other in others
    )
