"""Trimming as it is seen from outside: rows go or stay, and the agent says why."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import aiohttp
import pytest
from structlog.testing import capture_logs

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.cli.errors import CommandError
from queue_agent.cli.references import parse_table
from queue_agent.cli.trim_plan import fetch_plan, render_plan
from queue_agent.config.clusters import ClusterConfig
from queue_agent.core.state.schema import tables_at
from tests.component.discovery_world import migrate
from tests.component.faulty_proxy import FaultyProxy, Kind
from tests.component.running_agent import RunningAgent, User, eventually, running_agent
from yt_local.base.clock import Clock
from yt_local.runner import LocalClusters

QUEUE = "//tmp/q"
CONSUMER = "//tmp/c"
JOURNAL = "//sys/queue_agents/trim_journal"
REGISTRATIONS = "//sys/queue_agents/consumer_registrations"
OLD_STATE = "//home/old_state"
TRIMS = {"controller": {"enable_automatic_trimming": True}}


@dataclass(frozen=True)
class World:
    """A queue of ten rows, a vital consumer of it that has read four, and the cluster's clock."""

    user: User
    proxy: FaultyProxy
    clock: Clock
    session: aiohttp.ClientSession
    start: Callable[..., Awaitable[RunningAgent]]

    async def rows_there(self) -> tuple[int, int]:
        infos = await self.user.run("get_tablet_infos", path=QUEUE, tablet_indexes=[0])
        [info] = infos["tablets"]
        return info["trimmed_row_count"], info["total_row_count"]

    async def journal(self) -> list[dict[str, Any]]:
        query = f"* from [{JOURNAL}]"
        url = f"http://{self.proxy.address}/api/v4/select_rows"
        parameters = json.dumps({"query": query, "output_format": "json"})
        async with self.session.get(url, headers={"X-YT-Parameters": parameters}) as response:
            return [json.loads(line) for line in (await response.text()).splitlines()]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    clock = Clock()
    async with (
        LocalClusters({"hume": 0}, clock=clock) as clusters,
        FaultyProxy(clusters.addresses["hume"]) as proxy,
        aiohttp.ClientSession() as session,
        AsyncExitStack() as stack,
    ):
        user = User(session, "hume", clusters.addresses["hume"])
        await user.create_queue(QUEUE)
        await user.insert(QUEUE, [{"data": "x"}] * 10)
        await user.create_consumer(CONSUMER, QUEUE)
        await user.advance(CONSUMER, QUEUE, 0, 4)

        async def start(**options: Any) -> RunningAgent:
            return await stack.enter_async_context(running_agent(session, {"hume": proxy.address}, **options))

        yield World(user, proxy, clock, session, start)


async def constraint(agent: RunningAgent, kind: str) -> dict[str, Any]:
    """What the queue's partition tells of trimming, once it is held back by this."""

    async def find() -> Any:
        document = await agent.find_queue("hume", QUEUE)
        partitions = document and document["partitions"]
        return (partitions[0].get("trim") if partitions else None) or {"constraint": {"kind": None}}

    found = await eventually(find, lambda trim: trim["constraint"]["kind"] == kind)
    assert isinstance(found, dict)
    return found


async def test_what_is_read_goes_and_the_constraint_is_told(world: World) -> None:
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    agent = await world.start(queue_agent=TRIMS)
    await eventually(world.rows_there, lambda rows: rows == (4, 10))
    trim = await constraint(agent, "vital_consumer")
    assert trim["constraint"] == {
        "kind": "vital_consumer",
        "subject": f"hume:{CONSUMER}",
        "row_index": 4,
        "held_row_count": 6,
        "message": None,
    }
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True, "retained_rows": 2})
    await eventually(
        lambda: fetch_plan(agent.origin, parse_table(f"hume:{QUEUE}", "QUEUE"), None),
        lambda plan: "retained_rows" in plan["config"],
    )
    await world.user.advance(CONSUMER, QUEUE, 0, 10)
    await eventually(world.rows_there, lambda rows: rows == (8, 10))
    await constraint(agent, "retained_rows")
    status, text = 0, ""
    async with world.session.get(f"{agent.origin}/metrics") as response:
        status, text = response.status, await response.text()
    assert status == 200
    labels = f'queue_cluster="hume",queue_path="{QUEUE}",queue_tag="none"'
    assert f'queue_agent_queue_trim_constraint_partitions{{{labels},kind="retained_rows"}} 1' in text
    assert f'queue_agent_queue_trim_held_rows{{{labels},kind="retained_rows"}} 2' in text


async def test_no_row_of_a_recreated_queue_is_trimmed_for_offsets_of_the_old_one(world: World) -> None:
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    agent = await world.start(queue_agent=TRIMS)
    await eventually(world.rows_there, lambda rows: rows == (4, 10))
    world.clock.advance(timedelta(seconds=2))
    await world.user.run("remove", path=QUEUE)
    await world.user.create_queue(QUEUE, auto_trim_config={"enable": True})
    await world.user.insert(QUEUE, [{"data": "new"}] * 3)
    trim = await constraint(agent, "consumer_ahead")
    assert (trim["target"], trim["constraint"]["subject"]) == (None, f"hume:{CONSUMER}")
    start = (await agent.find_queue("hume", QUEUE))["pass_index"]
    await eventually(lambda: agent.find_queue("hume", QUEUE), lambda queue: queue["pass_index"] > start + 2)
    assert await world.rows_there() == (0, 3)
    await world.user.insert(QUEUE, [{"data": "new"}] * 7)
    trim = await constraint(agent, "stale_offset")
    assert (trim["target"], trim["constraint"]["subject"]) == (None, f"hume:{CONSUMER}")
    assert await world.rows_there() == (0, 10)
    await world.user.advance(CONSUMER, QUEUE, 0, 2)
    await eventually(world.rows_there, lambda rows: rows == (2, 10))


@pytest.mark.parametrize("attribute", ["queue_agent_banned", "static_export_config"])
async def test_what_old_state_tables_can_not_say_protects_a_queue_all_the_same(world: World, attribute: str) -> None:
    async with YtCluster("hume", ClusterConfig(proxy=world.proxy.address)) as cluster:
        await migrate(cluster, OLD_STATE, 0)
        if attribute == "static_export_config":
            schema = [column.to_map() for column in tables_at(0)["queues"] if column.name != attribute]
            await world.user.run("remove", path=f"{OLD_STATE}/queues", force=True)
            attributes = {"dynamic": True, "schema": schema}
            await world.user.run("create", type="table", path=f"{OLD_STATE}/queues", attributes=attributes)
            await world.user.run("mount_table", path=f"{OLD_STATE}/queues")
        assert attribute not in {column.name for column in await cluster.get_columns(f"{OLD_STATE}/queues")}
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    await world.user.set(f"{QUEUE}/@{attribute}", True if attribute == "queue_agent_banned" else {"daily": {}})
    state = {"cluster": "hume", "root": OLD_STATE, "consumer_registration_table_path": REGISTRATIONS}
    agent = await world.start(queue_agent=TRIMS, state=state)

    async def reason() -> Any:
        return (await constraint(agent, "error"))["constraint"]["message"]

    await eventually(reason, lambda message: attribute in message)
    assert await world.rows_there() == (0, 10)
    await world.user.run("remove", path=f"{QUEUE}/@{attribute}")
    await eventually(world.rows_there, lambda rows: rows == (4, 10))


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        (
            "queue_agent/queue_consumer_registration_manager/state_write_path",
            "//home/elsewhere",
            "hume://home/elsewhere",
        ),
        ("cluster_name", "pythia", 'calls itself "pythia"'),
    ],
)
async def test_an_agent_that_may_not_know_all_registrations_does_not_trim(
    world: World, key: str, value: str, words: str
) -> None:
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    await world.user.set(f"//sys/@cluster_connection/{key}", value)
    agent = await world.start(queue_agent=TRIMS)
    trim = await eventually(lambda: constraint(agent, "error"), lambda trim: words in trim["constraint"]["message"])
    assert trim["target"] is None
    assert words in str(await agent.alerts())
    assert await world.rows_there() == (0, 10)


async def test_a_queue_that_does_not_ask_for_it_has_nothing_to_tell(world: World) -> None:
    agent = await world.start(queue_agent=TRIMS)
    document = await eventually(lambda: agent.find_queue("hume", QUEUE), lambda queue: queue["pass_index"] > 3)
    assert document["partitions"][0]["trim"] is None
    assert await world.rows_there() == (0, 10)


async def test_rows_stay_for_their_lifetime_by_the_clock_of_the_cluster(world: World) -> None:
    await world.user.advance(CONSUMER, QUEUE, 0, 10)
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True, "retained_lifetime_duration": 3_600_000})
    agent = await world.start(queue_agent=TRIMS)
    trim = await constraint(agent, "retained_lifetime_duration")
    assert (trim["target"], trim["constraint"]["held_row_count"]) == (None, 10)
    world.clock.advance(timedelta(minutes=50))
    await world.user.insert(QUEUE, [{"data": "y"}] * 2)
    await world.user.advance(CONSUMER, QUEUE, 0, 12)
    world.clock.advance(timedelta(minutes=20))
    await eventually(world.rows_there, lambda rows: rows == (10, 12))
    assert (await constraint(agent, "retained_lifetime_duration"))["constraint"]["held_row_count"] == 2
    world.clock.advance(timedelta(minutes=50))
    await eventually(world.rows_there, lambda rows: rows == (12, 12))


async def test_an_observing_agent_decides_and_trims_nothing(world: World) -> None:
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    with capture_logs() as logs:
        agent = await world.start(trimming="observe")
        assert (await constraint(agent, "vital_consumer"))["target"] == 4
        start = (await agent.find_queue("hume", QUEUE))["pass_index"]
        await eventually(lambda: agent.find_queue("hume", QUEUE), lambda queue: queue["pass_index"] > start + 3)
        await world.user.advance(CONSUMER, QUEUE, 0, 10)
        await constraint(agent, "end_of_partition")
    assert await world.rows_there() == (0, 10)
    assert await world.journal() == []
    told = [log["constraint"]["kind"] for log in logs if log["event"] == "trimming observed"]
    # The consumer may not have been looked at yet, or judged, when the queue is for the first time.
    later = [kind for kind in told if kind not in {"error", "unproved_offset"}]
    assert later == ["vital_consumer", "end_of_partition"]


async def test_a_dynamic_document_does_not_make_an_observing_agent_trim(world: World) -> None:
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    await world.user.run("create", type="document", path="//sys/queue_agents/config")
    await world.user.set("//sys/queue_agents/config", {"queue_agent": TRIMS})
    agent = await world.start(trimming="observe")
    await constraint(agent, "vital_consumer")
    start = (await agent.find_queue("hume", QUEUE))["pass_index"]
    await eventually(lambda: agent.find_queue("hume", QUEUE), lambda queue: queue["pass_index"] > start + 3)
    assert await world.rows_there() == (0, 10)


async def test_a_refused_trim_is_logged_once_and_again_when_it_is_over(world: World) -> None:
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    alert = "queue_agent_queue_controller_trim_failed"
    with capture_logs() as logs:
        async with world.proxy.fault(Kind.ERROR, command="trim_rows"):
            agent = await world.start(queue_agent=TRIMS)
            queue = await eventually(
                lambda: agent.find_queue("hume", QUEUE),
                # Before the consumer was looked at, there may be another alert.
                lambda queue: "executing trimming request" in str(queue["status"].get("alerts", {}).get(alert)),
            )
            until = queue["pass_index"] + 3
            await eventually(lambda: agent.find_queue("hume", QUEUE), lambda queue: queue["pass_index"] >= until)
        await eventually(world.rows_there, lambda rows: rows == (4, 10))
        await eventually(lambda: agent.find_queue("hume", QUEUE), lambda queue: not queue["status"]["alerts"])
    events = [log["event"] for log in logs]
    assert events.count("partition not trimmed") == 1
    assert events.count("partition trimmed again") == 1


async def test_trims_are_written_to_the_journal(world: World) -> None:
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    await world.start(queue_agent=TRIMS)
    [row] = await eventually(world.journal, bool)
    object_id = (await world.user.run("get", path=f"{QUEUE}/@id"))["value"]
    assert (row["queue_cluster"], row["queue_path"], row["object_id"]) == ("hume", QUEUE, object_id)
    assert (row["partition_index"], row["lower_row_index"], row["trimmed_row_count"]) == (0, 0, 4)
    assert row["agent"].startswith("agent-1:")
    assert row["constraint"]["subject"] == f"hume:{CONSUMER}"


async def test_a_trim_whose_answer_was_lost_is_in_the_journal_too(world: World) -> None:
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    async with world.proxy.fault(Kind.LOST, command="trim_rows"):
        await world.start(queue_agent=TRIMS)
        await eventually(world.rows_there, lambda rows: rows == (4, 10))
        [row] = await eventually(world.journal, bool)
    assert world.proxy.hits == 1
    assert (row["lower_row_index"], row["trimmed_row_count"]) == (0, 4)


async def test_a_journal_that_is_not_there_is_an_alert_and_trimming_goes_on(world: World) -> None:
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    schema = (await world.user.run("get", path=f"{JOURNAL}/@schema"))["value"]
    attributes = {"dynamic": True, "schema": schema.get("$value", schema)}
    await world.user.run("remove", path=JOURNAL, force=True)
    with capture_logs() as logs:
        agent = await world.start(queue_agent=TRIMS)
        await eventually(agent.alerts, lambda alerts: "queue_agent_trim_journal_failed" in alerts)
        await eventually(world.rows_there, lambda rows: rows == (4, 10))
        await world.user.run("create", type="table", path=JOURNAL, attributes=attributes)
        await world.user.run("mount_table", path=JOURNAL)
        [row] = await eventually(world.journal, bool)
        assert row["trimmed_row_count"] == 4
        await eventually(agent.alerts, lambda alerts: "queue_agent_trim_journal_failed" not in alerts)
    assert [log["event"] for log in logs].count("cannot write the trim journal") <= 2


async def test_a_journal_that_is_not_wanted_is_not_written(world: World) -> None:
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    await world.start(queue_agent={"controller": {"enable_automatic_trimming": True, "trim_journal": False}})
    await eventually(world.rows_there, lambda rows: rows == (4, 10))
    assert await world.journal() == []


async def test_the_journal_forgets_by_itself(world: World) -> None:
    names = ["min_data_versions", "max_data_ttl", "auto_compaction_period"]
    attributes = (await world.user.run("get", path=f"{JOURNAL}/@", attributes=names))["value"]
    assert attributes == {
        "min_data_versions": 0,
        "max_data_ttl": 30 * 24 * 3600 * 1000,
        "auto_compaction_period": 24 * 3600 * 1000,
    }


async def test_a_plan_tells_what_a_policy_would_do_and_does_nothing(world: World) -> None:
    agent = await world.start()
    queue = parse_table(f"hume:{QUEUE}", "QUEUE")
    await eventually(lambda: agent.find_queue("hume", QUEUE), lambda queue: queue["pass_index"] > 0)
    # The consumer has to be looked at after the queue was.
    await eventually(lambda: fetch_plan(agent.origin, queue, {}), lambda plan: plan["row_count"] == 4)
    plan = await fetch_plan(agent.origin, queue, None)
    assert plan["trimming"] == "off"
    assert plan["partitions"][0]["constraint"]["kind"] == "disabled"
    plan = await fetch_plan(agent.origin, queue, {"retained_rows": 8})
    [partition] = plan["partitions"]
    assert (partition["target"], partition["row_count"], partition["data_weight"]) == (2, 2, 36)
    assert partition["constraint"]["kind"] == "retained_rows"
    plan = await fetch_plan(agent.origin, parse_table(f"<cluster=hume>{QUEUE}", "QUEUE"), {"enable": True})
    assert (plan["row_count"], plan["partitions"][0]["target"]) == (4, 4)
    table = render_plan(plan)
    assert "vital_consumer hume://tmp/c" in table
    assert "this agent does not trim" in table
    assert "would go: 4 rows, 72 bytes" in table
    assert await world.rows_there() == (0, 10)


@pytest.mark.parametrize(
    ("queue", "policy", "words"),
    [
        ("hume://tmp/nothing", None, "is not served by this queue agent"),
        (f"hume:{QUEUE}", {"retained_rows": -1}, 'Error reading "retained_rows"'),
        (f"hume:{QUEUE}", [], "not a map"),
        (f"hume:{QUEUE}", {"retained_row": 5, "enabled": True}, "keys without a meaning: enabled, retained_row"),
    ],
)
async def test_a_plan_that_can_not_be_had_is_an_error_that_says_why(
    world: World, queue: str, policy: Any, words: str
) -> None:
    agent = await world.start()
    await eventually(lambda: agent.find_queue("hume", QUEUE), lambda queue: queue["pass_index"] > 0)
    with pytest.raises(CommandError, match=words):
        await fetch_plan(agent.origin, parse_table(queue, "QUEUE"), policy)


async def test_a_plan_shows_what_is_wrong_with_the_queue(world: World) -> None:
    await world.user.run("unregister_queue_consumer", queue_path=QUEUE, consumer_path=CONSUMER)
    agent = await world.start()
    await eventually(lambda: agent.find_queue("hume", QUEUE), lambda queue: queue["pass_index"] > 0)
    plan = await fetch_plan(agent.origin, parse_table(f"hume:{QUEUE}", "QUEUE"), {"enable": True})
    assert "is trimmed until it has a vital consumer" in render_plan(plan)
    assert plan["partitions"][0]["constraint"]["kind"] == "no_vital_consumer"
    assert plan["row_count"] == 0
