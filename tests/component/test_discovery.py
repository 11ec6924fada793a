"""Synchronizer and agent pass against local clusters."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import pytest

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.adapters.state.state_tables import StateTable
from queue_agent.config.clusters import ClusterConfig
from queue_agent.config.passes import CypressSynchronizerConfig
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.state.rows import ConsumerRow, QueueRow, Registration
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ObjectNotFound, QueueAgentError
from tests.component.discovery_world import (
    QUEUE_SCHEMA,
    ROOT,
    World,
    create_consumer,
    create_queue,
    create_table,
    migrate,
    open_clusters,
    open_world,
    register,
    remove,
    set_attribute,
)

QUEUE = "//home/q"
CONSUMER = "//home/c"
QUEUE_REF = CrossClusterRef("pythia", QUEUE)
CONSUMER_REF = CrossClusterRef("hume", CONSUMER)
POLLING = CypressSynchronizerConfig(policy="polling")


@pytest.fixture
async def clusters() -> AsyncIterator[Mapping[str, YtCluster]]:
    async with open_clusters() as clusters:
        yield clusters


@pytest.fixture
async def world(clusters: Mapping[str, YtCluster]) -> AsyncIterator[World]:
    async with open_world(clusters) as world:
        yield world


def error_code(row: QueueRow | ConsumerRow) -> int:
    assert row.synchronization_error is not None
    return int(row.synchronization_error["code"])


async def test_objects_come_into_the_tables_and_go_with_them(world: World) -> None:
    object_id = await create_queue(world.pythia, QUEUE, auto_trim_config={"enable": True})
    await create_consumer(world.hume, CONSUMER)
    await world.passes()
    row = (await world.queue_rows())[str(QUEUE_REF)]
    assert (row.object_id, row.object_type, row.dynamic, row.sorted) == (object_id, "table", True, False)
    assert (row.queue_agent_stage, row.auto_trim_config, row.row_revision) == ("production", {"enable": True}, 1)
    assert error_code(row) == 0
    assert (await world.consumer_rows())[str(CONSUMER_REF)].treat_as_queue_consumer is True
    assert world.running() == {str(QUEUE_REF): Role.LEADING, str(CONSUMER_REF): Role.LEADING}

    await set_attribute(world.pythia, QUEUE, "auto_trim_config", {"enable": False})
    await remove(world.hume, CONSUMER)
    await world.passes()
    row = (await world.queue_rows())[str(QUEUE_REF)]
    assert (row.auto_trim_config, row.row_revision) == ({"enable": False}, 2)
    assert await world.consumer_rows() == {}
    assert world.running() == {str(QUEUE_REF): Role.LEADING}


async def test_objects_of_a_transaction_are_found_when_it_has_been_committed(world: World) -> None:
    started = await world.pythia.execute("start_transaction", {"timeout": 60_000})
    inside = {"transaction_id": started["transaction_id"]}
    attributes = {"dynamic": True, "schema": QUEUE_SCHEMA}
    created = await world.pythia.execute(
        "create", {"type": "table", "path": QUEUE, "attributes": attributes, "recursive": True, **inside}
    )
    await world.passes()
    assert await world.queue_rows() == {}
    assert world.running() == {}

    await world.pythia.execute("commit_transaction", inside)
    await world.passes()
    assert (await world.queue_rows())[str(QUEUE_REF)].object_id == created["node_id"]
    assert world.running() == {str(QUEUE_REF): Role.LEADING}


async def test_a_queue_that_is_removed_in_a_transaction_stays_until_it_has_been_committed(world: World) -> None:
    await create_queue(world.pythia, QUEUE)
    await world.passes()
    for end, left in (("abort_transaction", 1), ("commit_transaction", 0)):
        started = await world.pythia.execute("start_transaction", {"timeout": 60_000})
        inside = {"transaction_id": started["transaction_id"]}
        await world.pythia.execute("remove", {"path": QUEUE, **inside})
        await world.passes()
        assert list(await world.queue_rows()) == [str(QUEUE_REF)]
        await world.pythia.execute(end, inside)
        await world.passes()
        assert len(await world.queue_rows()) == left


async def test_writing_rows_is_no_change_of_a_queue(world: World) -> None:
    await create_queue(world.pythia, QUEUE)
    await world.passes()
    world.written.clear()
    await world.pythia.insert_rows(QUEUE, [{"$tablet_index": 0, "data": "x"}])
    await world.passes()
    assert not world.written.is_set()


async def test_a_queue_that_becomes_a_consumer_changes_tables(world: World) -> None:
    await create_queue(world.pythia, QUEUE)
    await world.passes()
    await remove(world.pythia, QUEUE)
    await create_consumer(world.pythia, QUEUE)
    await world.passes()
    assert await world.queue_rows() == {}
    assert list(await world.consumer_rows()) == [str(QUEUE_REF)]
    assert world.fleets.queues.running == {}
    assert world.fleets.consumers.running == {QUEUE_REF: Role.LEADING}


async def test_a_sorted_table_is_a_consumer_only_while_it_is_marked(world: World) -> None:
    await create_consumer(world.hume, CONSUMER)
    await world.passes()
    await set_attribute(world.hume, CONSUMER, "treat_as_queue_consumer", False)
    await world.passes()
    assert await world.consumer_rows() == {}


async def test_a_table_made_anew_at_the_same_path_is_noticed(world: World) -> None:
    first = await create_queue(world.pythia, QUEUE)
    await world.passes()
    await remove(world.pythia, QUEUE)
    second = await create_queue(world.pythia, QUEUE)
    await world.passes()
    row = (await world.queue_rows())[str(QUEUE_REF)]
    assert first != row.object_id == second
    assert row.row_revision == 2


async def test_a_link_is_no_queue_and_registrations_are_of_the_table_behind_it(world: World) -> None:
    await create_queue(world.pythia, QUEUE)
    await create_consumer(world.hume, CONSUMER)
    await world.pythia.execute("link", {"target_path": QUEUE, "link_path": "//home/link"})
    await register(world.hume, "<cluster=pythia>//home/link", CONSUMER)
    await world.passes()
    assert list(await world.queue_rows()) == [str(QUEUE_REF)]
    assert world.board.registrations_of_queue(QUEUE_REF) == [Registration(QUEUE_REF, CONSUMER_REF, vital=True)]


async def test_attributes_that_make_no_sense_are_an_error_until_they_change(world: World) -> None:
    await create_queue(world.pythia, QUEUE, auto_trim_config={"enable": True, "retained_lifetime_duration": 1500})
    await world.passes()
    row = (await world.queue_rows())[str(QUEUE_REF)]
    assert (row.object_type, row.queue_agent_stage, row.object_id) == ("table", "production", None)
    assert row.revision is not None
    assert error_code(row) == 1
    status = world.board.queue_status(QUEUE_REF)
    assert status is not None
    assert status["error"]["message"] == "Queue synchronization error"
    assert world.running() == {}
    world.written.clear()
    await world.passes()
    assert not world.written.is_set()
    await set_attribute(world.pythia, QUEUE, "auto_trim_config", {"enable": True})
    await world.passes()
    assert error_code((await world.queue_rows())[str(QUEUE_REF)]) == 0
    assert world.running() == {str(QUEUE_REF): Role.LEADING}


async def test_objects_of_another_stage_are_followed_only_if_somebody_here_needs_them(world: World) -> None:
    await create_queue(world.pythia, QUEUE, queue_agent_stage="other")
    await create_queue(world.pythia, "//home/alone", queue_agent_stage="other")
    await create_consumer(world.hume, CONSUMER)
    await register(world.hume, f"<cluster=pythia>{QUEUE}", CONSUMER, vital=False)
    await world.passes()
    assert world.running() == {str(QUEUE_REF): Role.FOLLOWING, str(CONSUMER_REF): Role.LEADING}
    assert world.board.queue_status(QUEUE_REF) is None
    await set_attribute(world.pythia, QUEUE, "queue_agent_stage", "production")
    await world.passes()
    assert world.running()[str(QUEUE_REF)] is Role.LEADING


async def test_registrations_outlive_their_objects(world: World) -> None:
    await create_queue(world.pythia, QUEUE)
    await create_consumer(world.hume, CONSUMER)
    await register(world.hume, f"<cluster=pythia>{QUEUE}", CONSUMER)
    await remove(world.hume, CONSUMER)
    await world.passes()
    assert world.running() == {str(QUEUE_REF): Role.LEADING}
    assert [one.consumer for one in world.board.registrations_of_queue(QUEUE_REF)] == [CONSUMER_REF]


async def test_a_cluster_that_fails_does_not_keep_the_others_from_being_watched(world: World) -> None:
    await create_queue(world.pythia, QUEUE)
    await create_consumer(world.hume, CONSUMER)
    await world.passes()
    async with YtCluster("hume", ClusterConfig(proxy="127.0.0.1:1", retry_count=0)) as gone:
        world.clusters["hume"] = gone
        await create_queue(world.pythia, "//home/second")
        await world.passes()
    assert set(await world.queue_rows()) == {str(QUEUE_REF), "pythia://home/second"}
    assert list(await world.consumer_rows()) == [str(CONSUMER_REF)]
    alert = world.board.alerts()["cypress_synchronizer_unable_to_fetch_object_revisions"]
    assert alert["message"] == "Error retrieving queue agent object revisions from clusters"
    assert [inner["attributes"]["cluster"] for inner in alert["inner_errors"]] == ["hume"]
    world.clusters["hume"] = world.hume
    await world.passes()
    assert world.board.alerts() == {}


async def test_rows_of_clusters_that_are_not_watched_are_left_alone(world: World) -> None:
    foreign = CrossClusterRef("delphi", "//q")
    await world.store.write_objects([QueueRow(foreign, row_revision=5, queue_agent_stage="production")], [])
    await create_queue(world.pythia, QUEUE)
    await create_queue(world.hume, QUEUE)
    world.synchronizer.configure(CypressSynchronizerConfig(policy="watching", clusters=("pythia",)))
    await world.passes()
    rows = await world.queue_rows()
    assert set(rows) == {str(QUEUE_REF), str(foreign)}
    assert rows[str(foreign)].row_revision == 5
    assert world.board.alerts() == {}
    world.synchronizer.configure(CypressSynchronizerConfig(policy="watching", clusters=("delphi", "pythia")))
    await world.passes()
    [inner] = world.board.alerts()["cypress_synchronizer_unable_to_fetch_object_revisions"]["inner_errors"]
    assert inner["attributes"]["cluster"] == "delphi"


async def test_polling_keeps_rows_up_to_date_and_never_adds_nor_removes(world: World) -> None:
    world.synchronizer.configure(POLLING)
    await create_queue(world.pythia, QUEUE)
    await create_queue(world.pythia, "//home/unknown")
    await create_consumer(world.hume, CONSUMER)
    gone = CrossClusterRef("pythia", "//home/gone")
    await world.store.write_objects([QueueRow(QUEUE_REF), QueueRow(gone)], [ConsumerRow(CONSUMER_REF)])
    await world.passes()
    rows = await world.queue_rows()
    assert set(rows) == {str(QUEUE_REF), str(gone)}
    assert (rows[str(QUEUE_REF)].object_type, rows[str(QUEUE_REF)].row_revision) == ("table", 1)
    assert (rows[str(gone)].revision, rows[str(gone)].row_revision, error_code(rows[str(gone)])) == (None, 1, 500)
    assert (await world.consumer_rows())[str(CONSUMER_REF)].object_type == "table"
    await set_attribute(world.pythia, QUEUE, "queue_agent_banned", True)
    await world.passes()
    rows = await world.queue_rows()
    assert (rows[str(QUEUE_REF)].queue_agent_banned, rows[str(QUEUE_REF)].row_revision) == (True, 2)
    await create_queue(world.pythia, gone.path)
    await world.passes()
    assert error_code((await world.queue_rows())[str(gone)]) == 0


async def test_polling_goes_on_with_the_clusters_it_knows(world: World) -> None:
    world.synchronizer.configure(POLLING)
    await create_queue(world.pythia, QUEUE)
    unknown = CrossClusterRef("delphi", QUEUE)
    await world.store.write_objects([QueueRow(QUEUE_REF), QueueRow(unknown)], [])
    await world.passes()
    rows = await world.queue_rows()
    assert rows[str(QUEUE_REF)].object_type == "table"
    assert rows[str(unknown)].row_revision is None
    alert = world.board.alerts()["cypress_synchronizer_unable_to_fetch_object_revisions"]
    assert alert["message"] == "Error fetching object revisions from clusters"
    assert [inner["attributes"]["cluster"] for inner in alert["inner_errors"]] == ["delphi"]


async def test_polling_can_not_keep_the_mapping_of_replicated_tables(world: World) -> None:
    world.synchronizer.configure(CypressSynchronizerConfig(policy="polling", write_replicated_table_mapping=True))
    with pytest.raises(QueueAgentError, match="cannot work with replicated objects in polling mode"):
        await world.synchronizer.do_pass(0)


@pytest.mark.parametrize("version", range(9))
async def test_an_agent_works_with_state_tables_of_any_version(clusters: Mapping[str, YtCluster], version: int) -> None:
    root = "//home/state"
    await migrate(clusters["pythia"], root, version)
    async with open_world(clusters, root=root) as world:
        await create_queue(world.pythia, QUEUE, queue_agent_banned=True, queue_profiling_tag="tag")
        await create_consumer(world.hume, CONSUMER)
        registration = {
            "queue_cluster": "pythia",
            "queue_path": QUEUE,
            "consumer_cluster": "hume",
            "consumer_path": CONSUMER,
            "vital": True,
        }
        await world.pythia.insert_rows(
            f"{root}/consumer_registrations", [{**registration, **({"consumer_name": None} if version >= 7 else {})}]
        )
        await world.passes()
        row = (await world.queue_rows())[str(QUEUE_REF)]
        assert row.object_type == "table"
        assert row.queue_agent_banned is (True if version >= 1 else None)
        assert row.queue_profiling_tag == ("tag" if version >= 4 else None)
        assert world.board.registrations_of_queue(QUEUE_REF) == [Registration(QUEUE_REF, CONSUMER_REF, vital=True)]
        assert world.running() == {str(QUEUE_REF): Role.LEADING, str(CONSUMER_REF): Role.LEADING}


async def test_without_the_registrations_there_is_no_pass(world: World) -> None:
    await create_queue(world.pythia, QUEUE)
    await world.passes()
    await world.pythia.execute("unmount_table", {"path": f"{ROOT}/consumer_registrations"})
    await remove(world.pythia, f"{ROOT}/consumer_registrations")
    with pytest.raises(ObjectNotFound):
        await world.agent.do_pass(1)
    assert world.running() == {str(QUEUE_REF): Role.LEADING}


async def test_registrations_may_be_on_another_cluster(clusters: Mapping[str, YtCluster]) -> None:
    path = "//home/registrations"
    schema = await clusters["hume"].get(f"{ROOT}/consumer_registrations/@schema")
    await create_table(clusters["hume"], path, schema)
    row = {
        "queue_cluster": "pythia",
        "queue_path": QUEUE,
        "consumer_cluster": "hume",
        "consumer_path": CONSUMER,
        "consumer_name": None,
        "vital": True,
    }
    await clusters["hume"].insert_rows(path, [row])
    async with open_world(clusters, registrations=StateTable(clusters["hume"], path)) as world:
        await create_queue(world.pythia, QUEUE)
        await world.passes()
        assert [one.consumer for one in world.board.registrations_of_queue(QUEUE_REF)] == [CONSUMER_REF]
