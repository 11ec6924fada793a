"""A cluster that answers slowly, with errors, in halves or not at all: what has nothing to do with it goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import aiohttp
import pytest
import structlog
from structlog.testing import capture_logs

from tests.component.faulty_proxy import FaultyProxy, Kind
from tests.component.running_agent import MovableClock, RunningAgent, User, eventually, running_agent
from yt_local.base.clock import Clock
from yt_local.runner import LocalClusters

FAULTS = [Kind.ERROR, Kind.HALF, Kind.CLOSED, Kind.SILENT]
"""A slow answer is right in the end, and has tests of its own."""

SICK = "//tmp/sick"
HEALTHY = ["//tmp/one", "//tmp/two", "//tmp/three"]
PASSES = 5
REQUEST_TIMEOUT = 1000
"""In milliseconds."""


@dataclass(frozen=True)
class World:
    """Queues on both clusters, a consumer of those on hume; the agent reaches both through proxies."""

    agent: RunningAgent
    hume: FaultyProxy
    pythia: FaultyProxy
    user: User
    agent_clock: MovableClock
    cluster_clock: Clock

    async def queue(self, path: str, cluster: str = "hume") -> Any:
        return await self.agent.find_queue(cluster, path)

    async def consumer(self) -> Any:
        return await self.agent.find_consumer("hume", "//tmp/consumer")

    async def go_on(self, *paths: str, cluster: str = "hume", passes: int = PASSES) -> None:
        """Wait until healthy queues have been looked at so many times more, all in the same time."""

        async def find(paths: Sequence[str]) -> dict[str, Any]:
            return {path: await self.queue(path, cluster) for path in paths}

        starts = {path: queue["pass_index"] for path, queue in (await find(paths)).items()}

        def have_gone_on(found: Mapping[str, Any]) -> bool:
            return all(
                queue["pass_index"] >= starts[path] + passes and queue["error"] is None for path, queue in found.items()
            )

        await eventually(lambda: find(paths), have_gone_on)

    async def is_well(self, path: str, cluster: str = "hume") -> Any:
        return await eventually(lambda: self.queue(path, cluster), lambda queue: queue["error"] is None)

    async def is_ill(self, path: str, cluster: str = "hume") -> Any:
        return await eventually(lambda: self.queue(path, cluster), lambda queue: queue["error"] is not None)


@pytest.fixture
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    request_timeout = getattr(request, "param", REQUEST_TIMEOUT)
    agent_clock, cluster_clock = MovableClock(), Clock()
    async with (
        LocalClusters({"pythia": 0, "hume": 0}, clock=cluster_clock) as clusters,
        FaultyProxy(clusters.addresses["hume"]) as hume,
        FaultyProxy(clusters.addresses["pythia"]) as pythia,
        aiohttp.ClientSession() as session,
    ):
        user = User(session, "hume", clusters.addresses["hume"])
        for path in [SICK, *HEALTHY]:
            await user.create_queue(path)
            await user.insert(path, [{"data": "x"}] * 3)
        await user.create_consumer("//tmp/consumer", SICK, *HEALTHY)
        for path in [SICK, *HEALTHY]:
            await user.advance("//tmp/consumer", path, 0, 1)
        await User(session, "pythia", clusters.addresses["pythia"]).create_queue("//tmp/other")
        proxies = {"pythia": pythia.address, "hume": hume.address}
        async with running_agent(
            session, proxies, clock=agent_clock, request_timeout_milliseconds=request_timeout
        ) as agent:
            world = World(agent, hume, pythia, user, agent_clock, cluster_clock)
            for path in [SICK, *HEALTHY]:
                await world.is_well(path)
            await world.is_well("//tmp/other", "pythia")
            await eventually(world.consumer, lambda one: errors_of(one) == {})
            yield world


def errors_of(consumer: Any) -> dict[str, Any] | None:
    """Errors that a consumer tells, by queue; None if it is in error itself, or has not been looked at."""
    if consumer["error"] is not None or "queues" not in consumer["status"]:
        return None
    queues = consumer["status"]["queues"]
    return {queue: position["error"] for queue, position in queues.items() if "error" in position}


def is_well_at(consumer: Any, path: str) -> bool:
    """Whether a consumer has been looked at, and tells no error for a queue on hume."""
    errors = errors_of(consumer)
    return errors is not None and f"hume:{path}" not in errors


@pytest.mark.parametrize("kind", FAULTS)
async def test_a_queue_that_can_not_be_asked_about_is_the_only_one_concerned(world: World, kind: Kind) -> None:
    async with world.hume.fault(kind, about=SICK):
        sick = await world.is_ill(SICK)
        assert "on cluster hume failed" in sick["status"]["error"]["message"]
        for path in HEALTHY:
            await world.is_well(path)
        await world.go_on(*HEALTHY)
        await world.go_on("//tmp/other", cluster="pythia")
        # The first failure may have been everybody's in the batch; it does not stay.
        await eventually(world.consumer, lambda one: list(errors_of(one) or ()) == [f"hume:{SICK}"])
    await world.is_well(SICK)
    await eventually(world.consumer, lambda one: is_well_at(one, SICK))


@pytest.mark.slow
@pytest.mark.parametrize("world", [600_000], indirect=True)
async def test_a_queue_that_is_slow_slows_down_no_other(world: World) -> None:
    async with world.hume.fault(Kind.HELD, about=SICK):
        await eventually(lambda: world.queue(SICK), lambda _: world.hume.hits > 0)
        start = (await world.queue(SICK))["pass_index"]
        await world.go_on(*HEALTHY, passes=25)
        sick = await world.queue(SICK)
        assert sick["pass_index"] <= start + 1, "its own passes take as long as its answers"
        assert sick["error"] is None
    await world.go_on(SICK)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAULTS)
async def test_a_consumer_table_that_does_not_answer_is_an_error_of_that_consumer(world: World, kind: Kind) -> None:
    await world.user.create_consumer("//tmp/neighbour", *HEALTHY)
    async with world.hume.fault(kind, about="//tmp/consumer", command="lookup_rows"):
        failure = "lookup_rows //tmp/consumer on cluster hume failed"
        await eventually(world.consumer, lambda one: failure in str((errors_of(one) or {}).get(f"hume:{HEALTHY[0]}")))
        await world.go_on(*HEALTHY)
        await eventually(
            lambda: world.agent.find_consumer("hume", "//tmp/neighbour"),
            lambda one: errors_of(one) == {} and len(one["status"]["queues"]) == len(HEALTHY),
        )
    await eventually(world.consumer, lambda one: is_well_at(one, HEALTHY[0]))


@pytest.mark.parametrize("kind", FAULTS)
async def test_a_cluster_that_does_not_answer_leaves_the_other_alone(world: World, kind: Kind) -> None:
    async with world.hume.fault(kind):
        for path in [SICK, *HEALTHY]:
            await world.is_ill(path)
        await world.go_on("//tmp/other", cluster="pythia")
        alerts = await eventually(
            world.agent.alerts, lambda alerts: "cypress_synchronizer_unable_to_fetch_object_revisions" in alerts
        )
        alert = alerts["cypress_synchronizer_unable_to_fetch_object_revisions"]
        assert alert["code"] == 3000
        assert [inner["attributes"]["cluster"] for inner in alert["inner_errors"]] == ["hume"]
    for path in [SICK, *HEALTHY]:
        await world.is_well(path)
    await eventually(world.agent.alerts, lambda alerts: alerts == {})


@pytest.mark.parametrize("kind", FAULTS)
async def test_without_its_state_an_agent_goes_on_with_what_it_knows(world: World, kind: Kind) -> None:
    async with world.pythia.fault(kind, about="//sys/queue_agents/queues"):
        alerts = await eventually(world.agent.alerts, lambda alerts: "queue_agent_pass_failed" in alerts)
        alert = alerts["queue_agent_pass_failed"]
        assert (alert["code"], alert["message"]) == (3025, "Error in Queue Agent pass")
        assert alert["inner_errors"][0]["message"] == "Error while reading dynamic state"
        await eventually(world.agent.alerts, lambda alerts: "cypress_synchronizer_pass_failed" in alerts)
        await world.go_on(SICK, *HEALTHY)
    await eventually(world.agent.alerts, lambda alerts: alerts == {})
    assert (await world.agent.orchid("queue_agent", "pass_error"))["code"] == 0


async def test_a_failed_pass_of_the_agent_is_named_in_the_log(world: World) -> None:
    with capture_logs([structlog.contextvars.merge_contextvars]) as logs:
        async with world.pythia.fault(Kind.ERROR, about="//sys/queue_agents/queues"):
            await eventually(
                world.agent.alerts,
                lambda _: {"agent", "cypress_synchronizer"} <= {log.get("kind") for log in failures(logs)},
            )
    assert all("kind" in log for log in failures(logs))


def failures(logs: list[Any]) -> list[Any]:
    """The lines about passes that failed."""
    return [log for log in logs if log["event"] == "pass failed"]


async def test_a_dynamic_config_that_can_not_be_read_is_an_alert_for_as_long(world: World) -> None:
    async with world.pythia.fault(Kind.SILENT, about="//sys/queue_agents/config"):
        alerts = await eventually(world.agent.alerts, lambda alerts: "failed_to_fetch_dynamic_config" in alerts)
        assert alerts["failed_to_fetch_dynamic_config"]["code"] == 2600
        await world.go_on(HEALTHY[0])
    await eventually(world.agent.alerts, lambda alerts: alerts == {})


@pytest.mark.parametrize("jump", [timedelta(days=2), timedelta(days=-2)])
async def test_a_clock_that_jumps_breaks_no_rate_and_no_age(world: World, jump: timedelta) -> None:
    for move in (jump, -jump):
        world.agent_clock.offset += move
        await world.go_on(HEALTHY[0])
        await world.user.insert(HEALTHY[0], [{"data": "y"}])
        world.cluster_clock.advance(move * 2)
        await world.user.insert(HEALTHY[0], [{"data": "y"}])
        await world.go_on(HEALTHY[0])
        queue, consumer = await world.queue(HEALTHY[0]), await world.consumer()
        rates = [
            *queue["status"]["write_row_count_rate"].values(),
            *queue["partitions"][0]["write_data_weight_rate"].values(),
            *consumer["status"]["queues"][f"hume:{HEALTHY[0]}"]["read_row_count_rate"].values(),
        ]
        assert all(0 <= rate < 10_000 for rate in rates)
        [partition] = consumer["partitions"][f"hume:{HEALTHY[0]}"]
        ages = [queue["partitions"][0]["commit_idle_time"], partition["processing_lag"], partition["consume_idle_time"]]
        assert all(age >= 0 for age in ages)


async def test_rates_move_again_after_the_clock_went_back(world: World) -> None:
    world.agent_clock.offset = timedelta(seconds=2)
    await world.go_on(HEALTHY[0])
    world.agent_clock.offset = timedelta(0)
    await world.go_on(HEALTHY[0])
    await world.user.insert(HEALTHY[0], [{"data": "y"}] * 100)
    await eventually(
        lambda: world.queue(HEALTHY[0]), lambda queue: queue["status"]["write_row_count_rate"]["1m_raw"] > 0
    )
