"""Cost of passes over very many objects: nothing moves, a little, everything; next to what other ways would need."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.scale.probe import Probe
from benchmarks.scale.processes import ROOT, AgentProcess, StandInProcess, agent_process, stand_in_process
from benchmarks.scale.reference import measure_plain_loop, reference_requests
from benchmarks.scale.world import STILL, Load, Size

LOADS: Final = (STILL, Load(1), Load(1, scattered=True), Load(100))

SAMPLE: Final = 30
"""Queues that the plain loop asks about."""


@dataclass(frozen=True, slots=True)
class Options:
    """What is measured."""

    size: Size
    loads: Sequence[Load]

    seconds: float
    """For each load, at least."""

    scrape: float | None
    """Seconds from one scrape of the metrics to the next, if there are any."""


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
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each load is measured at least")
    parser.add_argument(
        "--loads",
        type=Load.parse,
        nargs="*",
        default=LOADS,
        help="percentages of partitions that move: all of some queues, or (1s) scattered over the queues",
    )
    parser.add_argument("--scrape", type=float, metavar="SECONDS", help="scrape the agent's metrics so often meanwhile")
    parser.add_argument("--baseline", type=Path, metavar="DIR", help="another checkout, whose agent is measured first")
    arguments = parser.parse_args()
    size = Size(queues=arguments.queues)
    print(f"{size.queues} queues x {size.partitions} partitions x {size.consumers} consumers")
    print(f"reference's protocol: {reference_requests(size)} requests a pass, whatever moves", flush=True)
    options = Options(size, arguments.loads, arguments.seconds, arguments.scrape)
    if arguments.baseline is None:
        await measure_agent(ROOT, options)
        return
    print(f"the agent of {arguments.baseline}:", flush=True)
    before = await measure_agent(arguments.baseline.resolve(), options)
    print("the agent of this checkout:", flush=True)
    now = await measure_agent(ROOT, options)
    for load in options.loads:
        print(f"{describe(load)}: {compare(before[load], now[load])}")


async def measure_agent(checkout: Path, options: Options) -> dict[Load, Cost]:
    """Run the agent of a checkout on a new stand-in, and print what it costs."""
    costs = {}
    with stand_in_process(options.size) as cluster:
        plain = measure_plain_loop(cluster.address, options.size, min(SAMPLE, options.size.queues))
        print(
            f"plain loop over ytsaurus-client: {plain.processor_seconds:.0f} s processor,"
            f" {plain.wall_seconds:.0f} s wall a pass, by a sample of {SAMPLE} queues",
            flush=True,
        )
        with agent_process(cluster.address, checkout) as agent:
            async with scraping(agent.http_address, options.scrape), Probe(agent.rpc_address, options.size) as probe:
                await probe.wait_for_passes(3)
                print(f"start: {agent.processor_seconds():.1f} s processor, {agent.resident_megabytes():.0f} MB")
                for load in options.loads:
                    cluster.move(load)
                    passes = min(count for _, count in await probe.pass_counts(load))
                    await probe.wait_for_passes(passes + 2, load)
                    costs[load] = cost = await measure(cluster, agent, probe, load, options.seconds)
                    report(load, cost, plain.processor_seconds)
    return costs


@asynccontextmanager
async def scraping(address: str, period: float | None) -> AsyncIterator[None]:
    """Somebody else asks for all metrics, as a Prometheus server does; without a period nobody."""

    async def scrape(seconds: float) -> None:
        while True:
            process = await asyncio.create_subprocess_exec(
                "curl", "-sS", "--compressed", "-o", "/dev/null", f"http://{address}/solomon/all"
            )
            await process.wait()
            await asyncio.sleep(seconds)

    async with asyncio.TaskGroup() as group:
        task = None if period is None else group.create_task(scrape(period))
        yield
        if task is not None:
            task.cancel()


async def measure(cluster: StandInProcess, agent: AgentProcess, probe: Probe, load: Load, seconds: float) -> Cost:
    """Everything as rates, for no two things can be read at the same moment."""
    loop = asyncio.get_running_loop()
    passes_before = await probe.pass_counts(load)
    before, requests_before, started = agent.processor_seconds(), cluster.requests(), loop.time()
    latencies: list[float] = []
    while True:
        latencies += await probe.latencies(seconds)
        processor, requests = agent.processor_seconds() - before, cluster.requests()
        elapsed = loop.time() - started
        passes = await probe.pass_counts(load)
        period = elapsed_per_pass(passes_before, passes)
        if period < elapsed:
            break
    per_pass = period / elapsed
    return Cost(
        processor_seconds=processor * per_pass,
        wall_seconds=period,
        requests={command: (count - requests_before.get(command, 0)) * per_pass for command, count in requests.items()},
        latencies=latencies,
        megabytes=agent.resident_megabytes(),
    )


def elapsed_per_pass(before: Sequence[tuple[float, int]], after: Sequence[tuple[float, int]]) -> float:
    """Seconds from one pass of an object to the next, by samples of (time, number of passes).

    That of the objects whose turn comes most rarely counts: a tenth of the samples, on average.
    """
    rates = sorted((late[1] - early[1]) / (late[0] - early[0]) for early, late in zip(before, after, strict=True))
    rarest = rates[: len(rates) // 10]
    return len(rarest) / sum(rarest) if any(rarest) else float("inf")


def describe(load: Load) -> str:
    spread = " scattered" if load.scattered else " in whole queues" if 0 < load.percent < 100 else ""
    return f"{load.percent:3} % moving{spread}"


def report(load: Load, cost: Cost, plain_seconds: float) -> None:
    p50, p99 = (latency(cost, part) for part in (0.5, 0.99))
    print(
        f"{describe(load)}: {cost.processor_seconds:.2f} s processor, {cost.wall_seconds:.2f} s wall a pass,"
        f" {plain_seconds / cost.processor_seconds:.0f} times less than the plain loop; {cost.megabytes:.0f} MB;"
        f" orchid p50 {p50 * 1e3:.1f} ms p99 {p99 * 1e3:.1f} ms ({len(cost.latencies)} asked)"
    )
    light = cost.requests.get("light", 0)
    requests = {command: round(count) for command, count in cost.requests.items() if command != "light" and count >= 1}
    print(f"     {sum(requests.values())} requests a pass: {requests}; {light:.0f} commands in batches", flush=True)


def latency(cost: Cost, part: float) -> float:
    """Seconds that this part of all questions took at most."""
    return sorted(cost.latencies)[int(len(cost.latencies) * part)]


def compare(before: Cost, now: Cost) -> str:
    """How many times as much each figure is now."""
    figures: Mapping[str, Callable[[Cost], float]] = {
        "processor": lambda cost: cost.processor_seconds,
        "memory": lambda cost: cost.megabytes,
        "orchid p99": lambda cost: latency(cost, 0.99),
        "requests": lambda cost: sum(count for command, count in cost.requests.items() if command != "light"),
    }
    return ", ".join(f"{name} {of(now) / of(before):.2f}" for name, of in figures.items()) + " times as before"


if __name__ == "__main__":
    asyncio.run(main())
