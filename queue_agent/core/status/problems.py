"""All verdicts, and all that somebody should look at, worst first."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from queue_agent.core.consumers.registrations import missing_reason
from queue_agent.core.queues.snapshots import ConsumerSnapshot, QueueSnapshot, Role
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.advice import ADVICE_KEYS, Advice, Turn, command
from queue_agent.core.verdicts.quota import Account, Quota
from queue_agent.core.verdicts.values import QueueVerdict, Verdict

_PROBLEMS: Final = frozenset({"red", "amber"})

ACCOUNT_FULL_SOON: Final = "queue_agent_account_full_soon"
"""Category of alerts about accounts."""

_CREATE_CONSUMER: Final = Advice(
    Turn.OWNER, "create the consumer again, or unregister it if nobody needs it: then its rows are not kept"
)


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
    known: Container[CrossClusterRef] | None = None,
    quotas: Mapping[Account, Sequence[Quota]] | None = None,
) -> list[dict[str, Any]]:
    """What somebody should look at: alerts of the agent, accounts that are full soon, alerts of queues, then consumers.

    Of consumers: those that are registered and do not exist, and verdicts that are red or amber. Then objectives that
    cannot be read.

    Args:
        agent: agent-wide alerts by category, as error maps.
        queues: those served here.
        consumers: those served here.
        known: all consumers that exist; None: not known, and nothing is said of missing ones.
        quotas: of accounts that pay for queues served here.
    """
    queues = list(queues)
    alerts: list[dict[str, Any]] = [
        {"kind": "agent", "category": category, "reason": error["message"]} for category, error in agent.items()
    ]
    alerts += [
        {
            "kind": "account",
            "category": ACCOUNT_FULL_SOON,
            "queue": one.holder.queue,
            "reason": one.sentence,
            **one.to_map(),
        }
        for forecasts in (quotas or {}).values()
        for one in forecasts
        if one.is_urgent and one.holder is not None
    ]
    for queue in queues:
        alerts += [
            {"kind": "queue", "queue": str(queue.ref), "category": category, "reason": error.message}
            for category, error in queue.all_alerts.items()
        ]
    problems = [one for one in Verdict if one.color in _PROBLEMS]
    keys = ("consumer", "queue", "vital", "verdict", "color", "verdict_since", "reason", *ADVICE_KEYS)
    return [
        *alerts,
        *([] if known is None else _missing(queues, known)),
        *({"kind": "consumer", **{key: one[key] for key in keys}} for one in list_verdicts(consumers, problems)),
        *_objective_errors(consumers),
    ]


def _missing(queues: Iterable[QueueSnapshot], known: Container[CrossClusterRef]) -> Iterator[dict[str, Any]]:
    """Nobody leads a consumer that does not exist, so the agent that leads the queue tells of it."""
    for queue in queues:
        if queue.role is not Role.LEADING or queue.banned_since is not None:
            continue
        for one in queue.registrations:
            if one.consumer not in known:
                yield {
                    "kind": "consumer",
                    "consumer": str(one.consumer),
                    "queue": str(one.queue),
                    "vital": one.vital,
                    "verdict": Verdict.UNREADABLE.value,
                    "color": Verdict.UNREADABLE.color,
                    "verdict_since": None,
                    "reason": missing_reason(one),
                    **_CREATE_CONSUMER.to_map(),
                }


def _objective_errors(consumers: Mapping[CrossClusterRef, ConsumerSnapshot]) -> Iterator[dict[str, Any]]:
    for ref, snapshot in sorted(consumers.items()):
        for queue, verdict in sorted(snapshot.verdicts.items()):
            error = None if verdict.objective is None else verdict.objective.error
            if error is not None:
                words = ": ".join([error.message, *(one.message for one in error.inner_errors[:1])])
                yield {
                    "kind": "consumer",
                    "consumer": str(ref),
                    "queue": str(queue),
                    "vital": any(one.vital for one in snapshot.registrations if one.queue == queue),
                    "verdict": verdict.verdict.value,
                    "color": "amber",
                    "verdict_since": None,
                    "reason": words,
                    **command(
                        Turn.OWNER, ("yt", "--proxy", ref.cluster, "get", f"{ref.path}/@queue_agent_objective")
                    ).to_map(),
                }


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
