"""Any agent answers for the whole stage, whatever the others do."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import aiohttp
import pytest

from queue_agent.adapters.serving.peer_server import METHOD, SERVICE, encode_answer
from tests.component.orchid_peers import roomy_gate
from tests.component.raw_server import raw_server
from tests.component.running_agent import RunningAgent, User, eventually, running_agent
from tests.waiting import LIMIT_SECONDS
from yt_local.runner import LocalClusters
from yt_wire import rpc
from yt_wire.connection import Reply
from yt_wire.gate import bind
from yt_wire.rpc_server import RpcServer

QUEUES = [f"//tmp/q{number}" for number in range(12)]
CONSUMER = "//tmp/c"
LEASE = 6000
MEMBERS = "//sys/queue_agents/members/production"
LISTS = (
    "/api/v1/queues",
    "/api/v1/consumers",
    "/api/v1/verdicts",
    "/api/v1/alerts",
    "/api/v1/overview",
    "/api/v1/agents",
)


class World:
    """A cluster with queues and a consumer, and agents."""

    def __init__(self, session: aiohttp.ClientSession, clusters: LocalClusters) -> None:
        self.session = session
        self.clusters = clusters
        self.user = User(session, "pythia", clusters.addresses["pythia"])

    async def start(self, stack: AsyncExitStack) -> RunningAgent:
        agent = running_agent(
            self.session,
            self.clusters.addresses,
            membership={"lease": LEASE},
            rpc={"host": "127.0.0.1", "port": 0, "advertised_host": "127.0.0.1"},
            queue_agent_sharding_manager={"pass_period": 100},
        )
        return await stack.enter_async_context(agent)

    async def join(self, address: str) -> None:
        """Have the others take somebody for an agent of the stage."""
        answer = await self.user.run("start_transaction", timeout=600_000)
        transaction = answer["transaction_id"] if isinstance(answer, dict) else answer
        await self.user.run("lock", path=MEMBERS, mode="shared", child_key=address, transaction_id=transaction)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        clusters = await stack.enter_async_context(LocalClusters({"pythia": 0}))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        world = World(session, clusters)
        for path in QUEUES:
            await world.user.create_queue(path)
        await world.user.create_consumer(CONSUMER, QUEUES[0])
        yield world


async def complete(agent: RunningAgent) -> list[str] | None:
    """Paths of all pages of the list of queues; None while an agent is missing."""
    found: list[str] = []
    after = ""
    while True:
        status, page = await agent.get(f"/api/v1/queues?limit=5{after}")
        assert status == 200
        if page["missing"]:
            return None
        found += [one["path"] for one in page["queues"]]
        if page["next"] is None:
            return found if page["total"] == len(found) else None
        after = f"&after={page['next']}"


@pytest.mark.slow  # three agents take 10 s to share out what there is
async def test_every_agent_lists_what_the_stage_has(world: World) -> None:
    async with AsyncExitStack() as stack:
        agents = [await world.start(stack) for _ in range(3)]
        for agent in agents:
            await eventually(lambda: complete(agent), lambda found: found == sorted(QUEUES))  # noqa: B023 - awaited here
            owned = await agent.orchid("queue_agent", "owned_queues")
            assert len(owned) < len(QUEUES)
            verdicts = await eventually(lambda: document(agent, "/api/v1/verdicts"), lambda found: found["total"] == 1)  # noqa: B023
            assert verdicts["verdicts"][0]["consumer"] == f"pythia:{CONSUMER}"
            status, overview = await agent.get("/api/v1/overview")
            assert status == 200
            assert {row["path"] for row in overview["queues"]} == set(QUEUES)
            assert [row["path"] for row in overview["consumers"]] == [CONSUMER]
            _, answer = await agent.get("/api/v1/agents")
            assert {one["address"] for one in answer["agents"]} == {one.rpc_address for one in agents}
            assert [one["address"] for one in answer["agents"] if one["asked"]] == [agent.rpc_address]
            for path in QUEUES:
                at = f"{agent.origin}/api/v1/queues/pythia/{path.removeprefix('//').replace('/', '%2F')}"
                for plan in ("trim-plan", "export-plan"):
                    async with world.session.post(f"{at}/{plan}") as response:
                        assert response.status == 200, await response.text()
                _, series = await agent.get(f"/api/v1/series?kind=queue&cluster=pythia&path={path}")
                assert series["step"] == 60


async def document(agent: RunningAgent, path: str) -> Any:
    return (await agent.get(path))[1]


async def test_an_overview_tells_what_is_new_at_another_agent(world: World) -> None:
    async with AsyncExitStack() as stack:
        agents = [await world.start(stack) for _ in range(2)]
        for agent in agents:
            await eventually(lambda: complete(agent), lambda found: len(found) == len(QUEUES))  # noqa: B023 - awaited here
        await eventually(lambda: document(agents[0], "/api/v1/overview"), lambda found: len(found["queues"]) == 12)
        owned = await agents[1].orchid("queue_agent", "owned_queues")
        path = next(iter(owned)).removeprefix("pythia:")
        version = (await document(agents[0], "/api/v1/overview"))["version"]
        await world.user.insert(path, [{"data": "x"}])
        rows: dict[str, Any] = {}
        async with asyncio.timeout(LIMIT_SECONDS):
            while rows.get(path) != 1:
                news = await document(agents[0], f"/api/v1/overview?since={version}")
                version = news["version"]
                rows |= {row["path"]: row["rows"] for row in news["queues"]}


def is_agent(missing: Mapping[str, Any]) -> bool:
    return missing["agent"] is not None


async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n" * 1000)
    await reader.read()


@asynccontextmanager
async def peer(answer: Callable[[rpc.Request], Awaitable[Reply]]) -> AsyncIterator[str]:
    """What looks like an agent, and answers questions as it likes."""
    async with (
        roomy_gate() as gate,
        RpcServer({SERVICE: {METHOD: answer}}, await bind("127.0.0.1", 0), gate) as server,
    ):
        yield server.address


async def slow(request: rpc.Request) -> Reply:
    await asyncio.Event().wait()
    raise AssertionError


async def nonsense(request: rpc.Request) -> Reply:
    return Reply(encode_answer({"queues": 7, "version": "no"}))


async def no_json(request: rpc.Request) -> Reply:
    return Reply(b"\xff" * 100)


async def too_much(request: rpc.Request) -> Reply:
    return Reply(b"x" * (10 << 20))


BOMB = zlib.compress(b"[" * (64 << 20), 9)


async def a_bomb(request: rpc.Request) -> Reply:
    return Reply(BOMB)


async def earlier_version(request: rpc.Request) -> Reply:
    raise AssertionError("an earlier version has no such method")


@asynccontextmanager
async def old_agent(_: object) -> AsyncIterator[str]:
    async with roomy_gate() as gate, RpcServer({}, await bind("127.0.0.1", 0), gate) as server:
        yield server.address


@pytest.mark.parametrize(
    ("serve", "behaviour", "reason"),
    [
        (raw_server, hang, "cannot be reached"),
        (raw_server, babble, "cannot be reached"),
        (peer, slow, "within 2 s"),
        (peer, nonsense, "makes no sense"),
        (peer, no_json, "no answer"),
        (peer, too_much, "cannot be reached"),
        (peer, a_bomb, "more than"),
        (old_agent, earlier_version, "earlier version"),
    ],
)
async def test_a_strange_agent_is_named_and_everything_else_is_there(
    world: World, serve: Any, behaviour: Any, reason: str
) -> None:
    async with AsyncExitStack() as stack:
        agent = await world.start(stack)
        await eventually(lambda: complete(agent), lambda found: len(found) == len(QUEUES))
        address = await stack.enter_async_context(serve(behaviour))
        await world.join(address)
        clock = asyncio.get_running_loop().time
        for path in LISTS:
            found = await eventually(partial(document, agent, path), lambda found: any(map(is_agent, found["missing"])))
            missing = next(filter(is_agent, found["missing"]))
            assert missing["agent"] == address
            assert reason in missing["reason"]
        started = clock()
        status, page = await agent.get("/api/v1/queues")
        assert (status, page["total"] > 0) == (200, True)
        assert clock() - started < 30
