"""`queue-agent doctor`: looks at all an agent needs, changes nothing, and says how to mend what is wrong."""

from __future__ import annotations

import asyncio
import json
from typing import Final

import typer

from queue_agent.adapters.process.logs import configure_logging
from queue_agent.cli.doctor_addresses import check_addresses, check_agent, check_answers
from queue_agent.cli.doctor_clusters import check_cluster, check_registrations
from queue_agent.cli.doctor_queues import check_objects, check_queue_configs
from queue_agent.cli.doctor_state import check_history, check_options, check_permissions, check_tables
from queue_agent.cli.doctor_view import view_findings
from queue_agent.cli.findings import Finding, Grade, is_healthy
from queue_agent.cli.options import SOME_FAILED, AnyConfigFile, Host, Json, default_config, exit_codes, now
from queue_agent.cli.patient import Patient, admitted
from queue_agent.cli.status_view import make_console
from queue_agent.config.file import load_config

EXAMPLES: Final = """
Examples:

queue-agent doctor --config /etc/queue-agent/agent.yaml

queue-agent doctor --config agent.yaml --json | jq '.[] | select(.grade == "failure") | {detail, advice, commands}'

Exit codes: 0: no check failed, though there may be warnings; 1: a check failed; 2: the configuration cannot be used.
"""


def command(config: AnyConfigFile = None, host: Host = None, as_json: Json = False) -> None:
    """Check everything an agent needs, and print how to fix each problem. Changes nothing.

    It checks tokens, connections, users, clocks, names of clusters and permissions. It checks the state tables and
    their version, the table of registrations, the history, the dynamic document, and the configuration of queues. It
    checks that masters know the agents' addresses and get answers. If an agent runs on this machine, it checks its
    queues and consumers, too. Run it on the agent's machine, as the agent's user.
    """
    configure_logging("critical", "console")  # whatever goes wrong is among the findings

    file = default_config(config)

    async def look() -> list[Finding]:
        agent = load_config(file)
        async with admitted(agent if host is None else agent.on_host(host), file, now) as patient:
            return await examine(patient)

    with exit_codes():
        findings = asyncio.run(look())
    if as_json:
        typer.echo(json.dumps([finding.to_map() for finding in findings], indent=2))
    else:
        make_console().print(view_findings(findings))
    raise typer.Exit(0 if is_healthy(findings) else SOME_FAILED)


async def examine(patient: Patient) -> list[Finding]:
    """Look at everything, in an order in which what is mended first may mend the rest."""
    findings: list[Finding] = []
    users: dict[str, str | None] = {}
    for name in patient.config.clusters:
        found, user = await check_cluster(patient, name)
        findings += found
        if not any(one.grade is Grade.FAILURE and one.check in ("connection", "token") for one in found):
            users[name] = user
    if patient.config.state.cluster not in users:
        skipped = f"cluster {patient.config.state.cluster}, which holds the state, cannot be asked"
        return [*findings, Finding("state", "all the rest", Grade.SKIPPED, skipped)]
    findings += await check_registrations(patient)
    findings += await check_tables(patient)
    findings += await check_history(patient)
    findings += await check_options(patient)
    findings += await check_permissions(patient, users)
    findings += await check_queue_configs(patient, users)
    findings += await check_addresses(patient, users)
    findings += await check_answers(patient, users)
    findings += await check_agent(patient)
    findings += await check_objects(patient)
    return findings
