"""Processor time of `get_tablet_infos`: the agent's client against ytsaurus-client, on one cluster."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

import yt.wrapper

from benchmarks.cluster_process import NAME, ClusterProcess, cluster_process
from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.adapters.cluster.yt_http import YtHttp
from queue_agent.config.clusters import ClusterConfig

QUEUE_COUNT: Final = 100
ROUNDS: Final = 9
REQUESTS: Final = 200
"""In a round, of each way that asks about one queue at a time."""

BATCHES: Final = 20
"""In a round, of each way that asks about all queues at once."""

SCHEMA: Final = [
    {"name": "data", "type": "string"},
    {"name": "$timestamp", "type": "uint64"},
    {"name": "$cumulative_data_weight", "type": "int64"},
]

Ask = Callable[[Sequence[str]], Awaitable[int]]
"""Asks about these queues and says how many rows they have."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to ask; `ask` gets the paths of one call."""

    name: str
    ask: Ask
    at_once: bool = False
    """All queues in one call, instead of one."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds of processor time for one queue."""

    client: float
    cluster: float


async def main() -> None:
    with cluster_process() as process:
        client = yt.wrapper.YtClient(proxy=process.address)
        paths = create_queues(client)
        config = ClusterConfig(proxy=process.address)
        async with YtHttp(NAME, config) as http, YtCluster(NAME, config) as cluster:
            ways = all_ways(client, http, cluster)
            costs: dict[str, list[Cost]] = {way.name: [] for way in ways}
            for way in ways:
                await measure(process, way, paths)  # connections, caches
            for _ in range(ROUNDS):
                # Turn by turn, so that what else the machine does falls on all of them.
                for way in ways:
                    costs[way.name].append(await measure(process, way, paths))
    report(costs)


def create_queues(client: Any) -> Sequence[str]:
    paths = [f"//tmp/queue-{index}" for index in range(QUEUE_COUNT)]
    for path in paths:
        client.create("table", path, attributes={"dynamic": True, "schema": SCHEMA})
        client.mount_table(path)
        client.insert_rows(path, [{"data": "a row"}])
    return paths


def all_ways(client: Any, http: YtHttp, cluster: YtCluster) -> Sequence[Way]:
    """The first one is the baseline."""

    async def ask_client(paths: Sequence[str]) -> int:
        return sum(client.get_tablet_infos(path, [0])["tablets"][0]["total_row_count"] for path in paths)

    async def ask_client_batch(paths: Sequence[str]) -> int:
        batch = client.create_batch_client()
        answers = [batch.get_tablet_infos(path, [0]) for path in paths]
        batch.commit_batch()
        return sum(answer.get_result()["tablets"][0]["total_row_count"] for answer in answers)

    async def ask_http(paths: Sequence[str]) -> int:
        [path] = paths
        request = {"command": "get_tablet_infos", "parameters": {"path": path, "tablet_indexes": [0]}}
        answer = await http.call("execute_batch", {"requests": [request]})
        return int(answer["results"][0]["output"]["tablets"][0]["total_row_count"])

    async def ask_cluster(paths: Sequence[str]) -> int:
        [path] = paths
        return (await cluster.get_tablet_infos(path, [0]))[0].total_row_count

    async def ask_cluster_at_once(paths: Sequence[str]) -> int:
        async with asyncio.TaskGroup() as group:
            answers = [group.create_task(cluster.get_tablet_infos(path, [0])) for path in paths]
        return sum(answer.result()[0].total_row_count for answer in answers)

    return [
        Way("ytsaurus-client, one at a time", ask_client),
        Way("agent, one at a time, no batching", ask_http),
        Way("agent, one at a time", ask_cluster),
        Way(f"ytsaurus-client, batch of {QUEUE_COUNT}", ask_client_batch, at_once=True),
        Way(f"agent, {QUEUE_COUNT} at once", ask_cluster_at_once, at_once=True),
    ]


async def measure(process: ClusterProcess, way: Way, paths: Sequence[str]) -> Cost:
    calls = [paths] * BATCHES if way.at_once else [[paths[index % QUEUE_COUNT]] for index in range(REQUESTS)]
    count = sum(map(len, calls))
    cluster_before = process.processor_seconds()
    before = time.process_time()
    row_count = 0
    for call in calls:
        row_count += await way.ask(call)
    client = time.process_time() - before
    cluster = process.processor_seconds() - cluster_before
    assert row_count == count, "every queue has one row"
    return Cost(client / count * 1e3, cluster / count * 1e3)


def report(costs: dict[str, list[Cost]]) -> None:
    baseline_name, baseline = next(iter(costs.items()))
    print(f"Processor time of get_tablet_infos for one queue, in ms; medians of {ROUNDS} rounds")
    print(f"Baseline of the ratios: {baseline_name}\n")
    print(f"{'':36}{'client':>9}{'ratio':>9}{'cluster':>9}")
    for name, rounds in costs.items():
        ratio = median(base.client / cost.client for base, cost in zip(baseline, rounds, strict=True))
        client = median(cost.client for cost in rounds)
        cluster = median(cost.cluster for cost in rounds)
        print(f"{name:36}{client:9.3f}{ratio:8.1f}x{cluster:9.3f}")


if __name__ == "__main__":
    asyncio.run(main())
