"""Attributes of queues and consumers, read into rows of the state tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from queue_agent.core.state.replication import CHAOS, REPLICATED_TYPES
from queue_agent.core.state.rows import ConsumerRow, MappingRow, QueueRow
from queue_agent.core.state.trim_config import AutoTrimConfig
from queue_agent.core.values.encoding import MAX_UNSIGNED
from queue_agent.core.values.error_info import OK_ERROR, ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.scalars import read_integer

QUEUE_ATTRIBUTES = (
    "attribute_revision",
    "type",
    "dynamic",
    "sorted",
    "auto_trim_config",
    "static_export_config",
    "queue_agent_stage",
    "id",
    "queue_agent_banned",
    "queue_profiling_tag",
    "replicas",
    "replication_card_id",
    "treat_as_queue_consumer",
)
TABLETS: Final = "tablets"
"""The attribute `find_tablet_ids` reads; dear for a table with thousands of them."""

CONSUMER_ATTRIBUTES = (
    "attribute_revision",
    "type",
    "treat_as_queue_consumer",
    "schema",
    "queue_agent_stage",
    "queue_agent_banned",
    "queue_consumer_profiling_tag",
    "replicas",
    "replication_card_id",
)

_REPLICA_ATTRIBUTES = ("cluster_name", "replica_path", "state", "mode")

T = TypeVar("T")


class MalformedAttributeError(ValueError):
    """An attribute has a value that it cannot have.

    Args:
        name: of the attribute.
        cause: what is wrong with the value.
    """

    def __init__(self, name: str, cause: str) -> None:
        super().__init__(f'Error parsing attribute "{name}": {cause}')
        self.name = name
        self.cause = cause


def with_default_stage(attributes: Mapping[str, Any], stage: str) -> Mapping[str, Any]:
    """Attributes of an object; a chaos replicated table of masters that know no stage for it gets this one."""
    if attributes.get("type") != CHAOS or attributes.get("queue_agent_stage") is not None:
        return attributes
    return {**attributes, "queue_agent_stage": stage}


def find_tablet_ids(attributes: Mapping[str, Any]) -> Mapping[int, str]:
    """Ids of a table's tablets by index; those that cannot be read are absent."""
    tablets = attributes.get(TABLETS)
    if not isinstance(tablets, list):
        return {}
    maps = [tablet for tablet in tablets if isinstance(tablet, Mapping)]
    return {
        int(tablet["index"]): str(tablet["tablet_id"])
        for tablet in maps
        if isinstance(tablet.get("index"), int) and isinstance(tablet.get("tablet_id"), str)
    }


def build_queue_row(
    ref: CrossClusterRef, attributes: Mapping[str, Any], previous: QueueRow | None, origin: Origin
) -> QueueRow:
    """The next row of a queue; every attribute may be absent.

    Attributes that make no sense leave a row with revision, type and stage as far as these can be read, and the error:
    such a row is looked at again when the attributes change.
    """
    row_revision = _next_row_revision(previous)
    try:
        auto_trim_config = _find_map(attributes, "auto_trim_config") or {"enable": False}
        _check_trim_config(auto_trim_config)
        return QueueRow(
            queue=ref,
            row_revision=row_revision,
            revision=_find(attributes, "attribute_revision", int),
            object_type=_find(attributes, "type", str),
            dynamic=_find(attributes, "dynamic", bool),
            sorted=_find(attributes, "sorted", bool),
            auto_trim_config=auto_trim_config,
            static_export_config=_find_map(attributes, "static_export_config"),
            queue_agent_stage=_find(attributes, "queue_agent_stage", str),
            object_id=_find(attributes, "id", str),
            queue_agent_banned=_find(attributes, "queue_agent_banned", bool),
            synchronization_error=OK_ERROR,
            queue_profiling_tag=_find(attributes, "queue_profiling_tag", str),
        )
    except ValueError as error:
        return QueueRow(
            queue=ref,
            row_revision=row_revision,
            revision=_find_lenient(attributes, "attribute_revision", int),
            object_type=_find_lenient(attributes, "type", str),
            queue_agent_stage=_find_lenient(attributes, "queue_agent_stage", str),
            synchronization_error=_parsing_error(error, origin).to_map(),
        )


def build_consumer_row(
    ref: CrossClusterRef, attributes: Mapping[str, Any], previous: ConsumerRow | None, origin: Origin
) -> ConsumerRow:
    """The next row of a consumer; revision and type have to be there, otherwise as for a queue."""
    row_revision = _next_row_revision(previous)
    try:
        return ConsumerRow(
            consumer=ref,
            row_revision=row_revision,
            revision=_get(attributes, "attribute_revision", int),
            object_type=_get(attributes, "type", str),
            treat_as_queue_consumer=_find(attributes, "treat_as_queue_consumer", bool) or False,
            schema=_find(attributes, "schema", list),
            queue_agent_stage=_find(attributes, "queue_agent_stage", str),
            queue_agent_banned=_find(attributes, "queue_agent_banned", bool),
            synchronization_error=OK_ERROR,
            queue_consumer_profiling_tag=_find(attributes, "queue_consumer_profiling_tag", str),
        )
    except ValueError as error:
        return ConsumerRow(
            consumer=ref,
            row_revision=row_revision,
            revision=_find_lenient(attributes, "attribute_revision", int),
            object_type=_find_lenient(attributes, "type", str),
            queue_agent_stage=_find_lenient(attributes, "queue_agent_stage", str),
            synchronization_error=_parsing_error(error, origin).to_map(),
        )


def find_revision(attributes: Mapping[str, Any]) -> int | None:
    """The attribute revision, if there is one that makes sense."""
    return _find_lenient(attributes, "attribute_revision", int)


def read_revision(attributes: Mapping[str, Any], origin: Origin) -> int | ErrorInfo:
    """The attribute revision, or why there is none."""
    try:
        return _get(attributes, "attribute_revision", int)
    except ValueError as error:
        return _parsing_error(error, origin)


def build_mapping_row(ref: CrossClusterRef, attributes: Mapping[str, Any], origin: Origin) -> MappingRow | None:
    """The mapping row of an object of a replicated type, None for others.

    Attributes that make no sense leave a row without meta, and the error.
    """
    object_type = _find_lenient(attributes, "type", str)
    if object_type not in REPLICATED_TYPES:
        return None
    row = MappingRow(ref, _find_lenient(attributes, "attribute_revision", int), object_type)
    try:
        meta = _chaos_meta(attributes) if object_type == CHAOS else {"replicas": _replicas(attributes)}
    except ValueError as error:
        return replace(row, synchronization_error=_parsing_error(error, origin).to_map())
    key = "chaos_replicated_table_meta" if object_type == CHAOS else "replicated_table_meta"
    return replace(row, meta={key: meta}, synchronization_error=OK_ERROR)


def _chaos_meta(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "replication_card_id": _get(attributes, "replication_card_id", str),
        "replicas": _replicas(attributes, "content_type"),
    }


def _replicas(attributes: Mapping[str, Any], *more: str) -> Mapping[str, Any]:
    """What is kept of each replica, by its id."""
    result: dict[str, Any] = {}
    for replica_id, replica in (_find_map(attributes, "replicas") or {}).items():
        if not isinstance(replica, Mapping):
            raise MalformedAttributeError("replicas", f'Replica "{replica_id}" is of an unexpected type: {replica!r}')
        result[replica_id] = {name: _get(replica, name, str) for name in (*_REPLICA_ATTRIBUTES, *more)}
    return result


def unfetched_queue_row(
    ref: CrossClusterRef, error: ErrorInfo, previous: QueueRow | None, revision: int | None = None
) -> QueueRow:
    """The next row of a queue of whose attributes nothing is known; without a revision it is tried again at once."""
    row_revision = _next_row_revision(previous)
    return QueueRow(ref, row_revision=row_revision, revision=revision, synchronization_error=error.to_map())


def unfetched_consumer_row(
    ref: CrossClusterRef, error: ErrorInfo, previous: ConsumerRow | None, revision: int | None = None
) -> ConsumerRow:
    """The next row of a consumer of whose attributes nothing is known; without a revision it is tried again at once."""
    row_revision = _next_row_revision(previous)
    return ConsumerRow(ref, row_revision=row_revision, revision=revision, synchronization_error=error.to_map())


def _parsing_error(error: ValueError, origin: Origin) -> ErrorInfo:
    """The error of attributes that cannot be read, in the words of the C++ agent: the cause is an inner error."""
    if isinstance(error, MalformedAttributeError):
        return origin.error(f'Error parsing attribute "{error.name}"', inner_errors=[origin.error(error.cause)])
    return origin.error(str(error))


def _check_trim_config(value: Mapping[str, Any]) -> None:
    try:
        AutoTrimConfig.parse(value)
    except ValueError as error:
        raise MalformedAttributeError("auto_trim_config", str(error)) from error


def _next_row_revision(previous: QueueRow | ConsumerRow | None) -> int:
    """A writer of the last one that fits the column starts at the first again."""
    last = 0 if previous is None else previous.row_revision or 0
    return last + 1 if last < MAX_UNSIGNED else 1


def _get(attributes: Mapping[str, Any], name: str, expected: type[T]) -> T:
    value = _find(attributes, name, expected)
    if value is None:
        raise ValueError(f'Attribute "{name}" is not found')
    return value


def _find(attributes: Mapping[str, Any], name: str, expected: type[T]) -> T | None:
    value = attributes.get(name)
    if value is None:
        return None
    # To Python a boolean is an int.
    if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
        raise MalformedAttributeError(name, f"Unexpected type of value: {value!r}")
    if expected is int:
        try:
            read_integer(value, name, most=MAX_UNSIGNED)  # the columns of all numbers are unsigned
        except ValueError as error:
            raise MalformedAttributeError(name, str(error)) from error
    # A string with attributes cannot be distinguished from others by its hash.
    return str(value) if expected is str else value  # type: ignore[return-value] # it is what was expected


def _find_map(attributes: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    value = attributes.get(name)
    if value is not None and not isinstance(value, Mapping):
        raise MalformedAttributeError(name, f"Unexpected type of value: {value!r}")
    return value


def _find_lenient(attributes: Mapping[str, Any], name: str, expected: type[T]) -> T | None:
    try:
        return _find(attributes, name, expected)
    except ValueError:
        return None
