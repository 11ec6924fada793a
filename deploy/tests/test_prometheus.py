"""A Prometheus server scrapes an agent: dashboards show data, what goes wrong raises the right alert and no other."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Sequence, Set
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

import aiohttp
import pytest
import pytest_asyncio
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from deploy.tests.prometheus_server import PrometheusServer, hasten, prometheus_server
from queue_agent.dashboards.grafana import DASHBOARDS
from queue_agent.dashboards.panels import Dashboard
from queue_agent.dashboards.ui_documents import CONSUMER_METRICS, QUEUE_METRICS
from tests.component.running_agent import User, running_agent
from tests.waiting import LIMIT_SECONDS
from yt_local.runner import LocalClusters

pytestmark = pytest.mark.asyncio(loop_scope="module")

BUSY, LAGGING, STALLED, UNMOUNTED, BLOCKED = QUEUES = [
    f"//home/{name}/queue" for name in ("busy", "lagging", "stalled", "unmounted", "blocked")
]
QUIET_SECONDS: Final = 5.0
WRITE_SECONDS: Final = 0.5

OFFICIAL_SELECTOR: Final = 'cluster=~".+", service=~"yt-queue-agent", __name__=~'
OFFICIAL_QUEUE: Final = 'queue_cluster=~"hume", queue_path=~"//home/busy/queue"'
OFFICIAL_PAIR: Final = f'{OFFICIAL_QUEUE}, consumer_cluster=~"hume", consumer_path=~"//home/busy/consumer"'
OF_ALL: Final = ', partition_index=~""'


def official_expressions() -> Iterator[str]:
    """What the panels of YTsaurus's own dashboards ask for, with values in place of variables."""
    for name in ("rows_written", "rows_trimmed", "data_weight_written"):
        yield f'rate({{{OFFICIAL_SELECTOR}"yt_queue_agent_queue_partition_{name}", {OFFICIAL_QUEUE}{OF_ALL}}}[10s])'
    for name in ("row_count", "data_weight"):
        yield f'{{{OFFICIAL_SELECTOR}"yt_queue_agent_queue_partition_{name}", {OFFICIAL_QUEUE}{OF_ALL}}}'
    yield f'{{{OFFICIAL_SELECTOR}"yt_queue_agent_queue_partitions", {OFFICIAL_QUEUE}}}'
    for vital in ("true", "false"):
        yield f'{{{OFFICIAL_SELECTOR}"yt_queue_agent_queue_consumers", {OFFICIAL_QUEUE}, vital=~"{vital}"}}'
    for name in ("rows_consumed", "data_weight_consumed"):
        yield f'rate({{{OFFICIAL_SELECTOR}"yt_queue_agent_consumer_partition_{name}", {OFFICIAL_PAIR}{OF_ALL}}}[10s])'
    for name in ("lag_rows_sum", "lag_time_max"):
        yield f'{{{OFFICIAL_SELECTOR}"yt_queue_agent_consumer_partition_{name}", {OFFICIAL_PAIR}{OF_ALL}}}'


def service_expressions() -> Iterator[str]:
    """What the dashboard of the service asks for, in Prometheus's words."""
    for prefix in ("", "cypress_synchronizer_", "queue_agent_sharding_manager_"):
        for name in ("index", "start_time", "duration_max", "errors"):
            yield f'yt_queue_agent_{prefix}pass_{name}{{host="agent-1"}}'


def expressions(dashboard: Dashboard) -> Iterator[str]:
    """Of all panels, with values in place of variables and shorter intervals."""
    for row in dashboard.rows:
        for panel in row.panels:
            for target in panel.targets:
                expr = target.expr.replace("$__rate_interval", "10s")
                expr = re.sub(r"\[(\d+m)\]", lambda found: f"[{hasten(found[1])}]", expr)
                yield re.sub(r'"\$\w+"', '".*"', expr)


@dataclass
class World:
    """A cluster with queues that are written to and read, an agent, and a Prometheus server."""

    user: User
    session: aiohttp.ClientSession
    origin: str
    """Address of the agent."""

    prometheus: PrometheusServer
    agent: AsyncExitStack
    """Left, the agent is no more."""

    reading: set[str]
    """Queues whose readers keep up."""

    async def until_fires(self, name: str) -> dict[str, str]:
        """Labels of an alert, once it alone is firing, and again a while later.

        An alert of a moment, by which the machine was too slow, does not count: one that has a reason stays.
        """
        await self._until_firing({name})
        await asyncio.sleep(QUIET_SECONDS)  # what else would fire for the same reason needs some time
        [labels] = (await self._until_firing({name}))[name]
        return labels

    async def _until_firing(self, names: Set[str]) -> dict[str, list[dict[str, str]]]:
        """Wait until these alerts are firing and no others."""
        firing: dict[str, list[dict[str, str]]] = {}
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                while (firing := await self.prometheus.firing()).keys() != names:  # noqa: ASYNC110 - the server changes
                    await asyncio.sleep(0.2)
        except TimeoutError:
            raise AssertionError(f"firing: {firing}") from None
        return firing

    async def until_there(self, wanted: Sequence[str]) -> None:
        """Wait until all expressions have data at the same time: a rule or a scrape may have been late just now."""
        missing = wanted
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                while missing := [expr for expr in wanted if not await self.prometheus.ask(expr)]:  # noqa: ASYNC110 - as above
                    await asyncio.sleep(1)
        except TimeoutError:
            raise AssertionError("no data: " + "\n".join(missing)) from None

    async def until_quiet(self) -> None:
        await self._until_firing(set())


def consumer_of(queue: str) -> str:
    return queue.replace("queue", "consumer")


async def export(user: User, queue: str) -> None:
    """Ask for a static export, with nothing to be made: no row is flushed."""
    directory = queue.replace("queue", "exported")
    await user.run("create", type="map_node", path=directory)
    queue_id = (await user.run("get", path=f"{queue}/@id"))["value"]
    await user.set(f"{directory}/@queue_static_export_destination", {"originating_queue_id": queue_id})
    await user.set(f"{queue}/@static_export_config", {"all": {"export_directory": directory, "export_period": 1000}})


async def keep_busy(user: User, reading: set[str]) -> None:
    """Write and read for ever; of one queue only one row of four is read."""
    written = 0
    while True:
        for queue in (BUSY, LAGGING, STALLED):
            await user.insert(queue, [{"data": "some bytes"}] * 4)
        written += 4
        for queue in tuple(reading):  # tests take some out meanwhile
            await user.advance(consumer_of(queue), queue, 0, written)
        await user.advance(consumer_of(LAGGING), LAGGING, 0, written // 4)
        await asyncio.sleep(WRITE_SECONDS)  # the pace of users


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with (
        LocalClusters({"hume": 0}) as clusters,
        aiohttp.ClientSession() as session,
        AsyncExitStack() as agent_stack,
        asyncio.TaskGroup() as group,
    ):
        user = User(session, "hume", clusters.addresses["hume"])
        for queue in QUEUES:
            await user.create_queue(queue, auto_trim_config={"enable": queue == BUSY})
            await user.create_consumer(consumer_of(queue), queue, vital=queue not in (LAGGING, BLOCKED))
        await export(user, STALLED)
        reading = {BUSY, STALLED}
        agent = await agent_stack.enter_async_context(
            running_agent(
                session,
                dict(clusters.addresses),
                period_milliseconds=500,
                queue_agent={"controller": {"enable_automatic_trimming": True, "queue_exporter": {"enable": True}}},
                metrics={"period": 500},
            )
        )
        traffic = group.create_task(keep_busy(user, reading))
        async with session.get(f"{agent.origin}/solomon/all") as response:
            assert response.status == 200
        target = agent.origin.removeprefix("http://")
        async with prometheus_server(session, tmp_path_factory.mktemp("prometheus"), target) as prometheus:
            yield World(user, session, agent.origin, prometheus, agent_stack, reading)
        traffic.cancel()


async def test_every_expression_of_every_dashboard_gives_data(world: World) -> None:
    wanted = [*official_expressions(), *service_expressions()]
    for dashboard in (*DASHBOARDS.values(), QUEUE_METRICS, CONSUMER_METRICS):
        wanted += expressions(dashboard)
    await world.until_there(wanted)


async def test_promtool_and_open_metrics_find_nothing_wrong_with_our_own_metrics(world: World) -> None:
    async with world.session.get(f"{world.origin}/metrics") as response:
        page = await response.read()
    assert b"queue_agent_consumer_partition_lag_rows{" in page
    process = await asyncio.create_subprocess_exec(
        "promtool", "check", "metrics", stdin=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    _, complaints = await process.communicate(page)
    assert (process.returncode, complaints) == (0, b"")
    headers = {"Accept": "application/openmetrics-text; version=1.0.0"}
    async with world.session.get(f"{world.origin}/metrics", headers=headers) as response:
        families = text_string_to_metric_families(await response.text())  # type: ignore[no-untyped-call] # left so
    assert "queue_agent_queue_rows_written" in {family.name for family in families}


async def test_recorded_series_are_there(world: World) -> None:
    names = ("queue_rows_written:rate5m", "consumer_rows_read:rate5m", "consumer_lag_seconds:max")
    await world.until_there([f"queue_agent:{name}" for name in names])
    rate = 'queue_agent:queue_rows_written:rate5m{queue_path="//home/busy/queue"}'
    await world.until_there([f"1 < {rate} <= {4 / WRITE_SECONDS}"])


async def test_nothing_fires_while_nothing_is_wrong(world: World) -> None:
    assert await world.prometheus.ever_fired() == set()


async def test_a_vital_consumer_that_reads_no_more_raises_one_alert(world: World) -> None:
    world.reading.discard(STALLED)
    labels = await world.until_fires("VitalConsumerStopped")
    assert (labels["consumer_path"], labels["queue_path"]) == ("//home/stalled/consumer", STALLED)
    assert (labels["severity"], labels["cluster"]) == ("critical", "local")
    world.reading.add(STALLED)
    await world.until_quiet()


async def test_an_unmounted_queue_raises_one_alert(world: World) -> None:
    await world.user.run("unmount_table", path=UNMOUNTED)
    labels = await world.until_fires("QueuePartitionErrors")
    assert labels["queue_path"] == UNMOUNTED
    await world.user.run("mount_table", path=UNMOUNTED)
    await world.until_quiet()


async def test_trimming_that_waits_in_vain_raises_one_alert(world: World) -> None:
    await world.user.set(f"{BLOCKED}/@auto_trim_config", {"enable": True})
    labels = await world.until_fires("QueueTrimmingBlocked")
    assert labels["queue_path"] == BLOCKED
    await world.user.set(f"{BLOCKED}/@auto_trim_config", {"enable": False})
    await world.until_quiet()


async def test_an_agent_that_is_down_raises_one_alert(world: World) -> None:
    await world.agent.aclose()
    labels = await world.until_fires("QueueAgentDown")
    assert labels["cluster"] == "local"


async def test_no_other_alert_has_fired_meanwhile(world: World) -> None:
    assert await world.prometheus.ever_fired() == {
        "VitalConsumerStopped",
        "QueuePartitionErrors",
        "QueueTrimmingBlocked",
        "QueueAgentDown",
    }
