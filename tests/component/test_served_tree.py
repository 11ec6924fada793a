"""The agent's tree as masters and people see it, and the dynamic configuration: a whole agent with local clusters."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from tests.component.running_agent import PERIOD_MILLISECONDS, RunningAgent, User, eventually, running_agent
from yt_local.queues.orchid_gateway import OrchidGateway
from yt_local.runner import LocalClusters
from yt_wire import yson
from yt_wire.error import YtError
from yt_wire.orchid import join_path

QUEUE, CONSUMER = "//tmp/q", "//tmp/c"
QUEUE_KEY, CONSUMER_KEY = f"hume:{QUEUE}", f"hume:{CONSUMER}"
CONFIG = "//sys/queue_agents/config"


@dataclass(frozen=True)
class World:
    """A cluster with a queue of two partitions and a vital consumer, and an agent."""

    agent: RunningAgent
    user: User
    gateway: OrchidGateway

    async def get(self, *keys: str) -> Any:
        """As a master asks, with attributes and types as they are."""
        return await self.gateway.get([self.agent.rpc_address], join_path(keys))

    async def list(self, *keys: str) -> Any:
        return await self.gateway.list([self.agent.rpc_address], join_path(keys))

    async def attribute(self, *keys: str, name: str = "") -> Any:
        """Of the node at a path of keys; all of them without a name."""
        return await self.gateway.get([self.agent.rpc_address], f"{join_path(keys)}/@{name}")

    async def refused(self, *keys: str) -> tuple[int, str]:
        """Code and message of the error below that of resolving the path."""
        with pytest.raises(YtError, match="Error resolving path") as error:
            await self.get(*keys)
        assert error.value.code == 500
        [cause] = error.value.inner_errors
        return cause.code, cause.message

    async def queue(self) -> Any:
        return await self.agent.find_queue("hume", QUEUE)

    async def configure(self, document: Any) -> None:
        await self.user.run("create", type="document", path=CONFIG, ignore_existing=True)
        await self.user.set(CONFIG, document)

    async def alerts_are(self, *categories: str) -> Any:
        return await eventually(self.agent.alerts, lambda alerts: set(alerts) == set(categories))

    async def trimmed(self) -> int:
        return int((await self.user.run("get", path=f"{QUEUE}/@tablets"))["value"][0]["trimmed_row_count"])


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


async def start(stack: AsyncExitStack, **options: Any) -> World:
    clusters = await stack.enter_async_context(LocalClusters({"hume": 0}))
    session = await stack.enter_async_context(aiohttp.ClientSession())
    gateway = await stack.enter_async_context(OrchidGateway())
    user = User(session, "hume", clusters.addresses["hume"])
    await user.create_queue(QUEUE, tablet_count=2, auto_trim_config={"enable": True})
    await user.create_consumer(CONSUMER, QUEUE)
    agent = await stack.enter_async_context(running_agent(session, clusters.addresses, **options))
    world = World(agent, user, gateway)
    await eventually(world.queue, lambda queue: queue["error"] is None)
    await eventually(
        lambda: agent.find_consumer("hume", CONSUMER),
        lambda consumer: "'partition_count'" in str(consumer["status"].get("queues")),
    )
    return world


async def test_the_top_of_the_tree_shows_what_there_is_without_what_is_opaque(stack: AsyncExitStack) -> None:
    world = await start(stack)
    top = await world.get()
    assert set(top) == {
        "service",
        "config",
        "dynamic_config_manager",
        "alerts",
        "queue_agent_sharding_manager",
        "cypress_synchronizer",
        "queue_agent",
    }
    assert top["service"] is top["alerts"] is None
    assert set(top["cypress_synchronizer"]) == {"active", "pass_index", "pass_instant", "pass_error"}
    assert top["cypress_synchronizer"]["active"] is True
    assert top["queue_agent_sharding_manager"].keys() == top["cypress_synchronizer"].keys()
    assert top["queue_agent_sharding_manager"]["active"] is True
    assert {key for key, value in top["queue_agent"].items() if value is None} == {
        f"{owned}{kind}" for owned in ("", "owned_") for kind in ("queues", "consumers", "multi_consumers")
    }
    assert top["queue_agent"]["pass_error"]["code"] == 0
    service = await world.get("service")
    assert (service["name"], set(service)) == ("queue_agent", {"name", "version", "start_time"})
    assert (await world.agent.get("/orchid/service"))[0] == 200


async def test_the_configuration_is_shown_unless_that_is_not_wanted(stack: AsyncExitStack) -> None:
    world = await start(stack)
    config = await world.get("config")
    assert config["stage"] == "production"
    assert config["queue_agent"]["controller"]["pass_period"] == PERIOD_MILLISECONDS
    hidden = await start(stack, expose_config_in_orchid=False)
    assert not {"config", "dynamic_config_manager"} & set(await hidden.list())


async def test_lists_of_objects_have_keys_and_only_the_owned_ones_have_values(stack: AsyncExitStack) -> None:
    world = await start(stack)
    for kind, key in (("queues", QUEUE_KEY), ("consumers", CONSUMER_KEY)):
        assert await world.list("queue_agent", kind) == await world.list("queue_agent", f"owned_{kind}") == [key]
        assert await world.get("queue_agent", kind) == {key: None}
        owned = await world.get("queue_agent", f"owned_{kind}")
        assert owned[key]["leading"] is True
    assert await world.get("queue_agent", "multi_consumers") == {}


async def test_nodes_have_the_attributes_they_have_in_the_reference(stack: AsyncExitStack) -> None:
    world = await start(stack)
    for node in ("service", "alerts"):
        assert await world.attribute(node) == {"opaque": True}
    assert await world.attribute("queue_agent", "queues") == {"opaque": True, "count": 1}
    assert await world.attribute("queue_agent", "queues", name="count") == 1
    assert await world.attribute("queue_agent", "pass_index") == {}
    assert await world.attribute("queue_agent", "queues", QUEUE_KEY) == {}
    with pytest.raises(YtError, match='Attribute "nothing" is not found'):
        await world.attribute("alerts", name="nothing")
    with pytest.raises(YtError, match="is not mapped"):
        await world.attribute("queue_agent", "queues", "hume://tmp/other")
    assert await world.agent.get("/orchid/alerts/@opaque") == (200, True)
    assert await world.agent.get("/orchid/alerts/@?verb=list") == (200, ["opaque"])
    assert (await world.agent.get("/orchid/alerts/@nothing"))[0] == 404


async def test_the_node_of_an_object_is_complete(stack: AsyncExitStack) -> None:
    world = await start(stack)
    queue = await world.get("queue_agent", "queues", QUEUE_KEY)
    common = {"leading", "pass_index", "pass_instant", "row", "replicated_table_mapping_row", "status", "partitions"}
    assert set(queue) == {*common, "exporters"}
    assert queue["replicated_table_mapping_row"] is None
    assert queue["exporters"] == {}
    assert set(queue["row"]) == {
        "queue",
        "row_revision",
        "revision",
        "object_type",
        "dynamic",
        "sorted",
        "auto_trim_config",
        "static_export_config",
        "queue_agent_stage",
        "object_id",
        "queue_agent_banned",
        "synchronization_error",
        "queue_profiling_tag",
    }
    assert isinstance(queue["row"]["revision"], yson.Uint64)
    assert queue["row"]["synchronization_error"]["code"] == 0
    assert len(queue["partitions"]) == queue["status"]["partition_count"] == 2

    consumer = await world.get("queue_agent", "consumers", CONSUMER_KEY)
    assert set(consumer) == common
    assert set(consumer["row"]) == {
        "consumer",
        "row_revision",
        "revision",
        "object_type",
        "treat_as_queue_consumer",
        "schema",
        "queue_agent_stage",
        "queue_agent_banned",
        "synchronization_error",
        "queue_consumer_profiling_tag",
    }
    assert yson.attributes_of(consumer["row"]["schema"])["unique_keys"]
    assert list(consumer["partitions"]) == [QUEUE_KEY]


async def test_paths_go_on_inside_objects(stack: AsyncExitStack) -> None:
    world = await start(stack)
    keys = ("queue_agent", "consumers", CONSUMER_KEY, "partitions", QUEUE_KEY)
    assert await world.get(*keys, "1", "next_row_index") == 0
    assert await world.get("queue_agent", "queues", QUEUE_KEY, "row", "object_type") == "table"
    assert await world.get("queue_agent", "queues", QUEUE_KEY, "partitions", "-1", "lower_row_index") == 0
    assert "partition_count" in await world.list("queue_agent", "queues", QUEUE_KEY, "status")
    assert (await world.refused(*keys, "2"))[0] == 500


@pytest.mark.parametrize(
    ("keys", "code", "words"),
    [
        (("queue_agent", "queues", "hume://tmp/x"), 3105, "Object hume://tmp/x is not mapped to any queue agent"),
        (("queue_agent", "owned_consumers", "x://tmp/c"), 3105, "Object x://tmp/c is not mapped to any queue agent"),
        (("queue_agent", "consumers", QUEUE_KEY), 500, "has no child with key"),
        (("queue_agent", "queues", CONSUMER_KEY, "status"), 500, "has no child with key"),
        (("queue_agent", "multi_consumers", CONSUMER_KEY), 500, "has no child with key"),
        (("queue_agent", "producers", QUEUE_KEY), 500, 'has no child with key "producers"'),
        (("queue_agent", "queues", QUEUE_KEY, "states"), 500, 'has no child with key "states"'),
        (("alerts", "x"), 500, 'has no child with key "x"'),
    ],
)
async def test_what_is_not_there_is_refused_as_masters_expect(
    stack: AsyncExitStack, keys: tuple[str, ...], code: int, words: str
) -> None:
    world = await start(stack)
    found = await world.refused(*keys)
    assert (found[0], words in found[1]) == (code, True), found


async def test_exports_in_error_are_an_entity_with_the_error(stack: AsyncExitStack) -> None:
    world = await start(stack)
    await world.user.set(
        f"{QUEUE}/@static_export_config", {"x": {"export_directory": "//tmp/e", "export_period": 1500}}
    )
    await eventually(world.queue, lambda queue: "error" in queue["status"]["exports"])
    exporters = await world.get("queue_agent", "queues", QUEUE_KEY, "exporters")
    assert yson.is_null(exporters)
    assert yson.attributes_of(exporters)["error"]["message"] == "Incorrect queue exports"
    path = ("queue_agent", "queues", QUEUE_KEY, "exporters")
    assert await world.attribute(*path, name="error/message") == "Incorrect queue exports"


async def test_a_queue_whose_row_is_in_error_is_served_without_a_controller(stack: AsyncExitStack) -> None:
    world = await start(stack)
    before = await eventually(world.queue, lambda queue: queue["pass_index"] > 10)
    await world.user.set(f"{QUEUE}/@auto_trim_config", {"retained_lifetime_duration": 1500})
    await eventually(world.queue, lambda queue: queue["role"] == "error")
    node = await world.get("queue_agent", "queues", QUEUE_KEY)
    assert set(node) == {"row", "replicated_table_mapping_row", "status", "partitions"}
    assert (set(node["status"]), node["partitions"]) == ({"error"}, [])
    error = node["status"]["error"]
    assert error["message"] == "Queue synchronization error"
    [parsing] = error["inner_errors"]
    assert parsing["message"] == 'Error parsing attribute "auto_trim_config"'
    assert "must be a multiple of 1000 (1 second)" in parsing["inner_errors"][0]["message"]

    await world.user.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    after = await eventually(world.queue, lambda queue: queue["role"] == "leading" and queue["error"] is None)
    assert after["pass_index"] < before["pass_index"], "a new controller counts from the start"
    rates = after["partitions"][0]["write_row_count_rate"]
    assert set(rates.values()) == {0.0}


async def test_a_banned_object_says_since_when_and_starts_anew_afterwards(stack: AsyncExitStack) -> None:
    world = await start(stack, trimming="allowed")
    await world.configure({"queue_agent": {"controller": {"enable_automatic_trimming": True}}})
    await world.user.run("unregister_queue_consumer", queue_path=QUEUE, consumer_path=CONSUMER)
    await eventually(world.queue, lambda queue: queue["status"]["alerts"] != {})

    await world.user.set(f"{QUEUE}/@queue_agent_banned", True)
    first = await eventually(world.queue, lambda queue: queue["error"] is not None)
    assert first["error"]["message"].startswith('Queue is banned by "queue_agent_banned" attribute (BannedSince: ')
    later = await eventually(world.queue, lambda queue: queue["pass_index"] > first["pass_index"] + 3)
    assert later["error"]["message"] == first["error"]["message"]
    assert (later["partitions"], later["status"]["alerts"]) == ([], {})
    reason = later["status"]["exports"]["error"]["inner_errors"][0]
    assert reason["message"] == "Exports are disabled, since this queue is banned"

    await world.user.set(f"{QUEUE}/@queue_agent_banned", False)
    healthy = await eventually(world.queue, lambda queue: queue["error"] is None)
    assert healthy["pass_index"] > later["pass_index"], "the controller is the same"

    await world.user.set(f"{CONSUMER}/@queue_agent_banned", True)
    consumer = await eventually(
        lambda: world.agent.find_consumer("hume", CONSUMER), lambda consumer: consumer["error"] is not None
    )
    assert consumer["error"]["message"].startswith('Consumer is banned by "queue_agent_banned" attribute (BannedSince:')
    assert consumer["partitions"] == []


async def test_controller_info_lists_and_counts(stack: AsyncExitStack) -> None:
    world = await start(stack)
    for index in range(3):
        await world.user.create_queue(f"//tmp/more/q{index}")
    await world.user.create_queue("//tmp/more/bad", auto_trim_config={"retained_rows": "many"})

    async def info() -> Any:
        return await world.get("queue_agent", "controller_info")

    found = await eventually(
        info,
        lambda info: (
            len(info["inactive_objects"]["leading_queues"]) == 4 and info["erroneous_objects"]["queue_count"] == 1
        ),
    )
    kinds = [
        f"{role}_{kind}" for kind in ("queues", "consumers", "multi_consumers") for role in ("leading", "following")
    ]
    assert list(found["inactive_objects"]) == kinds
    assert found["erroneous_objects"] == {"queue_count": 1, "consumer_count": 0, "multi_consumer_count": 0}
    instants = [one["pass_instant"] for one in found["inactive_objects"]["leading_queues"]]
    assert instants == sorted(instants)
    assert {**found["per_cluster"]["hume"]}.keys() == {"inactive_objects", "erroneous_objects"}

    await world.configure({"queue_agent": {"inactive_object_display_limit": 2}})
    await eventually(info, lambda info: len(info["inactive_objects"]["leading_queues"]) == 2)


async def test_a_document_on_the_cluster_turns_trimming_on_and_off(stack: AsyncExitStack) -> None:
    world = await start(stack, trimming="allowed")
    await world.user.insert(QUEUE, [{"$tablet_index": 0, "data": "x"}] * 5)
    await world.user.advance(CONSUMER, QUEUE, 0, 3)
    await world.configure(operators_document())
    await eventually(world.trimmed, lambda count: count == 3)
    node = await world.get("dynamic_config_manager")
    assert node["applied_config"] == operators_document()
    assert node["effective_config"]["queue_agent"]["controller"]["enable_automatic_trimming"] is True
    assert node["effective_config"]["queue_agent"]["controller"]["pass_period"] == PERIOD_MILLISECONDS
    assert node["errors"] == []

    await world.user.run("unregister_queue_consumer", queue_path=QUEUE, consumer_path=CONSUMER)
    await eventually(
        world.queue, lambda queue: list(queue["status"]["alerts"]) == ["queue_agent_queue_controller_trim_failed"]
    )
    await world.configure({"queue_agent": {"controller": {"enable_automatic_trimming": False}}})
    await eventually(world.queue, lambda queue: queue["status"]["alerts"] == {})


@pytest.mark.parametrize("options", [{}, {"trimming": "never"}], ids=["unless told otherwise", "never"])
async def test_the_file_forbids_trimming_whatever_the_document_says(
    stack: AsyncExitStack, options: dict[str, str]
) -> None:
    world = await start(stack, **options)
    await world.user.insert(QUEUE, [{"$tablet_index": 0, "data": "x"}] * 5)
    await world.user.advance(CONSUMER, QUEUE, 0, 3)
    await world.configure(operators_document())
    await eventually(
        lambda: world.get("dynamic_config_manager", "applied_config"), lambda config: config == operators_document()
    )
    start_index = (await world.queue())["pass_index"]
    await eventually(world.queue, lambda queue: queue["pass_index"] > start_index + 5)
    assert await world.trimmed() == 0


async def test_a_document_that_makes_no_sense_is_an_alert_until_it_is_right(stack: AsyncExitStack) -> None:
    world = await start(stack)
    await world.configure({"queue_agent": {"controller": {"trimming_period": 0}}})
    alerts = await world.alerts_are("invalid_dynamic_config")
    assert "queue_agent.controller.trimming_period" in alerts["invalid_dynamic_config"]["inner_errors"][0]["message"]
    await world.configure({"queue_agent": {"controller": {"trimming_period": 1000}, "controller_thread_count": 8}})
    await world.alerts_are()
    [remark] = await world.get("dynamic_config_manager", "errors")
    assert remark["attributes"]["unrecognized_options"] == ["queue_agent/controller_thread_count"]
    await world.user.run("remove", path=CONFIG)
    await eventually(lambda: world.get("dynamic_config_manager", "applied_config"), lambda config: config == {})


async def test_the_synchronizer_rests_while_the_document_says_so(stack: AsyncExitStack) -> None:
    world = await start(stack)
    await world.configure({"cypress_synchronizer": {"enable": False}})
    await eventually(lambda: world.get("cypress_synchronizer"), lambda node: node["active"] is False)
    await world.user.create_queue("//tmp/new")
    pass_index = (await world.queue())["pass_index"]
    await eventually(world.queue, lambda queue: queue["pass_index"] > pass_index + 20)
    assert await world.agent.find_queue("hume", "//tmp/new") is None
    await world.configure({})
    await eventually(lambda: world.agent.find_queue("hume", "//tmp/new"), lambda queue: queue["error"] is None)
    assert await world.get("cypress_synchronizer", "active") is True


async def test_a_new_period_counts_without_a_restart(stack: AsyncExitStack) -> None:
    world = await start(stack)
    await world.configure({"queue_agent": {"controller": {"pass_period": 3_600_000}}})
    await eventually(
        lambda: world.get("dynamic_config_manager", "effective_config", "queue_agent", "controller", "pass_period"),
        lambda period: period == 3_600_000,
    )
    resting = (await world.queue())["pass_index"]
    await world.configure({"queue_agent": {"controller": {"pass_period": 20}}})
    await eventually(world.queue, lambda queue: queue["pass_index"] > resting + 10)


def operators_document() -> Mapping[str, Any]:
    """What the k8s operator writes."""
    return {
        "queue_agent": {"controller": {"enable_automatic_trimming": True}},
        "cypress_synchronizer": {"policy": "watching", "clusters": ["hume"]},
    }
