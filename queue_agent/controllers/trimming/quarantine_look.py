"""Reads what quarantines of a queue depend on: right now, and all of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from queue_agent.controllers.passes.clusters import fan_out, get_cluster
from queue_agent.controllers.status.context import ControllerContext
from queue_agent.core.queues.snapshots import QueueSnapshot
from queue_agent.core.state.family import find_consumer_row_error
from queue_agent.core.state.quarantines import ATTRIBUTE, Commit, QuarantineWish
from queue_agent.core.state.replication import find_consumer_access
from queue_agent.core.state.rows import Registration
from queue_agent.core.trimming.confirmation import vital_consumers
from queue_agent.core.trimming.quarantine import QuarantineLook
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.owner import PROTECTED, is_protected
from queue_agent.errors import ClusterError

_CONCURRENT_CONSUMERS = 16


class InvalidWish(ClusterError):
    """The owner of the queue says something that makes no sense."""


async def look_at_quarantines(
    context: ControllerContext,
    snapshot: QueueSnapshot,
    consumers: Collection[CrossClusterRef],
    registrations: Sequence[Registration],
    origin: Origin,
) -> QuarantineLook:
    """What is known right now.

    Args:
        context: to ask with.
        snapshot: of the queue, which can be read.
        consumers: those in question.
        registrations: those of the queue, as fresh as there are.
        origin: of errors.

    Raises:
        ClusterError: something could not be read, or makes no sense.
    """
    queue, view = snapshot.ref, snapshot.view
    assert view is not None, "only what can be read is trimmed"
    wish, object_id = await _read_queue(context, queue)
    vital = vital_consumers(registrations)
    asked = [consumer for consumer in consumers if consumer in vital] if wish.enable else []
    answers = await fan_out(
        lambda consumer: _read_consumer(context, consumer, queue, len(view.partitions), origin),
        asked,
        limit=_CONCURRENT_CONSUMERS,
    )
    found: dict[CrossClusterRef, tuple[bool, Mapping[int, Commit]]] = {}
    for consumer, answer in answers.items():
        if isinstance(answer, ClusterError):
            raise answer
        found[consumer] = answer
    return QuarantineLook(
        wish=wish,
        object_id=object_id,
        has_exports=bool(snapshot.exported),
        vital=vital,
        protected={consumer for consumer, (protected, _) in found.items() if protected},
        commits={consumer: commits for consumer, (_, commits) in found.items()},
    )


async def _read_queue(context: ControllerContext, queue: CrossClusterRef) -> tuple[QuarantineWish, str]:
    attributes = await get_cluster(context.clusters, queue.cluster).get_attributes(queue.path, [ATTRIBUTE, "id"])
    try:
        return QuarantineWish.parse(attributes.get(ATTRIBUTE)), str(attributes["id"])
    except ValueError as error:
        raise InvalidWish(f'Attribute "{ATTRIBUTE}" of {queue} is invalid: {error}') from error


async def _read_consumer(
    context: ControllerContext, consumer: CrossClusterRef, queue: CrossClusterRef, partition_count: int, origin: Origin
) -> tuple[bool, Mapping[int, Commit]]:
    """Whether it is protected, and its commits."""
    board = context.board
    row = board.find_consumer_row(consumer)
    if row is None:
        raise ClusterError(f'Consumer "{consumer}" is not in the state tables')
    mapping = board.find_mapping(consumer.table)
    access = find_consumer_row_error(row, origin, mapping) or find_consumer_access(row, mapping, origin)
    if isinstance(access, ErrorInfo):
        raise ClusterError(access.message)
    owner = get_cluster(context.clusters, consumer.cluster)
    attributes = await owner.get_attributes(consumer.path, [PROTECTED])
    cluster = get_cluster(context.clusters, access.cluster)
    counts = {queue: partition_count}
    found = await cluster.read_consumer_offsets(access.path, counts, with_meta=False, name=consumer.name)
    commits = {index: Commit(one.offset, one.last_write_timestamp) for index, one in found[queue].items()}
    return is_protected(attributes.get(PROTECTED), consumer.name, queue), commits
