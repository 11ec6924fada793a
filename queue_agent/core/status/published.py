"""Snapshots as they are published: exactly the keys of `@queue_status` and its like."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, assert_never

from queue_agent.core.consumers.lag import elapsed, processing_lag
from queue_agent.core.consumers.multi_consumers import MultiConsumerSnapshot
from queue_agent.core.consumers.registrations import NO_STATUSES, RegistrationStatuses, rebuild_alerts
from queue_agent.core.queues.snapshots import (
    ConsumerPartition,
    ConsumerQueueView,
    ConsumerSnapshot,
    FailedConsumerPartition,
    FailedQueuePartition,
    PassFacts,
    QueueMissing,
    QueuePartition,
    QueueSnapshot,
    Role,
    SubSnapshot,
)
from queue_agent.core.state.family import FAMILY
from queue_agent.core.state.rows import ConsumerRow, MappingRow, QueueRow, Registration
from queue_agent.core.values.encoding import Entity, Unsigned, encode_duration, encode_instant
from queue_agent.core.values.error_info import ErrorInfo, error_map
from queue_agent.core.values.trim_constraints import PartitionTrim
from queue_agent.core.verdicts.quota import Quota
from queue_agent.core.verdicts.values import QueueVerdict

Published = dict[str, Any]


def queue_status(
    snapshot: QueueSnapshot,
    host: str,
    now: datetime,
    registrations: RegistrationStatuses = NO_STATUSES,
    quota: Quota | None = None,
) -> Published:
    """Value of `@queue_status`; rates are as of `now`."""
    if snapshot.role is Role.ERROR:
        return {"error": _error(snapshot)}
    rebuilds = rebuild_alerts(registrations)
    status: Published = {
        "queue_agent_host": host,
        "alerts": {category: alert.to_map() for category, alert in (*snapshot.all_alerts.items(), *rebuilds.items())},
        "exports": snapshot.exports.to_map(),
    }
    view = snapshot.view
    if view is None:
        return {**status, "error": _error(snapshot)}
    return {
        **status,
        "family": FAMILY,
        "partition_count": len(view.partitions),
        "registrations": _registrations(snapshot.registrations, registrations),
        "dead_vital_consumers": _dead_vital_consumers(registrations),
        "quarantines": [one.to_map() for one in snapshot.quarantines],
        "time_to_quota": None if quota is None else quota.to_map(),
        "has_timestamp_column": view.has_timestamp_column,
        "has_cumulative_data_weight_column": view.has_cumulative_data_weight_column,
        "write_row_count_rate": view.write_row_count.served(now),
        "write_data_weight_rate": view.write_data_weight.served(now),
    }


def queue_partitions(snapshot: QueueSnapshot, now: datetime) -> list[Published]:
    """Value of `@queue_partitions`, by partition index; empty for a queue in error."""
    view = snapshot.view
    if view is None:
        return []
    trims = snapshot.trims or {}
    return [
        _queue_partition(partition, trims.get(index), view.seen_at, now)
        for index, partition in enumerate(view.partitions)
    ]


def consumer_status(snapshot: ConsumerSnapshot, host: str, now: datetime) -> Published:
    """Value of `@queue_consumer_status`; rates are as of `now`."""
    view = snapshot.view
    if view is None:
        return {"queue_agent_host": host, "error": _error(snapshot)}
    return {
        "queue_agent_host": host,
        "registrations": _registrations(snapshot.registrations),
        "queues": {
            str(queue): _sub_status(position, now) | _verdict_map(snapshot.verdicts.get(queue))
            for queue, position in view.queues.items()
        },
    }


def consumer_partitions(snapshot: ConsumerSnapshot, now: datetime) -> dict[str, list[Published]] | list[Published]:
    """Value of `@queue_consumer_partitions`: a list for each queue; an empty list for a consumer in error."""
    view = snapshot.view
    if view is None:
        return []
    return {
        str(queue): _consumer_partitions(position, snapshot.verdicts.get(queue), now)
        if isinstance(position, ConsumerQueueView)
        else []
        for queue, position in view.queues.items()
    }


def queue_node(
    snapshot: QueueSnapshot,
    host: str,
    now: datetime,
    mapping: MappingRow | None = None,
    registrations: RegistrationStatuses = NO_STATUSES,
    quota: Quota | None = None,
) -> Published:
    """The whole node of a queue in the agent's tree."""
    node = object_node(snapshot, queue_row(snapshot.row), mapping)
    node |= {
        "status": queue_status(snapshot, host, now, registrations, quota),
        "partitions": queue_partitions(snapshot, now),
    }
    if snapshot.role is Role.ERROR:
        return node
    return {**node, "exporters": _exporters(snapshot)}


def consumer_node(snapshot: ConsumerSnapshot, host: str, now: datetime, mapping: MappingRow | None = None) -> Published:
    """The whole node of a consumer in the agent's tree."""
    node = object_node(snapshot, consumer_row(snapshot.row), mapping)
    return node | {
        "status": consumer_status(snapshot, host, now),
        "partitions": consumer_partitions(snapshot, now),
    }


def queue_row(row: QueueRow) -> Published:
    """A row of the table `queues`."""
    return {
        "queue": str(row.queue),
        "row_revision": _unsigned(row.row_revision),
        "revision": _unsigned(row.revision),
        "object_type": row.object_type,
        "dynamic": row.dynamic,
        "sorted": row.sorted,
        "auto_trim_config": {"enable": False} if row.auto_trim_config is None else row.auto_trim_config,
        "static_export_config": row.static_export_config,
        "queue_agent_stage": row.queue_agent_stage,
        "object_id": row.object_id,
        "queue_agent_banned": row.queue_agent_banned,
        "synchronization_error": row.synchronization_error,
        "queue_profiling_tag": row.queue_profiling_tag,
    }


def consumer_row(row: ConsumerRow) -> Published:
    """A row of the table `consumers`."""
    return {
        "consumer": str(row.consumer),
        "row_revision": _unsigned(row.row_revision),
        "revision": _unsigned(row.revision),
        "object_type": row.object_type,
        "treat_as_queue_consumer": row.treat_as_queue_consumer,
        "schema": row.schema,
        "queue_agent_stage": row.queue_agent_stage,
        "queue_agent_banned": row.queue_agent_banned,
        "synchronization_error": row.synchronization_error,
        "queue_consumer_profiling_tag": row.queue_consumer_profiling_tag,
    }


def mapping_row(row: MappingRow) -> Published:
    """A row of the table `replicated_table_mapping`."""
    return {
        "object": str(row.table),
        "revision": _unsigned(row.revision),
        "object_type": row.object_type,
        "meta": row.meta,
        "synchronization_error": row.synchronization_error,
    }


def pass_node(facts: PassFacts) -> Published:
    """How a pass of the agent itself went."""
    return {
        "pass_index": facts.pass_index,
        "pass_instant": None if facts.pass_instant is None else encode_instant(facts.pass_instant),
        "pass_error": error_map(facts.error),
    }


def object_node(
    snapshot: QueueSnapshot | ConsumerSnapshot | MultiConsumerSnapshot, row: Published, mapping: MappingRow | None
) -> Published:
    """What the nodes of all objects begin with."""
    node: Published = {"row": row, "replicated_table_mapping_row": None if mapping is None else mapping_row(mapping)}
    if snapshot.role is Role.ERROR:
        return node
    return {
        "leading": snapshot.role is Role.LEADING,
        "pass_index": snapshot.pass_index,
        "pass_instant": encode_instant(snapshot.pass_instant),
        **node,
    }


def _error(snapshot: QueueSnapshot | ConsumerSnapshot) -> Published:
    assert snapshot.error is not None
    return snapshot.error.to_map()


def _exporters(snapshot: QueueSnapshot) -> Published | Entity:
    exports = snapshot.exports
    if exports.error is not None:
        return Entity({"error": exports.error.to_map()})
    configs = snapshot.row.static_export_config or {}
    return {
        name: {"export_config": configs.get(name), **state.to_map()}
        for name, state in sorted(exports.exporters.items())
    }


def _registrations(
    registrations: Sequence[Registration], statuses: RegistrationStatuses = NO_STATUSES
) -> list[Published]:
    return [
        {
            "queue": str(one.queue),
            "consumer": str(one.consumer),
            "vital": one.vital,
            **(statuses[one.consumer].to_map() if one.consumer in statuses else {}),
        }
        for one in registrations
    ]


def _dead_vital_consumers(statuses: RegistrationStatuses) -> list[Published]:
    """The dearest first."""
    dead = [(consumer, one.price) for consumer, one in statuses.items() if one.price is not None]
    dead.sort(key=lambda pair: (-(pair[1].held_bytes or 0), -pair[1].held_rows, pair[0]))
    return [{"consumer": str(consumer), **price.to_map()} for consumer, price in dead]


def _queue_partition(
    partition: QueuePartition | FailedQueuePartition, trim: PartitionTrim | None, seen_at: datetime, now: datetime
) -> Published:
    if isinstance(partition, FailedQueuePartition):
        # The web interface filters partitions by both, and would not show one that has none.
        error = {"error": partition.error.to_map(), "meta": {"cell_id": "", "host": ""}}
        return error if trim is None else {**error, "trim": trim.to_map()}
    counters = partition.counters_at(seen_at)
    return {
        "lower_row_index": partition.lower_row_index,
        "upper_row_index": partition.upper_row_index,
        "available_row_count": partition.available_row_count,
        "last_row_commit_time": encode_instant(partition.last_row_commit_time),
        "commit_idle_time": encode_duration(elapsed(partition.last_row_commit_time, seen_at)),
        "cumulative_data_weight": partition.cumulative_data_weight,
        "trimmed_data_weight": partition.trimmed_data_weight,
        "available_data_weight": partition.available_data_weight,
        "write_row_count_rate": counters.row_count.served(now),
        "write_data_weight_rate": counters.data_weight.served(now),
        "meta": {"cell_id": partition.cell_id or "", "host": partition.host or ""},
        "trim": None if trim is None else trim.to_map(),
    }


def _sub_status(position: SubSnapshot, now: datetime) -> Published:
    match position:
        case ErrorInfo():
            return {"error": position.to_map()}
        case QueueMissing(error):
            return {"error": error.to_map()}
        case ConsumerQueueView():
            return {
                "partition_count": len(position.partitions),
                "read_row_count_rate": position.read_row_count.served(now),
                "read_data_weight_rate": position.read_data_weight.served(now),
            }
        case _:
            assert_never(position)


def _verdict_map(verdict: QueueVerdict | None) -> Published:
    return {} if verdict is None else verdict.to_map()


def _consumer_partitions(position: ConsumerQueueView, verdict: QueueVerdict | None, now: datetime) -> list[Published]:
    verdicts = {} if verdict is None else verdict.partitions
    return [
        _consumer_partition(partition, position.seen_at, now) | (verdicts[index].to_map() if index in verdicts else {})
        for index, partition in enumerate(position.partitions)
    ]


def _consumer_partition(
    partition: ConsumerPartition | FailedConsumerPartition, seen_at: datetime, now: datetime
) -> Published:
    if isinstance(partition, FailedConsumerPartition):
        return {
            "error": partition.error.to_map(),
            "next_row_index": partition.next_row_index,
            "last_consume_time": encode_instant(partition.last_consume_time),
        }
    commit_time = partition.next_row_commit_time
    counters = partition.counters_at(seen_at)
    return {
        "next_row_index": partition.next_row_index,
        "last_consume_time": encode_instant(partition.last_consume_time),
        "disposition": partition.disposition.value,
        "unread_row_count": partition.unread_row_count,
        "unread_data_weight": partition.unread_data_weight,
        "next_row_commit_time": None if commit_time is None else encode_instant(commit_time),
        "processing_lag": encode_duration(processing_lag(commit_time, seen_at)),
        "consume_idle_time": encode_duration(elapsed(partition.last_consume_time, seen_at)),
        "cumulative_data_weight": partition.cumulative_data_weight,
        "read_row_count_rate": counters.row_count.served(now),
        "read_data_weight_rate": counters.data_weight.served(now),
    }


def _unsigned(value: int | None) -> Unsigned | None:
    return None if value is None else Unsigned(value)
