"""Whether masters and other agents find the agents of the stage, and get answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.adapters.group.orchid_client import OrchidClient
from queue_agent.cli.agent_api import AgentApi, LoginNeeded
from queue_agent.cli.doctor_state import first_queues
from queue_agent.cli.errors import CommandError
from queue_agent.cli.findings import Finding, Grade
from queue_agent.cli.patient import Patient, refusal
from queue_agent.cli.served_address import address_of
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError, ObjectNotFound
from yt_wire.error import YtError

_DIRECTORY: Final = "//sys/clusters/{}"
_CONNECTION: Final = "//sys/@cluster_connection"
_RPC_SECONDS: Final = 5.0
_HTTP_SECONDS: Final = 5.0
_READY: Final = 200


async def check_addresses(patient: Patient, users: Collection[str]) -> Sequence[Finding]:
    """What the clusters tell of the stage's agents; and that these answer, as far as one can tell from here."""
    findings: list[Finding] = []
    addresses: dict[str, None] = {}
    for name in users:
        for place in (_DIRECTORY.format(name), _CONNECTION):
            found, known = await _check_place(patient, name, place)
            findings.append(found)
            addresses |= dict.fromkeys(known)
    async with OrchidClient() as client:
        for address in addresses:
            findings += [await _check_rpc(client, address)]
    return findings


async def check_answers(patient: Patient, users: Mapping[str, str | None]) -> Sequence[Finding]:
    """That the master of each cluster gets an answer about a queue: the whole way, as a client goes it."""
    try:
        queues = await first_queues(patient, users)
    except ClusterError as error:
        return [refusal("state", "rows", error)]
    if not queues:
        return [Finding("masters", "answers", Grade.SKIPPED, f"stage {patient.config.stage} has no queue to ask about")]
    return [await _check_answer(patient, queue) for queue in queues]


async def check_agent(patient: Patient) -> Sequence[Finding]:
    """The agent itself, if it runs where the configuration says."""
    address = address_of(patient.config)
    subject = f"agent {address}"
    if not patient.config.http.port:
        return [Finding(subject, "running", Grade.SKIPPED, "its port is chosen when it starts")]
    hidden: list[Finding] = []
    try:
        async with AgentApi(address, _HTTP_SECONDS) as api:
            status, _ = await api.request("GET", "/health/ready")
            try:
                alerts = await api.get("/orchid/alerts")
            except LoginNeeded as error:
                hidden, alerts = [Finding(subject, "alerts", Grade.SKIPPED, str(error))], {}
    except CommandError as error:
        return [Finding(subject, "running", Grade.SKIPPED, f"it does not seem to run on this machine: {error}")]
    if status != _READY:
        detail = "it runs, but no pass over the state tables has succeeded within the last minute"
        found = Finding(subject, "running", Grade.FAILURE, detail, "look for queue_agent_pass_failed in its log")
    else:
        found = Finding(subject, "running", Grade.OK, "it is ready")
    advice = "see docs/running.md, Alerts"
    return [
        found,
        *hidden,
        *(
            Finding(subject, "alerts", Grade.WARNING, f"{category}: {_message(alert)}", advice)
            for category, alert in alerts.items()
        ),
    ]


async def _check_place(patient: Patient, name: str, place: str) -> tuple[Finding, Sequence[str]]:
    """One of the two places in which a cluster tells where the agents of the stage are."""
    stage = patient.config.stage
    subject, check = f"cluster {name}", f"addresses in {place}"
    own = patient.config.address(patient.config.rpc.port)
    register = f"{patient.queue_agent('register-addresses')} --cluster {name}"
    try:
        known = await _find_addresses(patient.clusters[name], place, stage)
    except ClusterError as error:
        return refusal(subject, check, error), ()
    if known is None:
        yt, other = patient.yt(name), _DIRECTORY.format(name)
        source = other if place == _CONNECTION else _CONNECTION
        detail = f"there is no {place}, so the masters of {name} do not know whom to ask"
        commands = [f"{yt} get {source} | {yt} set --recursive {place}", f"{register} --address {own}"]
        return Finding(subject, check, Grade.FAILURE, detail, commands=commands), ()
    if not known:
        detail = f"stage {stage} has none there, so @queue_status and its like cannot be answered"
        return Finding(subject, check, Grade.FAILURE, detail, commands=[f"{register} --address {own}"]), ()
    if own not in known and patient.config.rpc.port:
        detail = f"{', '.join(known)}, but not {own}, which is what this agent calls itself"
        # What is said takes the place of all that is there: those of the other agents have to be said again.
        everybody = " ".join(f"--address {address}" for address in [*known, own])
        advice = "unless one of them is another name of it; leave out agents that are no more"
        return Finding(subject, check, Grade.WARNING, detail, advice, [f"{register} {everybody}"]), known
    return Finding(subject, check, Grade.OK, ", ".join(known)), known


async def _find_addresses(cluster: YtCluster, place: str, stage: str) -> Sequence[str] | None:
    """The addresses of a stage, none if it has none there; None if there is no such place."""
    try:
        addresses = await cluster.get(f"{place}/queue_agent/stages/{stage}/addresses")
    except ObjectNotFound:
        pass
    else:
        return [str(address) for address in addresses]
    try:
        await cluster.get(place)
    except ObjectNotFound:
        return None
    return ()


async def _check_rpc(client: OrchidClient, address: str) -> Finding:
    subject = f"rpc {address}"
    try:
        service: Any = await client.get(address, ["service"], _RPC_SECONDS)
    except YtError as error:
        return Finding(
            subject,
            "reachability",
            Grade.FAILURE,
            f"no agent answers there: {error.message}",
            "start it, or take the address away with register-addresses; masters have to reach it by this name and port"
            " as well: look at DNS, rpc.advertised_host, and firewalls between them",
        )
    return Finding(subject, "reachability", Grade.OK, f"{service['name']} {service['version']} answers this machine")


async def _check_answer(patient: Patient, queue: CrossClusterRef) -> Finding:
    subject = f"master of {queue.cluster}"
    try:
        status: Any = await patient.clusters[queue.cluster].get(f"{queue.path}/@queue_status")
    except ClusterError as error:
        return Finding(
            subject,
            "answers",
            Grade.FAILURE,
            f"{queue.path}/@queue_status: {error}",
            "the master has to reach the addresses above; if this machine does, look at what is between it and them",
        )
    host = status.get("queue_agent_host", "an agent")
    return Finding(subject, "answers", Grade.OK, f"{queue.path}/@queue_status is answered by {host}")


def _message(error: Mapping[str, Any]) -> str:
    inner = error.get("inner_errors") or ()
    return " ".join([str(error["message"]), *(f"({_message(one)})" for one in inner)])
