"""`queue-agent init-state` against a local cluster."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from queue_agent.adapters.cluster.cluster_access import CallerToken
from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.adapters.state.state_lock import LOCK_NAME, StateLock
from queue_agent.adapters.state.state_setup import StateSetup
from queue_agent.cli.init_state import StateLocation, init_state, locate, location_in
from queue_agent.cli.main import application
from queue_agent.cli.reach import Reach
from queue_agent.config.clusters import ClusterConfig
from queue_agent.core.state.migration import REPLACED_SUFFIX, FinishRebuild, MigrationError, plan_migration
from queue_agent.core.state.schema import INDEX_TABLE, LATEST_VERSION, tables_at
from queue_agent.errors import ClusterError
from tests.component.discovery_world import create_table, migrate, set_attribute
from tests.component.faulty_proxy import FaultyProxy, Kind
from yt_local.runner import LocalClusters

ROOT = "//home/state"
REGISTRATIONS = f"{ROOT}/consumer_registrations"
REPLACED = f"{REGISTRATIONS}{REPLACED_SUFFIX}"
REGISTRATION = {
    "queue_cluster": "a",
    "queue_path": "//b",
    "consumer_cluster": "c",
    "consumer_path": "//d",
    "vital": True,
}


@pytest.fixture
async def address() -> AsyncIterator[str]:
    async with LocalClusters({"hume": 0}) as clusters:
        yield clusters.addresses["hume"]


@pytest.fixture
async def cluster(address: str) -> AsyncIterator[YtCluster]:
    async with YtCluster("hume", ClusterConfig(proxy=address)) as cluster:
        yield cluster


def location(address: str, root: str = ROOT) -> StateLocation:
    return StateLocation("hume", Reach(ClusterConfig(proxy=address, discover_proxies=False)), root)


async def columns(cluster: YtCluster, name: str) -> list[str]:
    return [column.name for column in await cluster.get_columns(f"{ROOT}/{name}")]


async def names(cluster: YtCluster, prefix: str = "consumer_registrations") -> set[str]:
    """What there is in the directory that begins so."""
    listing = await cluster.execute("list", {"path": ROOT})
    return {str(name) for name in listing["value"] if str(name).startswith(prefix)}


async def test_tables_are_made_in_the_newest_version_and_a_second_run_does_nothing(
    address: str, cluster: YtCluster
) -> None:
    told: list[str] = []
    await init_state(location(address), LATEST_VERSION, False, told.append)
    assert told[-1] == f"{ROOT} is at version 8"
    assert await cluster.get(f"{ROOT}/@version") == 8
    for name in tables_at(LATEST_VERSION):
        if name != INDEX_TABLE:
            assert await cluster.get(f"{ROOT}/{name}/@tablet_state") == "mounted"
            assert await cluster.get(f"{ROOT}/{name}/@optimize_for") == "lookup"
    told.clear()
    await init_state(location(address), LATEST_VERSION, False, told.append)
    assert told[-1] == f"nothing to do: {ROOT} is at version 8"


async def test_a_dry_run_only_tells(address: str, cluster: YtCluster) -> None:
    told: list[str] = []
    await init_state(location(address), LATEST_VERSION, True, told.append)
    assert told[0].startswith("note: this cluster has no secondary indexes")
    assert told[1] == "create the directory"
    assert told[-1] == "nothing of this was done"
    assert not (await StateSetup(cluster, ROOT).look()).root_exists


async def test_a_cluster_comes_with_its_state_in_the_newest_version(address: str) -> None:
    told: list[str] = []
    await init_state(location(address, "//sys/queue_agents"), LATEST_VERSION, False, told.append)
    assert told[-1] == "nothing to do: //sys/queue_agents is at version 8"


async def test_rows_survive_the_way_from_the_first_version_to_the_last(cluster: YtCluster) -> None:
    await migrate(cluster, ROOT, 0)
    assert "queue_agent_banned" not in await columns(cluster, "queues")
    await cluster.insert_rows(
        f"{ROOT}/queues", [{"cluster": "hume", "path": "//q", "dynamic": True, "auto_trim_config": {"enable": True}}]
    )
    key = {"queue_cluster": "hume", "queue_path": "//q", "consumer_cluster": "hume"}
    registrations = [
        {**key, "consumer_path": f"//c{index:04}", "vital": True, "partitions": [1, 2]} for index in range(1500)
    ]
    await cluster.insert_rows(REGISTRATIONS, registrations)
    await set_attribute(
        cluster, REGISTRATIONS, "acl", [{"action": "allow", "subjects": ["root"], "permissions": ["read"]}]
    )
    acl = await cluster.get(f"{REGISTRATIONS}/@acl")
    for version in range(1, LATEST_VERSION + 1):
        await migrate(cluster, ROOT, version)
        assert await cluster.get(f"{ROOT}/@version") == version
    for name, wanted in tables_at(LATEST_VERSION).items():
        if name != INDEX_TABLE:
            assert set(await columns(cluster, name)) == {column.name for column in wanted}
    [[queue]] = await cluster.select_all("", [f"* from [{ROOT}/queues]"])
    assert (queue["dynamic"], queue["auto_trim_config"]) == (True, {"enable": True})
    [rows] = await cluster.select_all("", [f"* from [{REGISTRATIONS}]"])
    assert [(row["consumer_path"], row["partitions"]) for row in rows] == [
        (row["consumer_path"], [1, 2]) for row in registrations
    ]
    assert await cluster.get(f"{REGISTRATIONS}/@acl") == acl
    assert [column.name for column in await cluster.get_columns(REGISTRATIONS) if column.sort_order][
        -1
    ] == "consumer_name"


async def test_a_table_that_was_rebuilt_is_kept_beside(cluster: YtCluster) -> None:
    await migrate(cluster, ROOT, 6)
    await migrate(cluster, ROOT, 7)
    assert "consumer_name" not in await columns(cluster, f"consumer_registrations{REPLACED_SUFFIX}")


async def test_a_rebuild_that_fails_leaves_the_table_as_it_was(address: str, cluster: YtCluster) -> None:
    await migrate(cluster, ROOT, 6)
    await cluster.insert_rows(REGISTRATIONS, [REGISTRATION])
    async with FaultyProxy(address) as proxy, proxy.fault(Kind.ERROR, command="insert_rows"):
        with pytest.raises(ClusterError):
            await init_state(location(proxy.address), 8, False, print)
    assert await cluster.get(f"{REGISTRATIONS}/@tablet_state") == "mounted"
    await cluster.insert_rows(REGISTRATIONS, [{**REGISTRATION, "consumer_path": "//e"}])
    assert await names(cluster) == {"consumer_registrations"}
    await init_state(location(address), 8, False, print)
    [rows] = await cluster.select_all("", [f"[consumer_path], [consumer_name] from [{REGISTRATIONS}]"])
    assert [row["consumer_path"] for row in rows] == ["//d", "//e"]
    assert plan_migration(await StateSetup(cluster, ROOT).look()) == []


async def test_a_table_and_its_successor_side_by_side_are_for_people_to_sort_out(
    address: str, cluster: YtCluster
) -> None:
    await migrate(cluster, ROOT, 6)
    schema = await cluster.get(f"{REGISTRATIONS}/@schema")
    await create_table(cluster, f"{REGISTRATIONS}.rebuilt", schema)
    with pytest.raises(MigrationError, match=r"remove consumer_registrations\.rebuilt"):
        await init_state(location(address), 8, False, print)
    await cluster.execute("remove", {"path": f"{REGISTRATIONS}.rebuilt"})
    await init_state(location(address), 8, False, print)


async def test_what_an_earlier_rebuild_kept_is_not_overwritten(address: str, cluster: YtCluster) -> None:
    await migrate(cluster, ROOT, 6)
    kept = await create_table(cluster, REPLACED, await cluster.get(f"{REGISTRATIONS}/@schema"))
    with pytest.raises(MigrationError, match="is in the way"):
        await init_state(location(address), 8, False, print)
    assert await cluster.get(f"{REPLACED}/@id") == kept


async def test_a_successor_takes_the_place_its_predecessor_has_left(cluster: YtCluster) -> None:
    await migrate(cluster, ROOT, 7)
    await cluster.execute("unmount_table", {"path": REGISTRATIONS})
    await cluster.execute("move", {"source_path": REGISTRATIONS, "destination_path": f"{REGISTRATIONS}.rebuilt"})
    await set_attribute(cluster, ROOT, "version", 6)
    setup = StateSetup(cluster, ROOT)
    with pytest.raises(MigrationError, match="whether it holds all rows is not known"):
        plan_migration(await setup.look())
    await create_table(cluster, REPLACED, await cluster.get(f"{REGISTRATIONS}.rebuilt/@schema"))
    await migrate(cluster, ROOT, 7)
    assert await cluster.get(f"{REGISTRATIONS}/@tablet_state") == "mounted"


async def test_a_table_that_came_back_meanwhile_is_not_replaced(cluster: YtCluster) -> None:
    await migrate(cluster, ROOT, 7)
    await create_table(cluster, f"{REGISTRATIONS}.rebuilt", await cluster.get(f"{REGISTRATIONS}/@schema"))
    object_id = await cluster.get(f"{REGISTRATIONS}/@id")
    with pytest.raises(ClusterError, match="already exists"):
        await StateSetup(cluster, ROOT).do(FinishRebuild("consumer_registrations"))
    assert await cluster.get(f"{REGISTRATIONS}/@id") == object_id


async def test_two_do_not_change_the_tables_at_once(address: str, cluster: YtCluster) -> None:
    await migrate(cluster, ROOT, 3)
    async with StateLock(cluster, ROOT) as lock:
        with pytest.raises(ClusterError, match=f"{LOCK_NAME} is there: .* by {socket.gethostname()}:{os.getpid()}"):
            await init_state(location(address), 8, False, print)
        await lock.keep()
        assert await cluster.get(f"{ROOT}/@version") == 3
    await init_state(location(address), 8, False, print)
    assert await cluster.get(f"{ROOT}/@version") == 8
    assert await names(cluster, LOCK_NAME) == set()


async def test_who_has_lost_the_lock_changes_nothing_any_more(cluster: YtCluster) -> None:
    await migrate(cluster, ROOT, 3)
    async with StateLock(cluster, ROOT) as lock:
        await cluster.execute("remove", {"path": f"{ROOT}/{LOCK_NAME}"})
        with pytest.raises(ClusterError, match="was removed while"):
            await lock.keep()


async def test_there_is_no_way_back(address: str, cluster: YtCluster) -> None:
    await migrate(cluster, ROOT, 8)
    with pytest.raises(MigrationError, match="cannot go back to 3"):
        await init_state(location(address), 3, False, print)


async def test_a_cluster_that_does_not_answer_is_an_error() -> None:
    with pytest.raises(ClusterError):
        await init_state(location("127.0.0.1:1"), 8, True, print)


def test_cluster_and_root_come_from_the_configuration_of_an_agent(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text("{stage: s, clusters: {a: {proxy: x}, b: {proxy: y}}, state: {cluster: b, root: //home/s}}")
    found = location_in(file, None)
    assert (found.name, found.reach.config.proxy, found.root) == ("b", "y", "//home/s")
    assert location_in(file, "//other").root == "//other"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "either --proxy"),
        (["--proxy", "x", "--config", "agent.yaml"], "either --proxy"),
        (["--latest", "--target-version", "3", "--proxy", "x"], "--latest and --target-version"),
        (["--config", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_the_command_says_what_is_wrong_with_its_arguments(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(application, ["init-state", *arguments])
    assert result.exit_code == 2
    assert words in result.output


async def test_the_command_tells_what_it_does(address: str) -> None:
    for expected in (f"{ROOT} is at version 3", f"nothing to do: {ROOT} is at version 3"):
        arguments = ["--proxy", address, "--root", ROOT, "--target-version", "3"]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "queue_agent", "init-state", *arguments), stdout=asyncio.subprocess.PIPE
        )
        output, _ = await process.communicate()
        assert process.returncode == 0
        assert output.decode().splitlines()[-1] == expected


def test_a_proxy_is_found_as_yt_finds_it_with_the_token_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YT_PROXY_URL_ALIASING_CONFIG", '{hume="http://there:80"}')
    monkeypatch.setenv("YT_TOKEN", "secret")
    assert locate("hume", None, None, None).reach == Reach(
        ClusterConfig(proxy="http://there:80"), CallerToken("secret")
    )
