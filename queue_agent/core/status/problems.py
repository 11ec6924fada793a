"""All verdicts, and all that somebody should look at, worst first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from queue_agent.core.queues.snapshots import ConsumerSnapshot, QueueSnapshot
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.values import QueueVerdict, Verdict

_PROBLEMS: Final = frozenset({"red", "amber"})


def list_verdicts(
    consumers: Mapping[CrossClusterRef, ConsumerSnapshot], wanted: Collection[Verdict] = frozenset(Verdict)
) -> list[dict[str, Any]]:
    """Each consumer in each of its queues; the worst first, vital ones before others.

    Args:
        consumers: those served here.
        wanted: only consumers with one of these verdicts.
    """
    found = [(one, is_vital) for one, is_vital, verdict in _verdicts(consumers) if verdict in wanted]
    found.sort(key=lambda pair: (Verdict(pair[0]["verdict"]).severity, not pair[1]))
    return [one for one, _ in found]


def list_alerts(
    agent: Mapping[str, Any],
    queues: Iterable[QueueSnapshot],
    consumers: Mapping[CrossClusterRef, ConsumerSnapshot],
) -> list[dict[str, Any]]:
    """What somebody should look at: alerts of the agent and of queues, then verdicts that are red or amber.

    Args:
        agent: agent-wide alerts by category, as error maps.
        queues: those served here.
        consumers: those served here.
    """
    alerts: list[dict[str, Any]] = [
        {"kind": "agent", "category": category, "reason": error["message"]} for category, error in agent.items()
    ]
    for queue in queues:
        alerts += [
            {"kind": "queue", "queue": str(queue.ref), "category": category, "reason": error.message}
            for category, error in queue.all_alerts.items()
        ]
    problems = [one for one in Verdict if one.color in _PROBLEMS]
    keys = ("consumer", "queue", "vital", "verdict", "color", "verdict_since", "reason", "turn", "action")
    return [
        *alerts,
        *({"kind": "consumer", **{key: one[key] for key in keys}} for one in list_verdicts(consumers, problems)),
    ]


def _verdicts(
    consumers: Mapping[CrossClusterRef, ConsumerSnapshot],
) -> Iterator[tuple[dict[str, Any], bool, Verdict]]:
    for ref, snapshot in sorted(consumers.items()):
        for registration in snapshot.registrations:
            verdict = snapshot.verdicts.get(registration.queue)
            if verdict is not None:
                yield _entry(ref, registration.queue, verdict, registration.vital), registration.vital, verdict.verdict


def _entry(consumer: CrossClusterRef, queue: CrossClusterRef, verdict: QueueVerdict, vital: bool) -> dict[str, Any]:
    return {"consumer": str(consumer), "queue": str(queue), "vital": vital, **verdict.to_map()}
