"""The reset of offsets as an act: what was shown is what is done, or nothing is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from queue_agent.controllers.acts.deeds import Deed, Setting
from queue_agent.controllers.acts.reset import ConsumerReset, Plan
from queue_agent.core.access.acts import ActRequest
from queue_agent.core.access.previews import Prepared
from queue_agent.core.consumers.destinations import parse_destination
from queue_agent.core.consumers.offset_reset import Move
from queue_agent.errors import ActRefused


async def prepare_reset(
    request: ActRequest, setting: Setting, now: Callable[[], datetime], agreed: Prepared | None
) -> Deed:
    """Plan a reset.

    Args:
        request: which consumer, and where to.
        setting: who acts.
        now: the clock.
        agreed: the preview to which somebody has agreed: its targets are kept, however many rows have come since.

    Raises:
        ActRefused: it cannot be done; or rows that were to be read are gone since the preview.
    """
    assert request.queue is not None and request.consumer is not None, "a reset names both"
    await setting.require(request.consumer.cluster, "write", request.consumer.path)
    await setting.require(request.queue.cluster, "read", request.queue.path)
    reset = ConsumerReset(request.queue, request.consumer, setting.clusters, now)
    try:
        destination = parse_destination(request.to.removeprefix("offset:").removeprefix("time:"), now())
    except ValueError as error:
        raise ActRefused(str(error)) from error
    plan = await reset.plan(destination, request.partitions)
    if agreed is not None:
        plan = replace(plan, moves=_agreed_moves(plan, agreed))
    ids = [
        str(await setting.clusters[ref.cluster].get(f"{ref.path}/@id"))
        for ref in (plan.queue.table, plan.consumer.table)
    ]
    facts = {
        "tables": ids,
        "vital": plan.vital,
        "offsets": {str(move.partition_index): move.current for move in plan.moves},
    }

    async def carry_out() -> Mapping[str, str]:
        failures = await reset.carry_out(plan)
        return {str(index): words for index, words in failures.items()}

    return Deed(Prepared(plan.to_map(), facts), carry_out)


def _agreed_moves(plan: Plan, agreed: Prepared) -> list[Move]:
    """The moves to the targets that were shown; ActRefused if they do not fit what the queue has now."""
    targets: Mapping[int, Any] = {one["partition_index"]: one["target"] for one in agreed.plan["partitions"]}
    moves = []
    for move in plan.moves:
        target = targets.get(move.partition_index)
        if target is None or not move.bounds.lower_row_index <= target <= move.bounds.upper_row_index:
            raise ActRefused(
                f"Nothing was moved: rows of partition {move.partition_index} that the preview counted on are not there"
                " any more; ask for a new preview"
            )
        moves.append(replace(move, target=target))
    return moves
