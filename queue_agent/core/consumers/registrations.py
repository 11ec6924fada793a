"""The consumers of a queue, as those see them who look at the queue."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from queue_agent.core.queues.snapshots import ConsumerSnapshot
from queue_agent.core.state.rows import Registration
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.price import Price
from queue_agent.core.verdicts.rebuilding import Rebuild, RebuildKind, newest
from queue_agent.core.verdicts.values import Verdict

RECREATED: Final = "queue_agent_queue_recreated"
"""Category of the alert that consumers of a queue have offsets of one that is gone."""

RESHARDED: Final = "queue_agent_queue_resharded"
"""Category of the alert that consumers of a queue have not committed in each partition since it has others."""

_NO_SUCH_NODE: Final = 500


@dataclass(frozen=True, slots=True)
class RegistrationStatus:
    """Progress of a registered consumer in the queue."""

    verdict: Verdict
    reason: str | None = None
    error: ErrorInfo | None = None
    """What is wrong with the consumer; the queue itself reports that it cannot be read."""

    price: Price | None = None
    """Of a vital consumer that is dead."""

    rebuild: Rebuild | None = None
    """What became of the queue, as long as the consumer has not shown that it knows."""

    def to_map(self) -> dict[str, Any]:
        error = {} if self.error is None else {"error": self.error.to_map()}
        return {"verdict": self.verdict.value, "reason": self.reason, **error}


RegistrationStatuses = Mapping[CrossClusterRef, RegistrationStatus]
"""By consumer."""

NO_STATUSES: Final[RegistrationStatuses] = {}
_UNKNOWN: Final = RegistrationStatus(Verdict.UNKNOWN)


def judge_registrations(
    registrations: Collection[Registration],
    known: Collection[CrossClusterRef],
    snapshots: Mapping[CrossClusterRef, ConsumerSnapshot],
) -> RegistrationStatuses:
    """By consumer; unknown are those that no agent here looks at.

    Args:
        registrations: those of one queue.
        known: the consumers there are rows of in the state tables.
        snapshots: of consumers that are looked at here; others may be led by another agent.
    """
    return {one.consumer: _judge(one, known, snapshots.get(one.consumer)) for one in registrations}


def missing_reason(registration: Registration) -> str:
    """The sentence about a registered consumer that does not exist."""
    vital = " as vital" if registration.vital else ""
    return f"Consumer {registration.consumer} does not exist; it is registered for {registration.queue}{vital}"


def _judge(
    registration: Registration, known: Collection[CrossClusterRef], snapshot: ConsumerSnapshot | None
) -> RegistrationStatus:
    if registration.consumer not in known:
        reason = missing_reason(registration)
        return RegistrationStatus(Verdict.UNREADABLE, reason, ErrorInfo(reason, _NO_SUCH_NODE))
    if snapshot is None or snapshot.pass_index == 0:
        return _UNKNOWN
    if snapshot.error is not None:
        return RegistrationStatus(Verdict.UNREADABLE, snapshot.error.message, snapshot.error)
    verdict = snapshot.verdicts.get(registration.queue)
    if verdict is None:
        return _UNKNOWN
    is_own = verdict.color == "red" and verdict.verdict is not Verdict.UNREADABLE
    error = ErrorInfo(verdict.whole.reason or verdict.verdict.value) if is_own else None
    if error is None and verdict.objective is not None:
        error = verdict.objective.error
    price = verdict.price if verdict.price is not None and verdict.price.is_dead else None
    return RegistrationStatus(verdict.verdict, verdict.whole.reason, error, price, verdict.whole.rebuild)


def rebuild_alerts(statuses: RegistrationStatuses) -> Mapping[str, ErrorInfo]:
    """Alerts of a queue that is another than its consumers know, by category."""
    rebuild = newest(one.rebuild for one in statuses.values())
    if rebuild is None:
        return {}
    unaware = sorted(str(consumer) for consumer, one in statuses.items() if one.rebuild is not None)
    category = RECREATED if rebuild.kind is RebuildKind.RECREATION else RESHARDED
    attributes = {**rebuild.to_map(), "consumers": unaware}
    return {category: ErrorInfo(f"The {rebuild.phrase}, and not all consumers know", attributes=attributes)}
