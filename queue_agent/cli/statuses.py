"""What agents say of themselves, of their queues and of their consumers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from queue_agent.cli.agent_api import AgentApi, object_path
from queue_agent.cli.errors import CommandError
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.values import Verdict

Document = Mapping[str, Any]

_PAGE_SIZE: Final = 100
"""Figures of so many objects are made in one go; an agent has other things to do, too."""

_PROMPT_SECONDS: Final = 2.0

_PROBLEMS: Final = ("red", "amber")
"""Colors of verdicts that somebody should look at."""


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything some agents serve."""

    agents: Sequence[Document]
    """Address, version, readiness, alerts."""

    queues: Sequence[Document]
    """Of the list an agent serves, with their figures; in order of their references."""

    consumers: Sequence[Document]

    def to_map(self) -> dict[str, Any]:
        """As `--json` shows it."""
        return {"agents": list(self.agents), "queues": list(self.queues), "consumers": list(self.consumers)}

    @property
    def is_empty(self) -> bool:
        """Whether there is no queue and no consumer."""
        return not self.queues and not self.consumers

    def only_problems(self) -> Overview:
        """The same without queues and consumers with whom all is well."""
        return Overview(
            self.agents,
            [one for one in self.queues if queue_problems(one)],
            [one for one in self.consumers if consumer_problems(one)],
        )


async def fetch_overview(addresses: Sequence[str]) -> Overview:
    """Ask some agents; of an object that several know, the one that leads it is believed.

    Raises:
        CommandError: one can not be asked.
    """
    agents: list[Document] = []
    queues: dict[str, Document] = {}
    consumers: dict[str, Document] = {}
    for address in addresses:
        async with AgentApi(address) as api:
            agents.append(await _fetch_agent(api))
            for kind, known in (("queues", queues), ("consumers", consumers)):
                for one in await _fetch_all(api, kind):
                    key = name_of(one)
                    if key not in known or one["role"] == "leading":
                        known[key] = one
    return Overview(agents, [queues[key] for key in sorted(queues)], [consumers[key] for key in sorted(consumers)])


async def fetch_object(addresses: Sequence[str], ref: CrossClusterRef) -> tuple[str, Document]:
    """What the first agent says that knows a queue or consumer.

    Returns:
        `queue` or `consumer`, and the agent's document.

    Raises:
        CommandError: none knows it, or one can not be asked.
    """
    for address in addresses:
        async with AgentApi(address) as api:
            for kind in ("queue", "consumer"):
                document = await api.find(object_path(f"{kind}s", ref))
                if document is not None:
                    return kind, document
    raise CommandError(f"{ref} is no queue and no consumer that {' or '.join(addresses)} knows of")


async def fetch_names(address: str) -> Sequence[str]:
    """References of queues and consumers an agent serves, at once or not at all: somebody waits at a prompt."""
    async with AgentApi(address, _PROMPT_SECONDS) as api:
        return sorted({str(name) for kind in ("queues", "consumers") for name in await api.get(_keys_path(kind))})


def name_of(one: Document) -> str:
    """How people call an object of a list."""
    return str(CrossClusterRef(one["cluster"], one["path"], one.get("name", "")))


def queue_problems(queue: Document) -> list[str]:
    """What is wrong with a queue of a list, in words; empty if all is well."""
    if queue["error"] is not None:
        return [innermost(queue["error"])]
    figures = queue["overview"] or {}
    failed, failing = figures.get("failed_partition_count", 0), figures.get("failing_consumer_count", 0)
    unreadable = figures.get("unreadable_consumers", ())
    failing -= len(unreadable)
    return [
        *([f"{failed} of {figures['partition_count']} partitions can not be read"] if failed else []),
        *unreadable,
        *([f"{failing} of {figures['consumer_count']} consumers have errors"] if failing else []),
        *(f"alert {alert}" for alert in figures.get("alerts", ())),
    ]


def consumer_problems(consumer: Document) -> list[str]:
    """What is wrong with a consumer of a list, in words; empty if all is well."""
    if consumer["error"] is not None:
        return [innermost(consumer["error"])]
    return [
        f"{position['queue']}: {problem}"
        for position in consumer["overview"] or ()
        for problem in position_problems(position)
    ]


def position_problems(position: Document) -> list[str]:
    """What is wrong with a consumer in one of its queues, and what to do."""
    verdict = Verdict(position["verdict"])
    failed = position.get("failed_partition_count", 0)
    problems: list[str] = []
    if verdict.color in _PROBLEMS:
        sentence = str(position["reason"] or verdict.value)
        problems.append(f"{sentence}. Do: {position['action']}" if position.get("action") else sentence)
    elif position["error"] is not None:
        problems.append(innermost(position["error"]))
    if failed:
        problems.append(f"{failed} of {position['partition_count']} partitions can not be read")
    return problems


def innermost(error: Document) -> str:
    """An error's message, and the one most deeply inside, which tends to say why."""
    inner = error
    while inner.get("inner_errors"):
        inner = inner["inner_errors"][0]
    message, cause = str(error["message"]), str(inner["message"])
    return message if inner is error or cause in message else f"{message}: {cause}"


async def _fetch_agent(api: AgentApi) -> Document:
    status, service = await api.request("GET", "/orchid/service")
    if not isinstance(service, dict) or "version" not in service:
        raise CommandError(f"{api.address} does not answer like an agent")
    stage_keys = {kind: len(await api.get(_keys_path(kind))) for kind in ("queues", "consumers")}
    return {
        "address": api.address,
        "version": service["version"],
        "start_time": service["start_time"],
        "ready": status == 200,
        "alerts": await api.get("/orchid/alerts"),
        "stage_queue_count": stage_keys["queues"],
        "stage_consumer_count": stage_keys["consumers"],
    }


def _keys_path(kind: str) -> str:
    """Where an agent lists what its stage has, whichever agent leads it."""
    return f"/orchid/queue_agent/{kind}?verb=list"


async def _fetch_all(api: AgentApi, kind: str) -> list[Document]:
    """All pages of a list."""
    found: list[Document] = []
    after = ""
    while True:
        page = await api.get(f"/api/v1/{kind}?overview=true&limit={_PAGE_SIZE}{after}")
        found += page[kind]
        if page["next"] is None:
            return found
        after = f"&after={quote(page['next'], safe='')}"
