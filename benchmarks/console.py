"""What the console costs with very many queues: until the overview can be used, traffic, and the agent's processor."""

from __future__ import annotations

import argparse
import asyncio
import gzip
import re
import statistics
from typing import Any, Final

import aiohttp

from benchmarks.scale.probe import Probe
from benchmarks.scale.processes import AgentProcess, agent_process, stand_in_process
from benchmarks.scale.world import Load, Size
from tests.examples.browser import browsing
from yt_wire import json_text

OVERVIEW: Final = "/api/v1/overview"
OPENINGS: Final = 5
SERIES: Final = re.compile(
    r'^queue_agent_pass_duration_seconds_(sum|count)\{[^}]*kind="time_series"[^}]*\} (\S+)$', re.M
)

_USABLE: Final = """
return new Promise((resolve) => {
    const look = () => {
        if (document.querySelector("section[aria-labelledby=queues] tbody td a")) resolve(performance.now() / 1000);
        else requestAnimationFrame(look);
    };
    look();
});
"""


class Viewer:
    """A page's side of the overview: it asks for what is new as soon as it has got the last."""

    def __init__(self, session: aiohttp.ClientSession, origin: str) -> None:
        self._session = session
        self._origin = origin
        self._since: int | None = None
        self.received = 0
        """Bytes, compressed as they travel."""

        self.first = 0
        """Bytes of the whole overview."""

    async def look(self) -> None:
        """One question, and its answer."""
        asked = "" if self._since is None else f"?since={self._since}"
        async with self._session.get(self._origin + OVERVIEW + asked) as response:
            body = await response.read()
        if self._since is None:
            self.first = len(body)
        else:
            self.received += len(body)
        self._since = int(_plain(body)["version"])

    async def follow(self) -> None:
        """Until cancelled."""
        while True:
            await self.look()


def _plain(body: bytes) -> Any:
    return json_text.loads(gzip.decompress(body))


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queues", type=int, default=Size().queues)
    parser.add_argument("--viewers", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long viewers look on")
    parser.add_argument(
        "--loads", type=Load.parse, nargs="*", default=[Load(1), Load(10)], help="percentages that move"
    )
    arguments = parser.parse_args()
    size = Size(queues=arguments.queues, consumers=1)
    with stand_in_process(size) as cluster, agent_process(cluster.address) as agent:
        async with Probe(agent.rpc_address, size) as probe:
            await probe.wait_for_passes(3)
        origin = f"http://{agent.http_address}"
        print(f"{size.queues} queues x {size.partitions} partitions, {size.consumers} consumer each", flush=True)
        for load in arguments.loads:
            cluster.move(load)
            await asyncio.sleep(10)
            await measure(agent, origin, load, arguments.viewers, arguments.seconds)
        print(await tell_series(origin), flush=True)
        print(f"agent: {agent.resident_megabytes():.0f} MB")


async def measure(agent: AgentProcess, origin: str, load: Load, viewers: int, seconds: float) -> None:
    """Print the figures of one load; what the agent does without viewers is not theirs."""
    alone = await _processor_share(agent, seconds)
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        some = [Viewer(session, origin) for _ in range(viewers)]
        for viewer in some:
            await viewer.look()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(viewer.follow()) for viewer in some]
            watched = await _processor_share(agent, seconds)
            for task in tasks:
                task.cancel()
    usable = await _seconds_until_usable(origin)
    traffic = statistics.mean(viewer.received for viewer in some) / seconds / 1000
    print(
        f"{load.percent} % moving: usable after {statistics.median(usable):.2f} s"
        f" (from {min(usable):.2f} to {max(usable):.2f});"
        f" first answer {some[0].first / 1000:.0f} kB, then {traffic:.1f} kB/s a viewer;"
        f" {viewers} viewers take {100 * (watched - alone):.1f} % of a core"
        f" ({100 * alone:.0f} % without, {100 * watched:.0f} % with)",
        flush=True,
    )


async def _processor_share(agent: AgentProcess, seconds: float) -> float:
    """Cores the agent uses."""
    loop = asyncio.get_running_loop()
    before, started = agent.processor_seconds(), loop.time()
    await asyncio.sleep(seconds)
    return (agent.processor_seconds() - before) / (loop.time() - started)


async def _seconds_until_usable(origin: str) -> list[float]:
    async with browsing() as browser:
        found = []
        for _ in range(OPENINGS):
            await browser.open(origin + "/")
            found.append(float(await browser.run(_USABLE)))
        return found


async def tell_series(origin: str) -> str:
    """Passes that keep the series: each rests nine times as long as it works."""
    async with aiohttp.ClientSession() as session, session.get(f"{origin}/metrics") as response:
        found = dict(SERIES.findall(await response.text()))
    count = float(found.get("count", 0))
    if not count:
        return "series: no pass yet"
    seconds = float(found["sum"]) / count
    return f"series: a pass a minute of {seconds:.1f} s, a tenth of it work: {100 * seconds / 10 / 60:.2f} % of a core"


if __name__ == "__main__":
    asyncio.run(main())
