"""Two clusters in a process of their own, and agents whose wires to them are cut, slow, lossy and repetitive."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp

from tests.attack.account import Trim
from tests.component.faulty_proxy import FaultyProxy, Kind
from tests.component.running_agent import User
from tests.e2e.agent_processes import AgentProcess
from tests.e2e.cut_wire import CutWire
from tests.e2e.playground import CLUSTERS, Playground

LEASE: Final = 6.0
AGENT_COUNT: Final = 2

_REQUEST_MILLISECONDS: Final = 2000
_FAULT_SECONDS: Final = (0.3, 2.0)
_COMMANDS: Final = ("", "", "trim_rows", "execute_batch", "select_rows", "get", "commit_transaction")
_KINDS: Final = (Kind.SLOW, Kind.ERROR, Kind.HALF, Kind.CLOSED, Kind.SILENT, Kind.LOST, Kind.DOUBLED)


class Stage:
    """The clusters and the agents.

    Args:
        session: for the driver, which has wires of its own.
        addresses: `host:port` of the clusters by name.
        randomness: of all faults.
    """

    def __init__(self, session: aiohttp.ClientSession, addresses: Mapping[str, str], randomness: random.Random) -> None:
        self.session = session
        self.addresses = addresses
        self.users = {name: User(session, name, address) for name, address in addresses.items()}
        self.agents: list[AgentProcess] = []
        self.proxies: list[FaultyProxy] = []
        self.wires: list[CutWire] = []
        self.deaths = 0
        self.freezes = 0
        self.cuts = 0
        self._randomness = randomness
        self._seen: set[tuple[str, float]] = set()

    @property
    def faulty_requests(self) -> int:
        return sum(proxy.hits for proxy in self.proxies)

    def start_agents(self) -> None:
        for agent in self.agents:
            agent.start()

    async def new_trims(self) -> list[Trim]:
        """Those of agents that have ended well since the last question."""
        found: list[Trim] = []
        users = {agent.user for agent in self.agents}
        for name, address in self.addresses.items():
            async with self.session.get(f"http://{address}/test/requests?command=trim_rows") as response:
                requests = await response.json()
            for request in requests:
                key = name, request["started"]
                if request["finished"] is None or key in self._seen:
                    continue
                self._seen.add(key)
                parameters = request["parameters"]
                if request["error_code"] == 0 and request["user"] in users:
                    found.append(
                        Trim(
                            request["user"],
                            parameters["path"].removeprefix("#"),
                            int(parameters["tablet_index"]),
                            int(parameters["trimmed_row_count"]),
                            request["started"],
                            request["finished"],
                        )
                    )
        return sorted(found, key=lambda trim: trim.started)

    async def spoil_wires(self, stop: asyncio.Event) -> None:
        """Have requests of some kind go wrong for a moment, again and again."""
        choose = self._randomness
        while not stop.is_set():
            proxy, kind, command = choose.choice(self.proxies), choose.choice(_KINDS), choose.choice(_COMMANDS)
            async with proxy.fault(kind, command=command, seconds=choose.uniform(0.2, 1.5)):
                await asyncio.sleep(choose.uniform(*_FAULT_SECONDS))
            await asyncio.sleep(choose.uniform(0.5, 4.0))

    async def strike_agents(self, stop: asyncio.Event) -> None:
        """Kill, freeze and cut off agents, one at a time, so that another goes on."""
        choose = self._randomness
        while not stop.is_set():
            await asyncio.sleep(choose.uniform(3.0, 15.0))
            agent = choose.choice(self.agents)
            match choose.choice(("die", "freeze", "be cut off")):
                case "die":
                    self.deaths += 1
                    agent.kill()
                    await asyncio.sleep(choose.uniform(0.0, LEASE))
                    agent.start()
                case "freeze":
                    self.freezes += 1
                    agent.send(signal.SIGSTOP)
                    await asyncio.sleep(choose.uniform(0.5, 3 * LEASE))
                    agent.send(signal.SIGCONT)
                case _:
                    self.cuts += 1
                    wire = choose.choice(self.wires)
                    wire.cut()
                    await asyncio.sleep(choose.uniform(0.5, 2 * LEASE))
                    wire.mend()


@asynccontextmanager
async def running_stage(directory: Path, randomness: random.Random) -> AsyncIterator[Stage]:
    """Clusters that keep their data in a directory, and agents that have not been started yet."""
    async with AsyncExitStack() as stack:
        playground = Playground(directory, "--agents=0", "--test-controls", f"--data-dir={directory / 'data'}")
        stack.callback(playground.kill)
        await asyncio.to_thread(playground.wait_ready)
        session = await stack.enter_async_context(aiohttp.ClientSession())
        addresses = {name: url.removeprefix("http://") for name, url in playground.clusters.items()}
        stage = Stage(session, addresses, randomness)
        for number in range(AGENT_COUNT):
            stage.agents.append(await _make_agent(number, directory, stage, stack))
        listed = {"production": {"addresses": [agent.address for agent in stage.agents]}}
        for name, user in stage.users.items():
            await user.set(f"//sys/clusters/{name}/queue_agent/stages", listed)
        yield stage


async def _make_agent(number: int, directory: Path, stage: Stage, stack: AsyncExitStack) -> AgentProcess:
    """An agent with wires of its own, and the same token on all clusters."""
    user, token = f"agent-{number}", ""
    wires: dict[str, CutWire] = {}
    clusters: dict[str, Any] = {}
    for name, address in stage.addresses.items():
        await stage.users[name].run("create", type="user", attributes={"name": user})
        await stage.users[name].run("add_member", member=user, group="superusers")
        token = str(await stage.users[name].run("issue_token", user=user))
        token_file = directory / f"{user}-{name}.token"
        token_file.write_text(token)
        proxy = await stack.enter_async_context(FaultyProxy(address))
        wires[name] = await stack.enter_async_context(CutWire(proxy.address))
        stage.proxies.append(proxy)
        stage.wires.append(wires[name])
        clusters[name] = {
            "proxy": f"http://{wires[name].address}",
            "token_file": str(token_file),
            "discover_proxies": False,
            "request_timeout": _REQUEST_MILLISECONDS,
        }
    agent = AgentProcess(
        number,
        directory,
        wires[CLUSTERS[0]],
        token,
        LEASE,
        clusters=clusters,
        state={"cluster": CLUSTERS[0]},
        cypress_synchronizer={"policy": "watching", "pass_period": 500, "write_replicated_table_mapping": True},
        queue_agent={
            "pass_period": 500,
            "handle_replicated_objects": True,
            "controller": {
                "pass_period": 500,
                "enable_automatic_trimming": True,
                "trimming_grace": 0,
                "queue_exporter": {
                    "enable": True,
                    "pass_period": 300,
                    "retry_backoff": {"min_backoff": 200, "max_backoff": 1000},
                },
            },
            "queue_export_manager": {"export_rate_limit": 100},
        },
    )
    stack.callback(agent.kill)
    return agent
