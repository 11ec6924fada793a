"""Nothing is trimmed where clusters and configuration disagree about names or the table of registrations."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from queue_agent.controllers.state import connections as connections_module
from queue_agent.controllers.state.connections import IMPATIENT_PERIOD, KIND, PERIOD, Connections, parse_connection
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.state.connections import Connection
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterUnavailable
from tests.unit.controllers.agent_world import World, look
from tests.waiting import LIMIT_SECONDS
from yt_wire import yson

THERE = CrossClusterRef("there", "//t")
OURS = CrossClusterRef("pythia", "//sys/queue_agents/consumer_registrations")


def sys_attributes(name: str, read: Any = None, write: Any = None) -> dict[str, Any]:
    paths = {"state_read_path": read, "state_write_path": write}
    manager = {key: path for key, path in paths.items() if path is not None}
    return {
        "cluster_connection": {
            "cluster_name": name,
            "queue_agent": {"queue_consumer_registration_manager": manager},
        }
    }


class ConnectedWorld(World):
    """Both clusters tell of themselves; the agent reads registrations from pythia."""

    def __init__(self) -> None:
        super().__init__()
        self.pythia.attributes["//sys"] = sys_attributes("pythia", OURS.path, OURS.path)
        rich = yson.with_attributes(OURS.path, {"cluster": "pythia"})
        self.hume.attributes["//sys"] = sys_attributes("hume", rich, rich)
        self.connections = Connections(self.clusters, OURS, self.board, self.clock, self.origins, self.observer)
        self.context.connections = self.connections

    async def trims(self) -> list[tuple[str, int, int]]:
        """Of passes of all objects."""
        await look(self.queue_controller(Role.FOLLOWING), self.consumer)
        await self.queue_controller().do_pass(1)
        return self.pythia.trims


@pytest.fixture
async def world() -> ConnectedWorld:
    world = ConnectedWorld()
    await world.synchronize()
    return world


async def test_clusters_that_agree_are_trimmed(world: ConnectedWorld) -> None:
    await world.connections.do_pass(0)
    assert await world.trims() == [("1-2-3-4", 0, 42)]
    assert world.board.alerts() == {}
    assert world.connections.period == PERIOD


async def test_before_a_cluster_has_answered_nothing_that_concerns_it_is_trimmed(world: ConnectedWorld) -> None:
    world.hume.broken = ClusterUnavailable("hume does not answer", 105)
    await world.connections.do_pass(0)
    assert world.connections.period == IMPATIENT_PERIOD
    world.hume.broken = None
    assert await world.trims() == []
    assert "has not said yet" in str(world.trim_alert())
    await world.connections.do_pass(1)
    world.hume.broken = ClusterUnavailable("hume does not answer", 105)
    await world.connections.do_pass(2)
    world.hume.broken = None
    assert await world.trims() == [("1-2-3-4", 0, 42)]


async def test_a_cluster_that_keeps_silent_does_not_keep_others_from_being_known(
    world: ConnectedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def keep_silent(path: str, names: Any) -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr(connections_module, "PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(world.hume, "get_attributes", keep_silent)
    async with asyncio.timeout(LIMIT_SECONDS):
        await world.connections.do_pass(0)
    origin = world.origins.make(world.clock.now())
    assert world.connections.find_mismatch(["pythia"], origin) is None
    assert world.connections.find_mismatch(["hume"], origin) is not None


async def test_a_cluster_whose_proxies_keep_registrations_elsewhere_stops_trimming(world: ConnectedWorld) -> None:
    world.hume.attributes["//sys"] = sys_attributes("hume", "//home/other", "//home/other")
    with capture_logs() as logs:
        await world.connections.do_pass(0)
    assert [log["cluster"] for log in logs if log["event"] == "registrations may not be all"] == ["hume"]
    with capture_logs() as logs:
        await world.connections.do_pass(1)
    assert await world.trims() == []
    assert "keep them in hume://home/other" in str(world.trim_alert())
    assert "hume://home/other" in str(world.board.alerts())
    assert [log for log in logs if log["event"] == "registrations may not be all"] == []
    world.hume.attributes["//sys"] = sys_attributes("hume", f"<cluster=pythia>{OURS.path}")
    await world.connections.do_pass(2)
    assert world.board.alerts() == {}
    assert await world.trims() == [("1-2-3-4", 0, 42)]


async def test_several_read_clusters_are_replicas_of_what_is_written(world: ConnectedWorld) -> None:
    read = yson.with_attributes(OURS.path, {"clusters": ["hume", "pythia"]})
    write = yson.with_attributes("//home/replicated", {"cluster": "hume"})
    for cluster in (world.pythia, world.hume):
        cluster.attributes["//sys"] = sys_attributes(cluster.name, read, write)
    replica = {"cluster_name": "pythia", "replica_path": OURS.path, "state": "enabled", "mode": "async"}
    world.pythia.attributes[OURS.path] = {"id": "1-1-1-1", "upstream_replica_id": "7-7-7-7"}
    world.hume.attributes["//home/replicated"] = {"id": "9-9-9-9", "replicas": {"7-7-7-7": replica}}
    await world.connections.do_pass(0)
    assert await world.trims() == []
    assert "enabled and async" in str(world.trim_alert())
    world.hume.attributes["//home/replicated"] = {"id": "9-9-9-9", "replicas": {"7-7-7-7": {**replica, "mode": "sync"}}}
    await world.connections.do_pass(1)
    assert await world.trims() == [("1-2-3-4", 0, 42)]


async def test_a_cluster_by_another_name_stops_trimming(world: ConnectedWorld) -> None:
    world.hume.attributes["//sys"] = {"cluster_name": "pythia"}
    await world.connections.do_pass(0)
    assert await world.trims() == []
    assert 'calls itself "pythia"' in str(world.trim_alert())


async def test_a_cluster_that_says_nothing_is_told_of_once(world: ConnectedWorld) -> None:
    del world.pythia.attributes["//sys"]
    world.hume.attributes["//sys"] = {"cluster_connection": {"queue_agent": "nonsense"}}
    for pass_index, told in enumerate((["pythia", "hume"], [])):
        with capture_logs() as logs:
            await world.connections.do_pass(pass_index)
        assert [log["cluster"] for log in logs if log["event"].startswith("cluster does not tell")] == told
    assert await world.trims() == [("1-2-3-4", 0, 42)]


async def test_a_cluster_is_not_taken_for_known_before_it_is_judged(world: ConnectedWorld) -> None:
    world.hume.attributes["//sys"] = sys_attributes("hume", "//home/other", "//home/other")
    get_attributes = world.pythia.get_attributes
    mismatches: list[bool] = []

    async def get(path: str, names: Any) -> Any:
        if path == OURS.path:
            origin = world.origins.make(world.clock.now())
            mismatches.append(world.connections.find_mismatch(["pythia", "hume"], origin) is not None)
        return await get_attributes(path, names)

    world.pythia.get_attributes = get  # type: ignore[method-assign] # in the middle of the pass
    await world.connections.do_pass(0)
    assert mismatches == [True]


async def test_a_cluster_that_tells_of_reading_alone_does_tell(world: ConnectedWorld) -> None:
    world.pythia.attributes["//sys"] = sys_attributes("pythia", OURS.path)
    with capture_logs() as logs:
        await world.connections.do_pass(0)
    assert logs == []


async def test_a_cluster_that_does_not_answer_does_not_keep_others_from_being_known(world: ConnectedWorld) -> None:
    assert list(world.clusters) == ["pythia", "hume"]
    world.pythia.broken = ClusterUnavailable("pythia does not answer", 105)
    await world.connections.do_pass(0)
    origin = world.origins.make(world.clock.now())
    assert world.connections.find_mismatch(["hume"], origin) is None
    assert world.connections.find_mismatch(["pythia"], origin) is not None


async def test_how_a_pass_ended_is_told(world: ConnectedWorld) -> None:
    world.connections.pass_finished(1, 0.5, None)
    world.connections.pass_finished(2, 0.5, ClusterUnavailable("gone", 105))
    assert world.observer.passes == [(KIND, None), (KIND, ClusterUnavailable)]


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"cluster_connection": {"cluster_name": "a"}, "cluster_name": "b"}, Connection("a")),
        ({"cluster_name": "b"}, Connection("b")),
        ({"cluster_name": 5}, Connection()),
        (
            sys_attributes("a", "//r", "//w"),
            Connection("a", [THERE._replace(path="//r")], [THERE._replace(path="//w")]),
        ),
        (
            sys_attributes("a", yson.with_attributes("//r", {"clusters": ["b", "c"]})),
            Connection("a", [CrossClusterRef("b", "//r"), CrossClusterRef("c", "//r")]),
        ),
        (
            sys_attributes("a", yson.with_attributes("//r", {"clusters": 5})),
            Connection("a", [THERE._replace(path="//r")]),
        ),
    ],
)
def test_a_cluster_is_taken_at_its_word(attributes: dict[str, Any], expected: Connection) -> None:
    assert parse_connection("there", attributes) == expected
