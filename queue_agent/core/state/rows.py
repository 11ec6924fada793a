"""Rows of the agent's state tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from queue_agent.core.values.refs import CrossClusterRef

ErrorMap = Mapping[str, Any]
"""YTsaurus's `{code; message; attributes; inner_errors}`."""


@dataclass(frozen=True, slots=True)
class QueueRow:
    """Row of the table `queues`; None is a null cell."""

    queue: CrossClusterRef
    row_revision: int | None = None
    revision: int | None = None
    object_type: str | None = None
    dynamic: bool | None = None
    sorted: bool | None = None
    auto_trim_config: Mapping[str, Any] | None = None
    static_export_config: Mapping[str, Any] | None = None
    queue_agent_stage: str | None = None
    object_id: str | None = None
    queue_agent_banned: bool | None = None
    synchronization_error: ErrorMap | None = None
    """A healthy row holds an error with code 0."""

    queue_profiling_tag: str | None = None


@dataclass(frozen=True, slots=True)
class ConsumerRow:
    """Row of the table `consumers`; None is a null cell."""

    consumer: CrossClusterRef
    row_revision: int | None = None
    revision: int | None = None
    object_type: str | None = None
    treat_as_queue_consumer: bool | None = None
    schema: Any = None
    """The table's schema in YSON, with the attributes `strict` and `unique_keys` (unwrapped from its cell's list)."""

    queue_agent_stage: str | None = None
    queue_agent_banned: bool | None = None
    synchronization_error: ErrorMap | None = None
    queue_consumer_profiling_tag: str | None = None


@dataclass(frozen=True, slots=True, order=True)
class Registration:
    """Row of the table `consumer_registrations`."""

    queue: CrossClusterRef
    consumer: CrossClusterRef
    vital: bool
    partitions: tuple[int, ...] | None = None
    """None: all partitions."""


@dataclass(frozen=True, slots=True)
class MappingRow:
    """Row of the table `replicated_table_mapping`; None is a null cell."""

    table: CrossClusterRef
    revision: int | None = None
    object_type: str | None = None
    meta: Mapping[str, Any] | None = None
    """`{replicated_table_meta={replicas={...}}}` or `{chaos_replicated_table_meta={replication_card_id; replicas}}`."""

    synchronization_error: ErrorMap | None = None


@dataclass(frozen=True, slots=True, order=True)
class ConsumerNameRow:
    """Row of the table `multi_consumer_names`: one name in use in a multi-consumer table."""

    consumer: CrossClusterRef
    """With its name."""

    queue_agent_stage: str | None = None


class HostVersion(NamedTuple):
    """Cell of the table `queue_agent_object_mapping`."""

    host: str
    version: int
    """Grows whenever the cell is written."""


ObjectHosts = Mapping[CrossClusterRef, str]
"""Address of the agent that leads a table."""


@dataclass(frozen=True, slots=True)
class StateRows:
    """All state an agent pass works from, read in one go."""

    queues: Sequence[QueueRow]
    consumers: Sequence[ConsumerRow]
    registrations: Sequence[Registration]
    mappings: Sequence[MappingRow] | None = ()
    """None: the table could not be read. Need not be read while there is no object of a replicated type."""

    consumer_names: Sequence[ConsumerNameRow] = ()
    """Need not be read while there is no multi-consumer table."""

    hosts: ObjectHosts = field(default_factory=dict)
    """The table `queue_agent_object_mapping`."""
