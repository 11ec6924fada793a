"""`queue-agent consumer protect`: nobody puts a consumer into quarantine."""

from __future__ import annotations

import json
from typing import Final

import typer

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.adapters.process.logs import configure_logging
from queue_agent.cli.act_record import recorded
from queue_agent.cli.init_state import StateLocation
from queue_agent.cli.options import (
    Consumer,
    DryRun,
    Json,
    OptionalConfigFile,
    Proxies,
    Queue,
    TokenFile,
    exit_codes,
    now,
)
from queue_agent.cli.owner_acts import act_as_owner
from queue_agent.cli.plain import plain
from queue_agent.controllers.acts.protection import Protection, plan_protection, protect
from queue_agent.core.access.acts import ActKind, ActRequest
from queue_agent.core.values.refs import CrossClusterRef

EXAMPLES: Final = """
Examples:

queue-agent consumer protect pythia://tmp/queue hume://tmp/consumer

queue-agent consumer protect pythia://tmp/queue hume://tmp/consumer --proxy hume=http://127.0.0.1:8002

Exit codes: 0: protected, or would be with --dry-run; 2: refused, nothing was changed.
"""


def command(
    queue: Queue,
    consumer: Consumer,
    config: OptionalConfigFile = None,
    proxy: Proxies = None,
    token_file: TokenFile = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Keep a vital consumer out of quarantine, or end it: the queue keeps what it has not read.

    Rows that went before do not come back. Name queue and consumer as they are registered, one of several in a table
    with its name. Remove the entry of the attribute to allow quarantines again.

    You need the permission to write to the consumer, whose attribute @queue_agent_protected it sets. The cluster of the
    consumer is found as by `consumer reset`. With --config, the act is in the audit journal, and agents show it among
    events.
    """
    configure_logging("warning", "console")
    with exit_codes():

        async def act(
            cluster: YtCluster, queue: CrossClusterRef, consumer: CrossClusterRef, state: StateLocation | None
        ) -> Protection:
            plan = await plan_protection(cluster, queue, consumer, now())
            if not plan.is_there and not dry_run:
                async with recorded(state, ActRequest(ActKind.PROTECT, queue, consumer), plan.to_map()):
                    await protect(cluster, plan)
            return plan

        plan = act_as_owner(queue, consumer, config, proxy, token_file, act)
        if as_json:
            typer.echo(json.dumps(plan.to_map(), indent=2))
            return
        done = "Was protected before:" if plan.is_there else "Would protect" if dry_run else "Protected"
        typer.echo(f"{done} {plain(f'{plan.consumer} in {plan.queue}')}")
