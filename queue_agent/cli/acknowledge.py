"""`queue-agent consumer acknowledge`: somebody knows what happened to a consumer."""

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
from queue_agent.controllers.acts.acknowledgement import Acknowledgement, acknowledge, plan_acknowledgement
from queue_agent.core.access.acts import ActKind, ActRequest
from queue_agent.core.values.refs import CrossClusterRef

EXAMPLES: Final = """
Examples:

queue-agent consumer acknowledge pythia://tmp/queue hume://tmp/consumer --dry-run  ·  what there is to acknowledge

queue-agent consumer acknowledge pythia://tmp/queue hume://tmp/consumer --proxy hume=http://127.0.0.1:8002

Exit codes: 0: acknowledged, or would be with --dry-run, or there is nothing; 2: refused, nothing was changed.
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
    """Acknowledge lost rows, a reshard or a re-creation: the verdict no longer shows it.

    Alerts about it end. Counts of lost rows stay. A later incident shows again: the command acknowledges up to the
    last one that it prints.

    You need the permission to write to the consumer, whose attribute @queue_agent_acknowledged it sets. The cluster of
    the consumer is found as by `consumer reset`. With --config, the act is in the audit journal, and agents show it
    among events.
    """
    configure_logging("warning", "console")
    with exit_codes():

        async def act(
            cluster: YtCluster, queue: CrossClusterRef, consumer: CrossClusterRef, state: StateLocation | None
        ) -> Acknowledgement:
            plan = await plan_acknowledgement(cluster, queue, consumer, now())
            if plan.told and not dry_run:
                async with recorded(state, ActRequest(ActKind.ACKNOWLEDGE, queue, consumer), plan.to_map()):
                    await acknowledge(cluster, plan)
            return plan

        plan = act_as_owner(queue, consumer, config, proxy, token_file, act)
        if as_json:
            typer.echo(json.dumps(plan.to_map(), indent=2))
            return
        where = plain(f"of {plan.consumer} in {plan.queue}")
        if not plan.told:
            typer.echo(f"There is nothing to acknowledge {where}")
            return
        typer.echo(f"{'Would acknowledge' if dry_run else 'Acknowledged'} {where}:")
        for words in (*plan.told, *plan.notes):
            typer.echo(f"  {words}")
