"""Replicated tables: what is known of their replicas, and which table is asked in place of a replicated one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from queue_agent.core.state.rows import ConsumerRow, MappingRow, QueueRow
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef

REPLICATED: Final = "replicated_table"
CHAOS: Final = "chaos_replicated_table"
REPLICATED_TYPES: Final = frozenset({REPLICATED, CHAOS})

_META_KEYS: Final = {REPLICATED: "replicated_table_meta", CHAOS: "chaos_replicated_table_meta"}


@dataclass(frozen=True, slots=True)
class Replica:
    """A copy of a replicated table."""

    table: CrossClusterRef
    mode: str
    """`sync` or `async`."""

    content_type: str | None
    """`data` or `queue` for replicas of chaos replicated tables, None for others."""


@dataclass(frozen=True, slots=True)
class QueueAccess:
    """The tables that are asked about a queue; the queue itself, unless it is replicated."""

    tablets: CrossClusterRef
    """For schema, tablets and their row counts."""

    rows: CrossClusterRef
    """For values in rows."""


def replicas_of(row: MappingRow) -> Sequence[Replica]:
    """All replicas, in order of their ids; those that make no sense are left out."""
    replicas = _meta(row).get("replicas")
    if not isinstance(replicas, Mapping):
        return []
    found = (_replica(replicas[replica_id]) for replica_id in sorted(replicas))
    return [replica for replica in found if replica is not None]


def synchronous_of(row: MappingRow) -> Sequence[CrossClusterRef]:
    """Tables of the synchronous replicas, in order of their ids."""
    return [replica.table for replica in replicas_of(row) if replica.mode == "sync"]


def find_mapping_error(row: MappingRow, object_type: str, origin: Origin) -> ErrorInfo | None:
    """Why a mapping row is of no use for an object of a replicated type; None if it is."""
    prefix = "Invalid replicated table mapping row for"
    cause = [] if row.synchronization_error is None else [ErrorInfo.from_map(row.synchronization_error)]
    inner = [error for error in cause if error.code != 0]
    if row.object_type is None:
        return origin.error(f'{prefix} object "{row.table}": object type cannot be null', inner_errors=inner)
    if row.object_type != object_type:
        return origin.error(f'{prefix} object "{row.table}": incompatible type "{row.object_type}"', inner_errors=inner)
    if row.meta is None:
        return origin.error(
            f'{prefix} object "{row.table}" of type "{row.object_type}": meta cannot be null', inner_errors=inner
        )
    meta = _meta(row)
    if not meta:
        kind = "chaos replicated" if object_type == CHAOS else "replicated"
        return origin.error(
            f'{prefix} replicated table "{row.table}": {kind} table meta cannot be null', inner_errors=inner
        )
    replicas = meta.get("replicas")
    if not isinstance(replicas, Mapping) or len(replicas_of(row)) != len(replicas):
        return origin.error(f'{prefix} replicated table "{row.table}": replicas make no sense', inner_errors=inner)
    return None


def find_queue_access(row: QueueRow, mapping: MappingRow | None, origin: Origin) -> QueueAccess | ErrorInfo:
    """The tables to ask about a queue whose row and mapping row are free of errors.

    Tablets of a replicated queue are those of its first synchronous replica. The C++ agent reads rows of a chaos
    replicated queue from any replica, by a client that HTTP does not have; here they come from that same replica.
    """
    if row.object_type not in REPLICATED_TYPES:
        return QueueAccess(row.queue, row.queue)
    replica = _first_sync(row.queue, [] if mapping is None else replicas_of(mapping), origin)
    if isinstance(replica, ErrorInfo):
        return replica
    return QueueAccess(replica, row.queue if row.object_type == REPLICATED else replica)


def find_consumer_access(row: ConsumerRow, mapping: MappingRow | None, origin: Origin) -> CrossClusterRef | ErrorInfo:
    """The table that holds the offsets of a consumer whose row and mapping row are free of errors."""
    if row.object_type != CHAOS:
        return row.consumer.table
    replicas = [] if mapping is None else replicas_of(mapping)
    return _first_sync(row.consumer.table, [one for one in replicas if one.content_type == "data"], origin)


def _first_sync(table: CrossClusterRef, replicas: Sequence[Replica], origin: Origin) -> CrossClusterRef | ErrorInfo:
    synchronous = (replica.table for replica in replicas if replica.mode == "sync")
    found = next(synchronous, None)
    if found is None:
        return origin.error(f'Cannot get sync client for "{table}" since there are no known sync replicas')
    return found


def _meta(row: MappingRow) -> Mapping[str, Any]:
    """The part of the meta that belongs to the object's type; empty if there is none."""
    meta = (row.meta or {}).get(_META_KEYS.get(row.object_type or "", ""))
    return meta if isinstance(meta, Mapping) else {}


def _replica(value: Any) -> Replica | None:
    if not isinstance(value, Mapping):
        return None
    cluster, path, mode = (value.get(key) for key in ("cluster_name", "replica_path", "mode"))
    if not (isinstance(cluster, str) and isinstance(path, str) and isinstance(mode, str)):
        return None
    content_type = value.get("content_type")
    return Replica(
        CrossClusterRef(str(cluster), str(path)), str(mode), str(content_type) if content_type is not None else None
    )
