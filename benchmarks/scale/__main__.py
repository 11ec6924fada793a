"""Cost of passes over very many objects: nothing moves, a little, everything; next to what other ways would need."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Final

from benchmarks.scale.probe import Probe
from benchmarks.scale.processes import AgentProcess, StandInProcess, agent_process, stand_in_process
from benchmarks.scale.world import Size

MOVING: Final = (0, 1, 100)
"""Percentages of partitions."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one pass over all objects."""

    processor_seconds: float
    wall_seconds: float
    requests: Mapping[str, float]
    latencies: Sequence[float]
    megabytes: float


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queues", type=int, default=Size().queues)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each way is measured at least")
    parser.add_argument("--moving", type=int, nargs="*", default=MOVING)
    arguments = parser.parse_args()
    size = Size(queues=arguments.queues)
    with stand_in_process(size) as cluster, agent_process(cluster.address) as agent:
        async with Probe(agent.rpc_address, size) as probe:
            print("started", flush=True)
            await probe.wait_for_passes(3)
            print(f"ready: {agent.processor_seconds():.1f} s of processor time, {agent.resident_megabytes():.0f} MB")
            for percent in arguments.moving:
                cluster.move(percent)
                passes = min(await probe.pass_counts())
                await probe.wait_for_passes(passes + 2)
                cost = await measure(cluster, agent, probe, arguments.seconds)
                report(percent, cost)


async def measure(cluster: StandInProcess, agent: AgentProcess, probe: Probe, seconds: float) -> Cost:
    loop = asyncio.get_running_loop()
    requests_before = cluster.requests()
    passes_before = mean(await probe.pass_counts())
    before, started = agent.processor_seconds(), loop.time()
    latencies: list[float] = []
    while True:
        latencies += await probe.latencies(seconds)
        passes = mean(await probe.pass_counts()) - passes_before
        if passes >= 1:
            break
    wall, processor = loop.time() - started, agent.processor_seconds() - before
    requests = {
        command: (count - requests_before.get(command, 0)) / passes for command, count in cluster.requests().items()
    }
    return Cost(processor / passes, wall / passes, requests, latencies, agent.resident_megabytes())


def report(percent: int, cost: Cost) -> None:
    ordered = sorted(cost.latencies)
    p50, p99 = (ordered[int(len(ordered) * part)] for part in (0.5, 0.99))
    print(
        f"{percent:3} % moving: {cost.processor_seconds:.2f} s processor, {cost.wall_seconds:.2f} s wall per pass,"
        f" {cost.megabytes:.0f} MB, orchid p50 {p50 * 1e3:.1f} ms p99 {p99 * 1e3:.1f} ms ({len(ordered)} asked)"
    )
    print("    ", {command: round(count, 1) for command, count in cost.requests.items() if count >= 0.05}, flush=True)


if __name__ == "__main__":
    asyncio.run(main())
