"""A cluster with a healthy queue and its consumer among very many odd objects, and an agent for them all."""

from __future__ import annotations

import asyncio
import logging
import random
import traceback
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from urllib.parse import quote

import aiohttp
import pytest
from structlog.testing import capture_logs
from yarl import URL

from queue_agent import isolation
from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.adapters.group.orchid_client import OrchidClient
from queue_agent.cli.init_state import HistoryLocation, init_history
from queue_agent.cli.reach import Reach
from queue_agent.config.clusters import ClusterConfig, HistoryTables
from queue_agent.core.state.family import FAMILY
from tests.component.running_agent import RunningAgent, User, running_agent
from tests.fuzz import odd_objects as odd
from tests.waiting import LIMIT_SECONDS
from yt_local.runner import LocalClusters
from yt_local.security.permissions import UNLIMITED
from yt_wire import yson
from yt_wire.error import YtError

NAME: Final = "hume"
ROOT: Final = "//sys/queue_agents"
QUEUE: Final = "//tmp/healthy/q"
CONSUMER: Final = "//tmp/healthy/c"
HISTORY: Final = HistoryTables.below(NAME, ROOT)
_COLUMNS: Final = [{"name": "data", "type": "string"}, {"name": "$timestamp", "type": "uint64"}]
_PAGES: Final = (
    "/metrics",
    "/solomon/all",
    "/health/ready",
    "/orchid",
    "/orchid/queue_agent",
    "/orchid/queue_agent/queues",
    "/orchid/queue_agent/consumers",
    "/orchid/queue_agent/owned_queues",
    "/orchid/queue_agent/owned_consumers",
    "/orchid/queue_agent/controller_info",
    "/orchid/alerts",
    "/api/v1/queues?overview=true&limit=1000",
    "/api/v1/consumers?overview=true&limit=1000",
)


@dataclass
class OddWorld:
    """The cluster, and what its answers are overlaid with."""

    clusters: LocalClusters
    session: aiohttp.ClientSession
    user: User
    overlay: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Attributes by path that the agent is told in place of those there are."""

    paths: dict[str, str] = field(default_factory=dict)
    """Odd objects that have a page of their own: `queues` or `consumers` by path."""

    made: int = 0
    """Rounds of judging, each of which makes something new."""

    def create(self, path: str, **attributes: Any) -> None:
        """A mounted table, made without a request: there are very many."""
        cluster = self.clusters.cluster(NAME)
        cluster.cypress.create(UNLIMITED, path, "table", {"dynamic": True, **attributes})
        cluster.tablets.mount(UNLIMITED, path)

    def add_queue(self, path: str, attributes: Mapping[str, Any]) -> None:
        """A queue of which the agent is told these attributes."""
        self.create(path, schema=_COLUMNS, auto_trim_config={"enable": True})
        self.clusters.cluster(NAME).writer.insert_rows(UNLIMITED, path, [{b"data": b"x"}] * 3)
        self.overlay[path] = _travelled(attributes)
        self.paths[path] = "queues"

    def add_consumer(self, path: str, attributes: Mapping[str, Any], offsets: Sequence[Mapping[bytes, Any]]) -> None:
        """A consumer of which the agent is told these attributes, registered with the healthy queue."""
        self.create(path, schema=_CONSUMER_SCHEMA, treat_as_queue_consumer=True)
        for row in offsets:
            with suppress(YtError):  # not everything can be written
                self.clusters.cluster(NAME).writer.insert_rows(UNLIMITED, path, [row])
        self.overlay[path] = _travelled(attributes)
        self.paths[path] = "consumers"

    def set(self, path: str, value: Any) -> None:
        """Set a node or an attribute; a value that the cluster does not take is none."""
        with suppress(YtError):
            self.clusters.cluster(NAME).cypress.set(UNLIMITED, path, value)

    def insert(self, table: str, row: Mapping[str, Any]) -> None:
        """Put a row into a state table; one that the cluster does not take is none."""
        encoded = {name.encode(): value.encode() if isinstance(value, str) else value for name, value in row.items()}
        with suppress(YtError):
            self.clusters.cluster(NAME).writer.insert_rows(UNLIMITED, f"{ROOT}/{table}", [encoded])

    @asynccontextmanager
    async def agent(self, **options: Any) -> AsyncIterator[RunningAgent]:
        """One that trims, exports, keeps a history and leads replicated objects."""
        controller = {
            "enable_automatic_trimming": True,
            "queue_exporter": {"enable": True, "pass_period": 100, "retry_backoff": {"min_backoff": 500}},
        }
        async with running_agent(
            self.session,
            {NAME: self.clusters.addresses[NAME]},
            rpc={"host": "127.0.0.1", "port": 0, "advertised_host": "127.0.0.1"},
            membership={"lease": 2500},
            queue_agent_sharding_manager={"pass_period": 100},
            queue_agent={"handle_replicated_objects": True, "controller": controller},
            history={"period": 300},
            **options,
        ) as agent:
            yield agent

    async def judge(self, agent: RunningAgent, *, discovers: bool = True) -> None:
        """Healthy objects are published, trimmed and served, and every page is; AssertionError otherwise."""
        self.made += 1
        before = await self._healthy(agent)
        self._write()
        await self._trimmed(agent, before)
        if discovers:
            path = f"//tmp/healthy/new{self.made}"
            self.create(path, schema=_COLUMNS)
            await _until(
                lambda: agent.find_queue(NAME, path),
                lambda found: found["pass_index"] > 0 and found["error"] is None,
                f"a queue made now is not discovered: {path}",
            )
        rows = self._history_count()
        await _until(self._history, lambda count: count > rows + 5, "no history is written")
        for page in _PAGES:
            await self._served(agent, page)
        for path, kind in self.paths.items():
            quoted = quote(path, safe="")
            await self._served(agent, f"/api/v1/{kind}/{NAME}/{quoted}", expected=(200, 404))
        async with OrchidClient() as peer:
            for kind in ("queues", "consumers"):
                nodes = await peer.get(agent.rpc_address, ["queue_agent", kind], LIMIT_SECONDS)
                assert nodes, kind

    async def looked_at_document(self, agent: RunningAgent, before: str | None = None) -> str:
        """When the agent read the dynamic configuration last, once that was after another time."""
        found = await _until(
            lambda: agent.orchid("dynamic_config_manager", "last_config_update_time"),
            lambda instant: isinstance(instant, str) and (before is None or instant > before),
            "the dynamic configuration is not read",
        )
        return str(found)

    async def _healthy(self, agent: RunningAgent) -> Mapping[str, int]:
        """Pass indexes, once both objects are seen well."""
        queue = await _until(
            lambda: agent.find_queue(NAME, QUEUE),
            lambda found: found["status"].get("family") == FAMILY and found["pass_index"] > 0,
            "the healthy queue is not served",
        )
        consumer = await _until(
            lambda: agent.find_consumer(NAME, CONSUMER),
            lambda found: "error" not in found["status"] and f"{NAME}:{QUEUE}" in found["status"]["queues"],
            "the healthy consumer is not served",
        )
        return {"queue": queue["pass_index"], "consumer": consumer["pass_index"]}

    def _write(self) -> None:
        writer = self.clusters.cluster(NAME).writer
        writer.insert_rows(UNLIMITED, QUEUE, [{b"data": b"x"}] * 5)
        key = {b"queue_cluster": NAME.encode(), b"queue_path": QUEUE.encode(), b"partition_index": yson.Uint64(0)}
        writer.insert_rows(UNLIMITED, CONSUMER, [{**key, b"offset": yson.Uint64(self._end() - 1)}])

    def _end(self) -> int:
        [info] = self.clusters.cluster(NAME).tables.tablet_infos(QUEUE, [0])
        return int(info["total_row_count"])

    async def _trimmed(self, agent: RunningAgent, before: Mapping[str, int]) -> None:
        end = self._end()
        await _until(
            lambda: agent.find_queue(NAME, QUEUE),
            lambda found: found["partitions"] and found["partitions"][0]["lower_row_index"] == end - 1,
            "the healthy queue is not trimmed",
        )
        await _until(
            lambda: agent.find_consumer(NAME, CONSUMER),
            lambda found: found["pass_index"] > before["consumer"] + 2,
            "passes of the healthy consumer do not go on",
        )
        facts = await agent.orchid("queue_agent", "pass_index")
        await _until(
            lambda: agent.orchid("queue_agent", "pass_index"),
            lambda index: index > facts + 1,
            "passes of the agent do not go on",
        )
        for name in ("queue_agent", "cypress_synchronizer", "queue_agent_sharding_manager"):
            error = partial(agent.orchid, name, "pass_error")
            await _until(error, lambda error: error["code"] == 0, f"passes of {name} fail")

    def _history_count(self) -> int:
        [info] = self.clusters.cluster(NAME).tables.tablet_infos(HISTORY.queue.path, [0])
        return int(info["total_row_count"])

    async def _history(self) -> int:
        return self._history_count()

    async def _served(self, agent: RunningAgent, page: str, expected: Collection[int] = (200,)) -> None:
        async with self.session.get(URL(agent.origin + page, encoded=True)) as response:
            assert response.status in expected, f"{page}: {response.status} {(await response.text())[:2000]}"


_CONSUMER_SCHEMA: Final = yson.loads(
    b"<strict=%true;unique_keys=%true>["
    b"{name=queue_cluster;type=string;sort_order=ascending;required=%true};"
    b"{name=queue_path;type=string;sort_order=ascending;required=%true};"
    b"{name=partition_index;type=uint64;sort_order=ascending;required=%true};"
    b"{name=offset;type=uint64;required=%true};{name=meta;type=any;required=%false}]"
)


def _travelled(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """As they would be read from a cluster."""
    return dict(yson.loads(yson.dumps(dict(attributes))))


async def _until(find: Callable[[], Any], good: Callable[[Any], bool], complaint: str) -> Any:
    found: Any = None
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            while True:
                found = await find()
                if found is not None and good(found):
                    return found
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"{complaint}: {str(found)[-3000:]}") from None


@asynccontextmanager
async def odd_world() -> AsyncIterator[OddWorld]:
    """With the healthy objects, which are served already when the odd ones come."""
    async with LocalClusters({NAME: 0}) as clusters, aiohttp.ClientSession() as session:
        address = clusters.addresses[NAME]
        world = OddWorld(clusters, session, User(session, NAME, address))
        await world.user.create_queue(QUEUE, auto_trim_config={"enable": True})
        await world.user.create_consumer(CONSUMER, QUEUE)
        location = HistoryLocation(Reach(ClusterConfig(proxy=address, discover_proxies=False)), HISTORY)
        await init_history(location, False, lambda line: None)
        clusters.cluster(NAME).cypress.create(UNLIMITED, "//tmp/odd", "map_node", {})
        clusters.cluster(NAME).cypress.create(UNLIMITED, "//tmp/exports", "map_node", {})
        get_attributes = YtCluster.get_attributes

        async def overlaid(cluster: YtCluster, path: str, names: Collection[str]) -> Mapping[str, Any]:
            found = await get_attributes(cluster, path, names)
            return {**found, **{name: value for name, value in world.overlay.get(path, {}).items() if name in names}}

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(YtCluster, "get_attributes", overlaid)
            yield world


@contextmanager
def no_traceback() -> Any:
    """Nothing unexpected is logged: an odd value is an error that somebody has thought of."""
    handler = _Tracebacks()
    logging.getLogger("asyncio").addHandler(handler)
    failure: BaseException | None = None
    # An error that another test has shown would not be logged again.
    with pytest.MonkeyPatch.context() as patch, capture_logs() as logs:
        patch.setattr(isolation, "_told", {})
        try:
            yield
        except (AssertionError, BaseExceptionGroup) as error:
            failure = error
        finally:
            logging.getLogger("asyncio").removeHandler(handler)
    lines = [*map(_told, (line for line in logs if line.get("exc_info") or "again" in line["event"])), *handler.lines]
    if failure is not None or lines:
        raise AssertionError("\n".join([*([] if failure is None else [repr(failure)]), *lines]))


def _told(line: Mapping[str, Any]) -> str:
    error = line.get("exc_info")
    if isinstance(error, BaseException):
        return f"{line} {''.join(traceback.format_exception(error)[-3:])}"
    return str(line)[:3000]


class _Tracebacks(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


def odd_offsets(choices: random.Random) -> Mapping[bytes, Any]:
    """A row of a consumer's table."""
    return {
        b"queue_cluster": choices.choice((NAME.encode(), b"nowhere", b"", b"\xff")),
        b"queue_path": choices.choice((QUEUE.encode(), b"", b"\xff", b"//tmp/nothing")),
        b"partition_index": yson.Uint64(choices.choice((0, 0, 0, 1, 2**31, 2**63, 2**64 - 1))),
        b"offset": yson.Uint64(choices.choice((0, 1, 2**31, 2**63 - 1, 2**63, 2**64 - 1))),
        b"meta": choices.choice(
            (
                odd.odd_value(choices),
                {
                    choices.choice(("cumulative_data_weight", "offset_timestamp", "x")): odd.odd_value(choices)
                    for _ in range(2)
                },
                {"offset_timestamp": choices.choice(odd.HUGE_NUMBERS)},
            )
        ),
    }
