"""Protect a vital consumer from quarantine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from queue_agent.controllers.acts.deeds import Deed, Setting
from queue_agent.controllers.acts.entries import find_entries, find_refusal, set_entry
from queue_agent.core.access.acts import ActRequest
from queue_agent.core.access.previews import Prepared
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.owner import PROTECTED, parse_protected
from queue_agent.ports.acts import ActingCluster


@dataclass(frozen=True, slots=True)
class Protection:
    """Of a consumer in a queue."""

    queue: CrossClusterRef
    consumer: CrossClusterRef
    since: str
    """Instant."""

    is_there: bool
    """Nothing is to be done."""

    def to_map(self) -> dict[str, Any]:
        return {
            "queue": str(self.queue),
            "consumer": str(self.consumer),
            "since": self.since,
            "is_there": self.is_there,
        }


async def plan_protection(
    cluster: ActingCluster, queue: CrossClusterRef, consumer: CrossClusterRef, now: datetime
) -> Protection:
    """Whether a consumer is protected already; nothing is changed.

    Args:
        cluster: of the consumer.
        queue: it need not be registered with it yet.
        consumer: it may be one of several in a table.
        now: time of day.

    Raises:
        ActRefused: the attribute makes no sense.
        ClusterError: the consumer could not be read.
    """
    value, _ = await find_entries(cluster, PROTECTED, consumer)
    try:
        protected = parse_protected(value, consumer.name)
    except ValueError as error:
        raise find_refusal(PROTECTED, consumer, error) from error
    return Protection(queue, consumer, encode_instant(now), queue in protected)


async def protect(cluster: ActingCluster, plan: Protection) -> None:
    """Put it into the attribute of the consumer; again does no harm. Errors: as for `set_entry`."""
    if not plan.is_there:
        await set_entry(cluster, PROTECTED, plan.consumer, plan.queue, plan.since)


async def prepare_protection(request: ActRequest, setting: Setting) -> Deed:
    """Keep a consumer from being put into quarantine, or end its quarantine.

    Args:
        request: which consumer, in which queue.
        setting: who acts.
    """
    assert request.queue is not None, "requests of this kind name a queue"
    assert request.consumer is not None, "requests of this kind name a consumer"
    cluster = setting.clusters[request.consumer.cluster]
    await setting.require(request.consumer.cluster, "write", request.consumer.path)
    plan = await plan_protection(cluster, request.queue, request.consumer, setting.now)

    async def carry_out() -> Mapping[str, str]:
        await protect(cluster, plan)
        return {}

    consumer_id = str(await cluster.get(f"{request.consumer.path}/@id"))
    return Deed(Prepared(plan.to_map(), {"consumer": consumer_id}), carry_out)
