"""What is wrong with the consumers of a queue: shown as a red badge beside each by the web interface."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from queue_agent.core.consumers.standing import ALARMING, judge
from queue_agent.core.queues.snapshots import ConsumerQueueView, ConsumerSnapshot
from queue_agent.core.state.rows import Registration
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef

_NO_SUCH_NODE: Final = 500


def find_registration_errors(
    registrations: Collection[Registration],
    known: Collection[CrossClusterRef],
    snapshots: Mapping[CrossClusterRef, ConsumerSnapshot],
) -> Mapping[CrossClusterRef, ErrorInfo]:
    """By consumer; those with whom all is well, or of whom nothing is known yet, are absent.

    Args:
        registrations: those of one queue.
        known: the consumers there are rows of in the state tables.
        snapshots: of consumers that are looked at here; others may be led by another agent.
    """
    errors = {one.consumer: _find_error(one, known, snapshots.get(one.consumer)) for one in registrations}
    return {consumer: error for consumer, error in errors.items() if error is not None}


def _find_error(
    registration: Registration, known: Collection[CrossClusterRef], snapshot: ConsumerSnapshot | None
) -> ErrorInfo | None:
    if registration.consumer not in known:
        return ErrorInfo(
            f'Consumer "{registration.consumer}" is registered, but there is no such consumer in the state tables: it'
            " was removed, or is not looked after",
            _NO_SUCH_NODE,
        )
    if snapshot is None or snapshot.pass_index == 0:
        return None
    view = snapshot.view
    if view is None:
        return snapshot.error
    standing = view.queues.get(registration.queue)
    if not isinstance(standing, ConsumerQueueView):
        return None  # that the queue can not be read is told by the queue
    judged = judge(standing)
    return ErrorInfo(judged.reason) if judged.verdict in ALARMING and judged.reason is not None else None
