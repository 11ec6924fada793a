"""Commands of the Queue API."""

from __future__ import annotations

from typing import Any, Final

from yt_local.cluster import Cluster
from yt_local.commands.command import (
    Body,
    Command,
    Int64,
    Parameters,
    RichPathParameter,
    Rows,
    TransactionId,
    light,
    tablet_transaction,
    tabular,
    volatile,
)
from yt_local.queues.queues import BatchLimits
from yt_local.session import Session


class _Registration(Parameters):
    queue_path: RichPathParameter
    consumer_path: RichPathParameter


class _Register(_Registration):
    vital: bool
    partitions: list[Int64] | None = None


class _ListRegistrations(Parameters):
    queue_path: RichPathParameter | None = None
    consumer_path: RichPathParameter | None = None


class _Pull(Parameters):
    queue_path: RichPathParameter
    partition_index: Int64
    offset: Int64 | None = None
    max_row_count: Int64 | None = None
    max_data_weight: Int64 | None = None
    data_weight_per_row_hint: Int64 | None = None

    @property
    def limits(self) -> BatchLimits:
        return BatchLimits.of(self.max_row_count, self.max_data_weight, self.data_weight_per_row_hint)


class _PullConsumer(_Pull):
    consumer_path: RichPathParameter


class _Advance(_Registration):
    partition_index: Int64
    new_offset: Int64
    old_offset: Int64 | None = None
    client_side: bool = False
    transaction_id: TransactionId = None


class _Session(Parameters):
    producer_path: RichPathParameter
    queue_path: RichPathParameter
    session_id: str


class _CreateSession(_Session):
    user_meta: Any = None


class _Push(_Session):
    epoch: Int64
    sequence_number: Int64 | None = None
    user_meta: Any = None
    require_sync_replica: bool = True
    transaction_id: TransactionId = None


async def _register(cluster: Cluster, session: Session, parameters: _Register, _: Body) -> Any:
    cluster.registrations.register(
        session.access,
        parameters.queue_path,
        parameters.consumer_path,
        vital=parameters.vital,
        partitions=parameters.partitions,
    )
    return {}


async def _unregister(cluster: Cluster, session: Session, parameters: _Registration, _: Body) -> Any:
    cluster.registrations.unregister(session.access, parameters.queue_path, parameters.consumer_path)
    return {}


async def _list_registrations(cluster: Cluster, session: Session, parameters: _ListRegistrations, _: Body) -> Any:
    return cluster.registrations.list(parameters.queue_path, parameters.consumer_path)


async def _pull_queue(cluster: Cluster, session: Session, parameters: _Pull, _: Body) -> Rows:
    return Rows(
        cluster.queues.pull(
            session.access, parameters.queue_path, parameters.partition_index, parameters.offset or 0, parameters.limits
        )
    )


async def _pull_queue_consumer(cluster: Cluster, session: Session, parameters: _PullConsumer, _: Body) -> Rows:
    return Rows(
        cluster.queues.pull_for_consumer(
            session.access,
            parameters.consumer_path,
            parameters.queue_path,
            parameters.partition_index,
            parameters.offset,
            parameters.limits,
        )
    )


async def _advance(cluster: Cluster, session: Session, parameters: _Advance, _: Body) -> Any:
    cluster.queues.advance(
        session.access,
        parameters.consumer_path,
        parameters.queue_path,
        parameters.partition_index,
        parameters.old_offset,
        parameters.new_offset,
        client_side=parameters.client_side,
        transaction=tablet_transaction(cluster, parameters.transaction_id),
    )
    return {}


async def _create_session(cluster: Cluster, session: Session, parameters: _CreateSession, _: Body) -> Any:
    return cluster.producers.create_session(
        session.access, parameters.producer_path, parameters.queue_path, parameters.session_id, parameters.user_meta
    )


async def _remove_session(cluster: Cluster, session: Session, parameters: _Session, _: Body) -> Any:
    cluster.producers.remove_session(
        session.access, parameters.producer_path, parameters.queue_path, parameters.session_id
    )
    return {}


async def _push(cluster: Cluster, session: Session, parameters: _Push, body: Body) -> Any:
    return cluster.producers.push(
        session.access,
        parameters.producer_path,
        parameters.queue_path,
        parameters.session_id,
        parameters.epoch,
        body.rows_for(tuple),  # the queue may be on another cluster
        first_sequence_number=parameters.sequence_number,
        user_meta=parameters.user_meta,
        require_sync_replica=parameters.require_sync_replica,
        transaction=tablet_transaction(cluster, parameters.transaction_id),
    )


COMMANDS: Final[tuple[Command, ...]] = (
    volatile("register_queue_consumer", _Register, _register, transactions="ignored"),
    volatile("unregister_queue_consumer", _Registration, _unregister, transactions="ignored"),
    light("list_queue_consumer_registrations", _ListRegistrations, _list_registrations, transactions="ignored"),
    tabular("pull_queue", _Pull, _pull_queue, transactions="ignored"),
    tabular("pull_queue_consumer", _PullConsumer, _pull_queue_consumer, transactions="ignored"),
    tabular("pull_consumer", _PullConsumer, _pull_queue_consumer, transactions="ignored"),
    volatile("advance_queue_consumer", _Advance, _advance, transactions="taken"),
    volatile("advance_consumer", _Advance, _advance, transactions="taken"),
    volatile("create_queue_producer_session", _CreateSession, _create_session, transactions="ignored"),
    volatile("remove_queue_producer_session", _Session, _remove_session, transactions="ignored"),
    # Declared with rows in its body, although older servers declare none: clients send them all the same.
    volatile("push_queue_producer", _Push, _push, input_type="tabular", transactions="taken"),
)
