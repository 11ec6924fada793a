"""Acknowledge what happened to a consumer, after which its verdict shows it no longer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from queue_agent.controllers.acts.deeds import Deed, Setting
from queue_agent.controllers.acts.entries import find_entries, find_refusal, set_entry
from queue_agent.core.access.acts import ActRequest
from queue_agent.core.access.previews import Prepared
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.owner import ACKNOWLEDGED, parse_acknowledged, unknown_incidents
from queue_agent.core.verdicts.values import Verdict
from queue_agent.errors import ActRefused
from queue_agent.ports.acts import ActingCluster
from yt_wire import yson

_STATUS: Final = "queue_consumer_status"
_LOSES: Final = "Rows are still being lost: the next loss shows again"


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """What there is to be known of a consumer in a queue."""

    queue: CrossClusterRef
    consumer: CrossClusterRef
    told: tuple[str, ...]
    """Sentences: what is acknowledged; empty: there is nothing."""

    until: str | None
    """Instant of the last of it, as the agent has published it; None: there is nothing."""

    notes: tuple[str, ...] = ()

    def to_map(self) -> dict[str, Any]:
        return {
            "queue": str(self.queue),
            "consumer": str(self.consumer),
            "acknowledged": list(self.told),
            "until": self.until,
            "notes": list(self.notes),
        }


async def plan_acknowledgement(
    cluster: ActingCluster, queue: CrossClusterRef, consumer: CrossClusterRef, now: datetime
) -> Acknowledgement:
    """Find out what there is to be acknowledged; nothing is changed.

    Args:
        cluster: of the consumer.
        queue: of the consumer.
        consumer: it may be one of several in a table.
        now: nobody knows yet what happens later.

    Raises:
        ActRefused: nobody knows of the consumer in the queue, or the attribute makes no sense.
        ClusterError: the cluster or the agent did not tell.
    """
    verdict = await _find_verdict(cluster, queue, consumer)
    value, _ = await find_entries(cluster, ACKNOWLEDGED, consumer)
    try:
        known = parse_acknowledged(value, consumer.name, now.timestamp()).get(queue)
    except ValueError as error:
        raise find_refusal(ACKNOWLEDGED, consumer, error) from error
    found = unknown_incidents(verdict, known)
    if not found:
        return Acknowledgement(queue, consumer, (), None)
    loses = verdict["verdict"] in (Verdict.LOSING.value, Verdict.RACING.value)
    words, instants = zip(*found, strict=True)
    return Acknowledgement(queue, consumer, words, max(instants), (_LOSES,) if loses else ())


async def acknowledge(cluster: ActingCluster, plan: Acknowledgement) -> None:
    """Put it into the attribute of the consumer; again does no harm. Errors: as for the plan."""
    if plan.until is not None:
        await set_entry(cluster, ACKNOWLEDGED, plan.consumer, plan.queue, plan.until)


async def prepare_acknowledgement(request: ActRequest, setting: Setting, agreed: Prepared | None) -> Deed:
    """Say that the owner of a consumer knows what happened to it.

    Args:
        request: which consumer, in which queue.
        setting: who acts.
        agreed: the preview to which somebody has agreed: what happened since is not acknowledged.
    """
    assert request.queue is not None, "requests of this kind name a queue"
    assert request.consumer is not None, "requests of this kind name a consumer"
    cluster = setting.clusters[request.consumer.cluster]
    await setting.require(request.consumer.cluster, "write", request.consumer.path)
    plan = await plan_acknowledgement(cluster, request.queue, request.consumer, setting.now)
    if not plan.told:
        raise ActRefused(f"There is nothing to acknowledge of {plan.consumer} in {plan.queue}")
    if agreed is not None:
        plan = replace(plan, told=tuple(agreed.plan["acknowledged"]), until=agreed.plan["until"])

    async def carry_out() -> Mapping[str, str]:
        await acknowledge(cluster, plan)
        return {}

    consumer_id = str(await cluster.get(f"{request.consumer.path}/@id"))
    return Deed(Prepared(plan.to_map(), {"consumer": consumer_id}), carry_out)


async def _find_verdict(cluster: ActingCluster, queue: CrossClusterRef, consumer: CrossClusterRef) -> Mapping[str, Any]:
    """What the agent publishes."""
    status = yson.plain(await cluster.get(f"{consumer.path}/@{_STATUS}"))
    if consumer.name:
        status = (status.get("consumers") or {}).get(consumer.name) or {}
    if status.get("error") is not None:
        raise ActRefused(f"The agent cannot read {consumer}: {status['error'].get('message')}")
    verdict: Mapping[str, Any] | None = (status.get("queues") or {}).get(str(queue))
    if verdict is None:
        raise ActRefused(f"The agent knows of no registration of {consumer} with {queue}")
    if "verdict" not in verdict:
        raise ActRefused(f"The agent of {consumer} gives no verdicts: it is another program, or an older version")
    return verdict
