"""The agent's view of a cluster and its state tables, against the local cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import pytest

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.adapters.state.state_tables import StateTables
from queue_agent.config.clusters import ClusterConfig
from queue_agent.core.state.rows import ConsumerRow, QueueRow, Registration
from queue_agent.core.values.observed import Watch
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError, ObjectNotFound, TabletNotMounted
from tests.unguarded import AlwaysPermitted
from yt_local.runner import LocalClusters
from yt_wire import yson

QUEUE = "//tmp/q"
CONSUMER = "//tmp/c"
REF = CrossClusterRef("hume", QUEUE)
QUEUE_SCHEMA = [
    {"name": "data", "type": "string"},
    {"name": "$timestamp", "type": "uint64"},
    {"name": "$cumulative_data_weight", "type": "int64"},
]


class User:
    """Somebody who works with the cluster by commands."""

    def __init__(self, session: aiohttp.ClientSession, address: str) -> None:
        self._session = session
        self._origin = f"http://{address}/api/v4/"

    async def run(self, command: str, **parameters: Any) -> Any:
        async with self._session.post(self._origin + command, json=parameters) as response:
            assert response.status == 200, await response.text()
            return await response.json(content_type=None)

    async def create_queue(self, path: str, tablet_count: int = 2, *, mounted: bool = True) -> str:
        attributes = {"dynamic": True, "schema": QUEUE_SCHEMA, "tablet_count": tablet_count}
        created = await self.run("create", type="table", path=path, attributes=attributes)
        if mounted:
            await self.run("mount_table", path=path)
        return str(created["node_id"])

    async def create_consumer(self, path: str, *queues: str) -> None:
        await self.run("create", type="queue_consumer", path=path)
        await self.run("mount_table", path=path)
        for queue in queues:
            await self.run("register_queue_consumer", queue_path=queue, consumer_path=path, vital=True)

    async def advance(self, consumer: str, queue: str, partition_index: int, offset: int) -> None:
        await self.run(
            "advance_queue_consumer",
            consumer_path=consumer,
            queue_path=queue,
            partition_index=partition_index,
            old_offset=None,
            new_offset=offset,
        )


class Requests:
    """Hears of requests, as metrics do."""

    def __init__(self) -> None:
        self.commands: list[str] = []

    def request_finished(self, cluster: str, command: str, outcome: str, seconds: float) -> None:
        self.commands.append(command)


@pytest.fixture
async def address() -> AsyncIterator[str]:
    async with LocalClusters({"hume": 0}) as clusters:
        yield clusters.addresses["hume"]


@pytest.fixture
async def user(address: str) -> AsyncIterator[User]:
    async with aiohttp.ClientSession() as session:
        yield User(session, address)


@pytest.fixture
def requests() -> Requests:
    return Requests()


@pytest.fixture
async def cluster(address: str, requests: Requests) -> AsyncIterator[YtCluster]:
    async with YtCluster("hume", ClusterConfig(proxy=address), requests) as cluster:
        yield cluster


async def test_the_watch_list_names_queues_and_consumers(cluster: YtCluster, user: User) -> None:
    await user.create_queue(QUEUE)
    await user.create_consumer(CONSUMER)
    before = await cluster.get_object_revisions()
    assert QUEUE in before.queues
    assert CONSUMER in before.consumers
    await user.run("unmount_table", path=CONSUMER)
    await user.run("remove", path=CONSUMER)
    assert CONSUMER not in (await cluster.get_object_revisions()).consumers


async def test_attributes_an_object_does_not_have_are_absent(cluster: YtCluster, user: User) -> None:
    object_id = await user.create_queue(QUEUE)
    assert await cluster.get_attributes(QUEUE, ["id", "type", "auto_trim_config"]) == {"id": object_id, "type": "table"}
    with pytest.raises(ObjectNotFound, match=r"get //tmp/nothing/@ on cluster hume"):
        await cluster.get_attributes("//tmp/nothing", ["id"])


async def test_a_table_comes_with_its_columns_and_tablets(cluster: YtCluster, user: User) -> None:
    await user.create_queue(QUEUE)
    table = await cluster.get_table(QUEUE)
    assert [(column.name, column.type, column.sort_order) for column in table.columns] == [
        ("data", "string", None),
        ("$timestamp", "uint64", None),
        ("$cumulative_data_weight", "int64", None),
    ]
    assert [(tablet.index, tablet.state) for tablet in table.tablets] == [(0, "mounted"), (1, "mounted")]
    assert all(tablet.cell_id and tablet.host for tablet in table.tablets)
    assert not table.unique_keys


async def test_a_sorted_table_has_unique_keys(cluster: YtCluster, user: User) -> None:
    await user.create_consumer(CONSUMER)
    table = await cluster.get_table(CONSUMER)
    assert table.unique_keys
    assert [column.name for column in table.columns if column.sort_order] == [
        "queue_cluster",
        "queue_path",
        "partition_index",
    ]


async def test_what_is_not_a_dynamic_table_lacks_an_attribute_of_one(cluster: YtCluster, user: User) -> None:
    await user.run("create", type="table", path="//tmp/static")
    for path, name in (("//tmp", "schema"), ("//tmp/static", "tablets")):
        with pytest.raises(ObjectNotFound, match=f'{path} on cluster hume has no attribute "{name}"'):
            await cluster.get_table(path)


async def test_an_unmounted_tablet_has_no_cell(cluster: YtCluster, user: User) -> None:
    await user.create_queue(QUEUE, 1, mounted=False)
    [tablet] = (await cluster.get_table(QUEUE)).tablets
    assert (tablet.state, tablet.cell_id, tablet.host) == ("unmounted", None, None)


async def test_a_tablet_tells_how_many_rows_it_had_and_lost(cluster: YtCluster, user: User) -> None:
    object_id = await user.create_queue(QUEUE)
    await cluster.insert_rows(QUEUE, [{"$tablet_index": 1, "data": data} for data in ("foo", "bar")])
    await cluster.trim_rows(object_id, 1, 1, AlwaysPermitted())
    infos = await cluster.get_tablet_infos(QUEUE, [1, 0])
    assert (infos[1].total_row_count, infos[1].trimmed_row_count) == (2, 1)
    assert infos[1].last_write_timestamp > 0
    assert (infos[0].total_row_count, infos[0].trimmed_row_count) == (0, 0)
    assert await cluster.get_tablet_infos(QUEUE, []) == {}


async def test_numbers_of_another_table_at_the_path_are_not_given(cluster: YtCluster, user: User) -> None:
    """It was removed and created again since somebody learned its id."""
    object_id = await user.create_queue(QUEUE, 1)
    watch = Watch(QUEUE, 1, object_id=object_id)
    assert (await cluster.poll(watch)).tablet_infos == await cluster.get_tablet_infos(QUEUE, [0], object_id)
    await user.run("remove", path=QUEUE)
    await user.create_queue(QUEUE, 1)
    poll = await cluster.poll(watch)
    assert (poll.facts.object_id == object_id, poll.tablet_infos) == (False, None)
    with pytest.raises(ObjectNotFound):
        await cluster.get_tablet_infos(QUEUE, [0], object_id)


async def test_errors_of_a_batch_go_to_those_who_asked(cluster: YtCluster, user: User, requests: Requests) -> None:
    await user.create_queue(QUEUE)
    await user.create_queue("//tmp/unmounted", mounted=False)

    async def ask(path: str) -> Mapping[int, Any] | ClusterError:
        try:
            return await cluster.get_tablet_infos(path, [0])
        except ClusterError as error:
            return error

    async with asyncio.TaskGroup() as group:
        good, missing, unmounted = (
            group.create_task(ask(path)) for path in (QUEUE, "//tmp/nothing", "//tmp/unmounted")
        )
    assert isinstance(good.result(), Mapping)
    assert isinstance(missing.result(), ObjectNotFound)
    assert isinstance(unmounted.result(), TabletNotMounted)
    assert requests.commands == ["execute_batch"]


async def test_values_of_rows_are_read_where_there_are_such_rows(cluster: YtCluster, user: User) -> None:
    object_id = await user.create_queue(QUEUE)
    rows = [{"$tablet_index": index, "data": data} for index in (0, 1) for data in ("foo", "bar", "foobar")]
    await cluster.insert_rows(QUEUE, rows)
    await cluster.trim_rows(object_id, 0, 1, AlwaysPermitted())
    asked = [(0, 0), (0, 1), (1, 2), (1, 3), (7, 0)]
    assert await cluster.select_row_values(QUEUE, ["$cumulative_data_weight"], asked) == {
        "$cumulative_data_weight": {(0, 1): 40, (1, 2): 63}
    }
    both = await cluster.select_row_values(QUEUE, ["$timestamp", "$cumulative_data_weight"], asked)
    assert both["$timestamp"].keys() == both["$cumulative_data_weight"].keys() == {(0, 1), (1, 2)}
    assert await cluster.select_row_values(QUEUE, ["$timestamp"], []) == {"$timestamp": {}}


async def test_the_first_row_of_another_transaction_is_found_in_both_directions(cluster: YtCluster, user: User) -> None:
    object_id = await user.create_queue(QUEUE)
    for count in (2, 5, 3):
        await cluster.insert_rows(QUEUE, [{"$tablet_index": 1, "data": "x"}] * count)
    values = await cluster.select_row_values(f"#{object_id}", ["$timestamp"], [(1, 4), (1, 9)])
    middle, last = values["$timestamp"][1, 4], values["$timestamp"][1, 9]

    async def find(rows: range, timestamp: int) -> int | None:
        return await cluster.find_other_row(object_id, 1, rows, timestamp)

    assert await find(range(4, 10), middle) == 7
    assert await find(range(4, -1, -1), middle) == 1
    assert await find(range(4, 1, -1), middle) is None
    assert await find(range(4, 7), middle) is None
    assert await find(range(8, 100), last) is None
    assert await find(range(9, 0, -1), last) == 6
    assert await cluster.find_other_row(object_id, 0, range(9), middle) is None


async def test_many_rows_are_asked_for_in_pieces(cluster: YtCluster, user: User, requests: Requests) -> None:
    await user.create_queue(QUEUE)
    await cluster.insert_rows(QUEUE, [{"$tablet_index": 0, "data": "x"}] * 1000)
    values = await cluster.select_row_values(QUEUE, ["$timestamp"], [(0, index) for index in range(1000)])
    assert len(values["$timestamp"]) == 1000
    assert requests.commands.count("select_rows") > 1


async def test_a_path_with_brackets_can_be_queried(cluster: YtCluster, user: User) -> None:
    path = r"//tmp/a\[b]\/c"
    await user.create_queue(path)
    await cluster.insert_rows(path, [{"$tablet_index": 0, "data": "x"}])
    values = await cluster.select_row_values(path, ["$timestamp"], [(0, 0)])
    assert len(values["$timestamp"]) == 1


async def test_offsets_of_several_queues_are_read_by_one_lookup(
    cluster: YtCluster, user: User, requests: Requests
) -> None:
    paths = [f"//tmp/q{index}" for index in range(3)]
    for path in paths:
        await user.create_queue(path)
        await cluster.insert_rows(path, [{"$tablet_index": 1, "data": "x"}] * 5)
    await user.create_consumer(CONSUMER, *paths)
    await user.advance(CONSUMER, paths[0], 1, 3)
    await user.advance(CONSUMER, paths[1], 1, 5)
    requests.commands.clear()
    queues = [CrossClusterRef("hume", path) for path in paths]
    offsets = await cluster.read_consumer_offsets(CONSUMER, dict.fromkeys(queues, 2), with_meta=True)
    first, second, third = (offsets[queue] for queue in queues)
    assert (first[1].offset, second[1].offset, third) == (3, 5, {})
    assert 0 < first[1].last_write_timestamp < second[1].last_write_timestamp
    assert requests.commands == ["lookup_rows"]
    narrow = await cluster.read_consumer_offsets(CONSUMER, {queues[0]: 1, queues[1]: 0}, with_meta=True)
    assert narrow == {queues[0]: {}, queues[1]: {}}


async def test_a_row_that_was_deleted_is_no_offset(cluster: YtCluster, user: User) -> None:
    await user.create_queue(QUEUE)
    await user.create_consumer(CONSUMER, QUEUE)
    await cluster.insert_rows(QUEUE, [{"$tablet_index": 0, "data": "x"}] * 5)
    await user.advance(CONSUMER, QUEUE, 0, 3)
    key = {"queue_cluster": "hume", "queue_path": QUEUE, "partition_index": yson.Uint64(0)}
    await cluster.delete_rows(CONSUMER, [key])
    assert await cluster.read_consumer_offsets(CONSUMER, {REF: 1}, with_meta=True) == {REF: {}}


async def test_offsets_alone_are_read_as_they_are_now(cluster: YtCluster, user: User, requests: Requests) -> None:
    await user.create_queue(QUEUE)
    await user.create_consumer(CONSUMER, QUEUE)
    await cluster.insert_rows(QUEUE, [{"$tablet_index": 1, "data": "x"}] * 5)
    await user.advance(CONSUMER, QUEUE, 1, 3)
    requests.commands.clear()
    assert await cluster.read_next_row_indexes(CONSUMER, REF, 2) == {1: 3}
    assert await cluster.read_next_row_indexes(CONSUMER, REF, 1) == {}
    assert await cluster.read_next_row_indexes(CONSUMER, REF, 0) == {}
    assert requests.commands == ["lookup_rows", "lookup_rows"]


async def test_offsets_in_an_unmounted_consumer_can_not_be_read(cluster: YtCluster, user: User) -> None:
    await user.create_consumer(CONSUMER)
    await user.run("unmount_table", path=CONSUMER)
    with pytest.raises(TabletNotMounted):
        await cluster.read_consumer_offsets(CONSUMER, {REF: 1}, with_meta=True)


async def test_a_table_is_trimmed_by_its_id_only(cluster: YtCluster, user: User) -> None:
    object_id = await user.create_queue(QUEUE)
    await user.run("remove", path=QUEUE)
    await user.create_queue(QUEUE)
    await cluster.insert_rows(QUEUE, [{"$tablet_index": 0, "data": "x"}])
    with pytest.raises(ObjectNotFound):
        await cluster.trim_rows(object_id, 0, 1, AlwaysPermitted())
    assert (await cluster.get_tablet_infos(QUEUE, [0]))[0].trimmed_row_count == 0


async def test_state_rows_are_written_read_and_deleted(cluster: YtCluster, user: User) -> None:
    store = StateTables(cluster, "//sys/queue_agents")
    consumer_ref = CrossClusterRef("hume", CONSUMER)
    queue_row = QueueRow(REF, revision=2**63 + 1, dynamic=True, auto_trim_config={"enable": True}, object_id="1-2-3-4")
    schema = yson.loads(b"<strict=%true;unique_keys=%true>[{name=a;type=string}]")
    consumer_row = ConsumerRow(consumer_ref, revision=5, schema=schema, treat_as_queue_consumer=True)
    await store.write_objects([queue_row], [consumer_row])
    await store.write_objects([QueueRow(CrossClusterRef("hume", "//tmp/other"))], [])
    rows = await store.read()
    assert {row.queue: row for row in rows.queues}[REF] == queue_row
    assert list(rows.consumers) == [consumer_row]
    assert yson.attributes_of(rows.consumers[0].schema) == {"strict": True, "unique_keys": True}

    await store.write_objects([QueueRow(REF)], [])
    await store.delete_objects([CrossClusterRef("hume", "//tmp/other")], [consumer_ref])
    rows = await store.read()
    assert list(rows.queues) == [QueueRow(REF)]
    assert not rows.consumers


async def test_every_write_to_the_mapping_is_noticed_in_whatever_tablets_it_is(cluster: YtCluster, user: User) -> None:
    store = StateTables(cluster, "//sys/queue_agents")
    table = "//sys/queue_agents/queue_agent_object_mapping"

    async def reshard(pivot_keys: list[list[str]]) -> None:
        await user.run("unmount_table", path=table)
        await user.run("reshard_table", path=table, pivot_keys=pivot_keys)
        await user.run("mount_table", path=table)

    async def check() -> None:
        before = await store.read_hosts_stamp()
        assert await store.read_hosts_stamp() == before
        await store.write_hosts({REF: "a:1"})
        assert await store.read_hosts_stamp() != before

    await check()
    await reshard([[], ["hume://tmp/o"]])
    await check()
    await reshard([[]])
    with pytest.raises(ClusterError):
        await store.read_hosts_stamp()  # once, and then it is known that there are fewer
    await check()


async def test_registrations_are_read_from_the_state(cluster: YtCluster, user: User) -> None:
    await user.create_queue(QUEUE)
    await user.create_consumer(CONSUMER, QUEUE)
    rows = await StateTables(cluster, "//sys/queue_agents").read()
    assert list(rows.registrations) == [Registration(REF, CrossClusterRef("hume", CONSUMER), vital=True)]


async def test_the_host_of_a_tablet_is_the_leading_peer_of_its_cell(cluster: YtCluster, user: User) -> None:
    await user.create_queue(QUEUE)
    [cell] = (await user.run("list", path="//sys/tablet_cells"))["value"]
    own = (await cluster.get_table(QUEUE)).tablets[0].host
    peers = await cluster.get(f"//sys/tablet_cells/{cell}/@peers")
    assert own == peers[0]["address"]
