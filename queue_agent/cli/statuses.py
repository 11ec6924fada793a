"""What agents say of themselves, of their queues and of their consumers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from queue_agent.cli import words
from queue_agent.cli.addresses import keys_path
from queue_agent.cli.agent_api import LONGEST_SECONDS, AgentApi, object_path
from queue_agent.cli.errors import CommandError
from queue_agent.cli.names import KINDS, guess
from queue_agent.cli.plain import plain
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.values import Verdict

Document = Mapping[str, Any]

_PAGE_SIZE: Final = 100
"""Figures of so many objects are made in one go; an agent has other things to do, too."""

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

    missing: Sequence[str] = ()
    """Agents of whom nothing is here, with the reason, in words."""

    def to_map(self) -> dict[str, Any]:
        """As `--json` shows it."""
        return {
            "agents": list(self.agents),
            "queues": list(self.queues),
            "consumers": list(self.consumers),
            "missing": list(self.missing),
        }

    def plain(self) -> Overview:
        """The same for terminals; see `plain`."""
        return Overview(plain(self.agents), plain(self.queues), plain(self.consumers))

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
            self.missing,
        )


async def fetch_overview(addresses: Sequence[str], seconds: float = LONGEST_SECONDS) -> Overview:
    """Ask some agents; of an object that several know, the one that leads it is believed.

    Args:
        addresses: of agents.
        seconds: for each answer.

    Raises:
        CommandError: one cannot be asked.
    """
    agents: list[Document] = []
    queues: dict[str, Document] = {}
    consumers: dict[str, Document] = {}
    missing: set[str] = set()
    for address in addresses:
        async with AgentApi(address, seconds) as api:
            agents.append(await _fetch_agent(api))
            for kind, known in (("queues", queues), ("consumers", consumers)):
                for one in await _fetch_all(api, kind, missing):
                    key = name_of(one)
                    if key not in known or one["role"] == "leading":
                        known[key] = one
    return Overview(
        agents,
        [queues[key] for key in sorted(queues)],
        [consumers[key] for key in sorted(consumers)],
        sorted(missing),
    )


async def fetch_object(
    addresses: Sequence[str], ref: CrossClusterRef, seconds: float = LONGEST_SECONDS
) -> tuple[str, Document]:
    """What the first agent says that knows a queue or consumer.

    Args:
        addresses: of agents.
        ref: the queue or consumer.
        seconds: for each answer.

    Returns:
        `queue` or `consumer`, and the agent's document.

    Raises:
        CommandError: none knows it, or one cannot be asked.
    """
    for address in addresses:
        async with AgentApi(address, seconds) as api:
            for kind in ("queue", "consumer"):
                document = await api.find(object_path(f"{kind}s", ref))
                if document is not None:
                    return kind, document
    hint = await guess(ref, addresses)
    raise CommandError(f"{ref} is no queue and no consumer that {' or '.join(addresses)} knows of{hint}")


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
        *([f"{failed} of {figures['partition_count']} partitions cannot be read"] if failed else []),
        *unreadable,
        *([f"{failing} of {figures['consumer_count']} consumers have errors"] if failing else []),
        *(f"alert {alert}" for alert in figures.get("alerts", ())),
        *([figures["account_full_soon"]] if figures.get("account_full_soon") else []),
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
        problems.append(f"{failed} of {position['partition_count']} partitions cannot be read")
    return problems + ([price_words(position["price"])] if position.get("price") else [])


def price_words(price: Document) -> str:
    """What a vital consumer that does not read costs its queue, in words."""
    size, growth = price["held_data_weight"], price["growth_data_weight_per_day"]
    bytes_held = "" if size is None else f" ({words.amount(size)})"
    more = words.rows(price["growth_rows_per_day"]) if growth is None else words.amount(growth)
    dead = "seems dead and " if price["dead"] else ""
    others = f"; {', '.join(price['also_held_by'])} too, and does not read either" if price.get("also_held_by") else ""
    return f"{dead}holds {words.rows(price['held_row_count'])}{bytes_held} of the queue, {more} more each day{others}"


def innermost(error: Document) -> str:
    """An error's message, and the one most deeply inside, which tends to say why."""
    inner = error
    while inner.get("inner_errors"):
        inner = inner["inner_errors"][0]
    message, cause = str(error["message"]), str(inner["message"])
    return message if inner is error or cause in message else f"{message}: {cause}"


async def _fetch_agent(api: AgentApi) -> Document:
    _, service = await api.request("GET", "/orchid/service")
    if not isinstance(service, dict) or "version" not in service:
        raise CommandError(f"{api.address} does not answer like an agent")
    ready, _ = await api.request("GET", "/health/ready")
    stage_keys = {kind: len(await api.get(keys_path(kind))) for kind in KINDS}
    return {
        "address": api.address,
        "version": service["version"],
        "start_time": service["start_time"],
        "ready": ready == HTTPStatus.OK,
        "alerts": await api.get("/orchid/alerts"),
        "stage_queue_count": stage_keys["queues"],
        "stage_consumer_count": stage_keys["consumers"],
    }


async def _fetch_all(api: AgentApi, kind: str, missing: set[str]) -> list[Document]:
    """All pages of a list; adds agents of whom they say nothing."""
    found: list[Document] = []
    after = ""
    while True:
        page = await api.get(f"/api/v1/{kind}?overview=true&limit={_PAGE_SIZE}{after}")
        found += page[kind]
        missing |= {_tell_missing(one) for one in page.get("missing", ())}
        if page["next"] is None:
            return found
        after = f"&after={quote(page['next'], safe='')}"


def _tell_missing(one: Document) -> str:
    subject = "the stage" if one["agent"] is None else f"agent {one['agent']}"
    objects = f" ({one['objects']} tables)" if one["objects"] else ""
    return f"{subject}: {one['reason']}{objects}"
