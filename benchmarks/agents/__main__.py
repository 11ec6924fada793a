"""Several agents share very many queues: processor time of each, and how long it takes until all is shared out."""

from __future__ import annotations

import argparse
import asyncio
import time
from contextlib import AsyncExitStack

from benchmarks.scale.probe import Probe
from benchmarks.scale.processes import AgentProcess, agent_process, stand_in_process
from benchmarks.scale.world import Load, Size
from yt_wire.error import YtError

LOAD = Load(1)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queues", type=int, default=Size().queues)
    parser.add_argument(
        "--agents", type=int, nargs="*", default=(1, 2, 4), help="how many; more come to those there are"
    )
    parser.add_argument("--partitions", type=int, default=1)
    parser.add_argument("--consumers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10.0, help="how long the agents are measured")
    arguments = parser.parse_args()
    size = Size(queues=arguments.queues, partitions=arguments.partitions, consumers=arguments.consumers)
    print(f"{size.queues} queues x {size.partitions} partitions x {size.consumers} consumers, {LOAD.percent} % moving")
    with stand_in_process(size) as cluster:
        async with AsyncExitStack() as stack:
            agents: list[AgentProcess] = []
            probes: list[Probe] = []
            for count in arguments.agents:
                started = time.monotonic()
                while len(agents) < count:
                    agents.append(stack.enter_context(agent_process(cluster.address)))
                    probes.append(await stack.enter_async_context(Probe(agents[-1].rpc_address, size)))
                led = await balanced(probes, size)
                seconds = time.monotonic() - started
                cluster.move(LOAD)
                print(f"{count} agents: shared out and looked at {seconds:.1f} s after the last was started, {led}")
                await report(agents, arguments.seconds)


async def balanced(probes: list[Probe], size: Size) -> list[int]:
    """Wait until every agent leads its share, and has looked at it; how many queues each leads."""
    while True:
        try:
            led = [await probe.led_count() for probe in probes]
            is_shared = sum(led) == size.queues and all(count > size.queues / len(probes) / 2 for count in led)
            if is_shared and not any([await _unseen(probe) for probe in probes]):
                return led
        except YtError:
            pass  # an agent is not up yet
        await asyncio.sleep(0.1)


async def _unseen(probe: Probe) -> int:
    """Objects that an agent has not looked at yet."""
    errors = await probe.get("queue_agent", "controller_info", "erroneous_objects")
    return int(errors["queue_count"]) + int(errors["consumer_count"])


async def report(agents: list[AgentProcess], seconds: float) -> None:
    before = [agent.processor_seconds() for agent in agents]
    started = time.monotonic()
    await asyncio.sleep(seconds)
    elapsed = time.monotonic() - started
    used = [(agent.processor_seconds() - earlier) / elapsed for agent, earlier in zip(agents, before, strict=True)]
    each = ", ".join(f"{one:.2f}" for one in used)
    megabytes = ", ".join(f"{agent.resident_megabytes():.0f}" for agent in agents)
    print(f"     processor time of each: {each} s a second; memory {megabytes} MB", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
