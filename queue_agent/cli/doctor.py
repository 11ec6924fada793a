"""`queue-agent doctor`: looks at all an agent needs, changes nothing, and says how to mend what is wrong."""

from __future__ import annotations

from queue_agent.cli.doctor_addresses import check_addresses, check_agent, check_answers
from queue_agent.cli.doctor_clusters import check_cluster, check_registrations
from queue_agent.cli.doctor_state import check_history, check_options, check_permissions, check_tables
from queue_agent.cli.findings import Finding, Grade
from queue_agent.cli.patient import Patient


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
        skipped = f"cluster {patient.config.state.cluster}, which holds the state, can not be asked"
        return [*findings, Finding("state", "all the rest", Grade.SKIPPED, skipped)]
    findings += await check_registrations(patient)
    findings += await check_tables(patient)
    findings += await check_history(patient)
    findings += await check_options(patient)
    findings += await check_permissions(patient, users)
    findings += await check_addresses(patient, users)
    findings += await check_answers(patient, users)
    findings += await check_agent(patient)
    return findings
