"""Every surface tells the same verdict: attributes through a master, HTTP API, metrics and the command line."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from typing import Any, Final

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from queue_agent.cli.register_addresses import register_addresses
from queue_agent.cli.statuses import fetch_overview
from queue_agent.config.agent import AgentConfig
from tests.component.running_agent import MovableClock, RunningAgent, User, eventually, running_agent
from yt_local.base.clock import Clock as ClusterClock
from yt_local.runner import LocalClusters

NAME: Final = "hume"
QUEUE: Final = "//tmp/q"
UNMOUNTED: Final = "//tmp/unmounted"
EXPECTED: Final = {
    (f"{NAME}://tmp/reads", f"{NAME}:{QUEUE}"): "ok",
    (f"{NAME}://tmp/new", f"{NAME}:{QUEUE}"): "not_started",
    (f"{NAME}://tmp/far", f"{NAME}:{QUEUE}"): "ahead",
    (f"{NAME}://tmp/slow", f"{NAME}:{QUEUE}"): "losing",
    (f"{NAME}://tmp/blind", f"{NAME}:{UNMOUNTED}"): "unreadable",
}

Told = Mapping[tuple[str, str], tuple[str, str | None, float | None]]
"""Verdict, sentence and since when, by consumer and queue."""


class Surfaces:
    """One agent, and all places where it tells of consumers."""

    def __init__(self, session: aiohttp.ClientSession, user: User, agent: RunningAgent) -> None:
        self._session = session
        self._user = user
        self._agent = agent

    async def read(self) -> dict[str, Told]:
        """By surface."""
        return {
            "consumer status": await self._statuses(),
            "consumer partitions": await self._partitions(),
            "registrations": await self._registrations(),
            "verdicts": await self._verdicts(),
            "metrics": await self._metrics(),
            "status --json": await self._overview(),
        }

    async def _statuses(self) -> Told:
        found = {}
        for consumer, queue in EXPECTED:
            status = await self._attribute(consumer, "queue_consumer_status")
            found[consumer, queue] = _told(status["queues"][queue])
        return found

    async def _partitions(self) -> Told:
        found = {}
        for consumer, queue in EXPECTED:
            partitions = (await self._attribute(consumer, "queue_consumer_partitions"))[queue]
            if partitions:  # of a queue that cannot be read there are none
                found[consumer, queue] = _told(partitions[0])
        return found

    async def _registrations(self) -> Told:
        found = {}
        for queue in {queue for _, queue in EXPECTED}:
            for one in (await self._attribute(queue, "queue_status"))["registrations"]:
                found[one["consumer"], queue] = (one["verdict"], one["reason"], None)
        return found

    async def _verdicts(self) -> Told:
        _, answer = await self._agent.get("/api/v1/verdicts")
        return {(one["consumer"], one["queue"]): _told(one) for one in answer["verdicts"]}

    async def _metrics(self) -> Told:
        async with self._session.get(f"{self._agent.origin}/metrics") as response:
            page = await response.text()
        words: dict[tuple[str, str], str] = {}
        since: dict[tuple[str, str], float] = {}
        for family in text_string_to_metric_families(page):
            for sample in family.samples:
                labels = sample.labels
                if sample.name not in (
                    "queue_agent_consumer_verdict",
                    "queue_agent_consumer_verdict_since_timestamp_seconds",
                ):
                    continue
                key = (
                    f"{labels['consumer_cluster']}:{labels['consumer_path']}",
                    f"{labels['queue_cluster']}:{labels['queue_path']}",
                )
                if "verdict" in labels:
                    assert key not in words, "one verdict at a time"
                    words[key] = labels["verdict"]
                else:
                    since[key] = sample.value
        return {key: (word, None, since[key]) for key, word in words.items()}

    async def _overview(self) -> Told:
        overview = await fetch_overview([self._agent.origin])
        return {
            (f"{one['cluster']}:{one['path']}", position["queue"]): _told(position)
            for one in overview.to_map()["consumers"]
            for position in one["overview"]
        }

    async def _attribute(self, ref: str, name: str) -> Any:
        return (await self._user.run("get", path=f"{ref.removeprefix(NAME + ':')}/@{name}"))["value"]


def _told(one: Mapping[str, Any]) -> tuple[str, str | None, float | None]:
    return one["verdict"], one["reason"], datetime.fromisoformat(one["verdict_since"]).timestamp()


def disagreements(surfaces: Mapping[str, Told]) -> list[str]:
    """What a surface tells that differs from what the consumer's own status tells, or from what is expected."""
    found = []
    for surface, told in surfaces.items():
        for key, word in EXPECTED.items():
            one, own = told.get(key), surfaces["consumer status"][key]
            if one is None and (surface, word) == ("consumer partitions", "unreadable"):
                continue
            if one is None or one[0] != word:
                found.append(f"{surface}: {key}: {one}, expected {word}")
            elif surface != "consumer partitions" and one[1] not in (None, own[1]):
                found.append(f"{surface}: {key}: {one[1]!r}, and its status says {own[1]!r}")
            elif one[2] is not None and own[2] is not None and abs(one[2] - own[2]) > 1e-3:
                found.append(f"{surface}: {key}: since {one[2]}, and its status says {own[2]}")
    return found


@pytest.fixture
async def surfaces() -> AsyncIterator[Surfaces]:
    clock = MovableClock()
    async with AsyncExitStack() as stack:
        time = ClusterClock(lambda: clock.now().timestamp())
        clusters = await stack.enter_async_context(LocalClusters({NAME: 0}, clock=time))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        user = User(session, NAME, clusters.addresses[NAME])
        await user.create_queue(QUEUE)
        await user.create_queue(UNMOUNTED)
        rows: list[Mapping[str, Any]] = [{"$tablet_index": 0, "data": "x"}]
        for consumer, queue in EXPECTED:
            await user.create_consumer(consumer.removeprefix(NAME + ":"), queue.removeprefix(NAME + ":"), vital=False)
        agent = await stack.enter_async_context(running_agent(session, clusters.addresses, clock=clock))
        config = AgentConfig.model_validate(
            {
                "stage": "production",
                "clusters": {NAME: {"proxy": clusters.addresses[NAME], "discover_proxies": False}},
                "state": {"cluster": NAME},
            }
        )
        await register_addresses(config, [agent.rpc_address], (), False, lambda line: None)

        async def polled(consumer: str, offset: int) -> None:
            """The agent has seen the offset, so that it knows how much is read at once."""
            await user.advance(consumer, QUEUE, 0, offset)

            async def seen() -> Any:
                document = await agent.find_consumer(NAME, consumer)
                partitions = (document or {}).get("partitions") or {}
                return [one.get("next_row_index") for one in partitions.get(f"{NAME}:{QUEUE}", ())]

            await eventually(seen, lambda found: found == [offset])

        for index in range(1, 4):
            await user.insert(QUEUE, rows)
            await polled("//tmp/slow", index)
        await user.insert(QUEUE, rows * 97)
        await polled("//tmp/reads", 100)
        await polled("//tmp/far", 150)
        await user.run("unmount_table", path=UNMOUNTED)
        clock.offset += timedelta(seconds=61)

        async def is_ahead() -> Any:
            return (await agent.get("/api/v1/verdicts?verdict=ahead"))[1]["total"]

        await eventually(is_ahead, bool)
        await user.run("trim_rows", path=QUEUE, tablet_index=0, trimmed_row_count=90)
        yield Surfaces(session, user, agent)


async def test_all_surfaces_tell_one_verdict_since_one_instant_in_one_sentence(surfaces: Surfaces) -> None:
    async def differing() -> Any:
        return {"differs": disagreements(await surfaces.read())}

    await eventually(differing, lambda found: not found["differs"])


async def test_a_misspelt_key_of_a_queue_is_told_by_its_status_and_by_the_alerts(surfaces: Surfaces) -> None:
    await surfaces._user.set(f"{QUEUE}/@auto_trim_config", {"enabl": True})
    words = '@auto_trim_config/enabl (did you mean "enable"?)'

    async def told() -> Any:
        status = await surfaces._attribute(f"{NAME}:{QUEUE}", "queue_status")
        _, answer = await surfaces._agent.get("/api/v1/alerts")
        return [words in str(status["alerts"]), words in str(answer["alerts"])]

    await eventually(told, lambda found: found == [True, True])
