"""`queue-agent consumer reset` moves consumers of local clusters."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner
from yt.wrapper import YtClient

from queue_agent.adapters.cluster.cluster_access import CallerToken
from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.adapters.process import logs
from queue_agent.cli.consumer_reset import find_clusters
from queue_agent.cli.errors import CommandError
from queue_agent.cli.main import application
from queue_agent.cli.reach import Reach
from queue_agent.config.clusters import ClusterConfig
from queue_agent.controllers.acts.reset import ConsumerReset
from queue_agent.core.consumers.destinations import parse_destination
from queue_agent.core.consumers.offset_reset import Earliest, Instant, Latest, RowIndex
from queue_agent.core.values.refs import CrossClusterRef
from yt_local.queues.consumers import MULTI_CONSUMER_SCHEMA
from yt_local.testing import LocalClusterSet, local_clusters

START: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
QUEUE: Final = "//tmp/queue"
CONSUMER: Final = "//tmp/consumer"
SCHEMA: Final = [{"name": "data", "type": "string"}, {"name": "$timestamp", "type": "uint64"}]


class World:
    """A queue of two partitions with ten rows each on pythia, written a minute apart; a vital consumer on hume."""

    def __init__(self, clusters: LocalClusterSet) -> None:
        self.clusters = clusters
        self.pythia: YtClient = clusters["pythia"].client
        self.hume: YtClient = clusters["hume"].client
        self.pythia.create("table", QUEUE, attributes={"dynamic": True, "schema": SCHEMA, "tablet_count": 2})
        self.pythia.mount_table(QUEUE, sync=True)
        self.hume.create("queue_consumer", CONSUMER)
        self.pythia.register_queue_consumer(QUEUE, f"<cluster=hume>{CONSUMER}", vital=True)
        self.start = clusters.clock.now()
        for _ in range(10):
            self.pythia.insert_rows(QUEUE, [{"data": "x", "$tablet_index": index} for index in (0, 1)])
            clusters.clock.advance(60)
        for index in (0, 1):
            self.advance(index, 0, 5)

    def advance(self, index: int, old: int, new: int) -> None:
        self.hume.advance_queue_consumer(CONSUMER, f"<cluster=pythia>{QUEUE}", index, old, new)

    def offsets(self) -> list[int]:
        rows = self.hume.select_rows(f"partition_index, [offset] from [{CONSUMER}] order by partition_index limit 9")
        return [row["offset"] for row in rows]

    def reset(
        self, *arguments: str, queue: str = f"pythia:{QUEUE}", consumer: str = f"hume:{CONSUMER}", typed: str = ""
    ) -> tuple[int, str]:
        """Exit code and output."""
        proxies = [f"--proxy={name}={cluster.address}" for name, cluster in self.clusters.items()]
        command = ["consumer", "reset", queue, consumer, *proxies, *arguments]
        result = CliRunner().invoke(application, command, input=typed)
        return result.exit_code, result.output


@pytest.fixture(autouse=True)
def unchanged_logging(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command has log lines written to its own standard error, for the rest of a process that is soon to end."""
    monkeypatch.setattr(logs, "configure_logging", lambda level, line_format: None)


@pytest.fixture(scope="module")
def clusters() -> Iterator[LocalClusterSet]:
    with local_clusters("pythia", "hume", now=START) as clusters:
        yield clusters


@pytest.fixture
def world(clusters: LocalClusterSet) -> Iterator[World]:
    world = World(clusters)
    yield world
    world.pythia.unregister_queue_consumer(QUEUE, f"<cluster=hume>{CONSUMER}")
    world.pythia.remove(QUEUE)
    world.hume.remove(CONSUMER)


def test_a_consumer_is_moved_and_its_next_rows_are_those_it_was_moved_to(world: World) -> None:
    for destination, expected in (("earliest", [0, 0]), ("latest", [10, 10]), ("4", [4, 4])):
        code, output = world.reset("--to", destination, "--yes")
        assert (code, world.offsets()) == (0, expected), output
        assert "2 of 2 partitions moved" in output
    pulled = world.hume.pull_queue_consumer(CONSUMER, f"<cluster=pythia>{QUEUE}", partition_index=0, offset=None)
    assert next(iter(pulled))["$row_index"] == 4


def _find_by_name(monkeypatch: pytest.MonkeyPatch, addresses: Mapping[str, str]) -> None:
    """What makes `yt --proxy NAME` find a cluster."""
    aliases = "".join(f'{name}="{address}";' for name, address in addresses.items())
    monkeypatch.setenv("YT_PROXY_URL_ALIASING_CONFIG", f"{{{aliases}}}")


def test_clusters_are_found_where_yt_finds_them(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    _find_by_name(monkeypatch, {name: one.address for name, one in world.clusters.items()})
    command = ["consumer", "reset", f"pythia:{QUEUE}", f"hume:{CONSUMER}", "--to", "8", "--yes"]
    result = CliRunner().invoke(application, command)
    assert (result.exit_code, world.offsets()) == (0, [8, 8]), result.output


def test_a_cluster_that_is_not_there_is_told_with_where_it_was_looked_for(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _find_by_name(monkeypatch, {"hume": world.clusters["hume"].address, "pythia": "http://127.0.0.1:1"})
    command = ["consumer", "reset", f"pythia:{QUEUE}", f"hume:{CONSUMER}", "--to", "8", "--yes"]
    result = CliRunner().invoke(application, command)
    assert (result.exit_code, world.offsets()) == (2, [5, 5])
    assert "http://127.0.0.1:1); clusters were looked for by their names" in result.output


def test_the_caller_is_known_as_yt_knows_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _find_by_name(monkeypatch, {"hume": "http://there:80"})
    monkeypatch.setenv("YT_TOKEN", "secret")
    assert find_clusters(["hume"], None, (), None) == {
        "hume": Reach(ClusterConfig(proxy="http://there:80"), CallerToken("secret"))
    }
    own = tmp_path / "token"
    assert find_clusters(["hume"], None, (), own) == {
        "hume": Reach(ClusterConfig(proxy="http://there:80", token_file=own))
    }
    monkeypatch.setenv("YT_TOKEN", "not \x01 a token")
    with pytest.raises(CommandError, match="settings of yt make no sense for cluster hume: You have an improper"):
        find_clusters(["hume"], None, (), None)
    monkeypatch.setenv("YT_PROXY_URL_ALIASING_CONFIG", "{")
    with pytest.raises(CommandError, match=r"for cluster hume: Yson load failed .* Unexpected"):
        find_clusters(["hume"], None, (), None)


@pytest.mark.parametrize("executed", [False, True])
def test_a_move_whose_answer_is_lost_is_done_once(world: World, *, executed: bool) -> None:
    with world.clusters["hume"].faults.drop("advance_queue_consumer", count=1, executed=executed):
        code, output = world.reset("--to", "7", "--yes")
    assert (code, world.offsets()) == (0, [7, 7]), output
    assert "2 of 2 partitions moved" in output


def test_a_time_is_the_first_row_committed_then_or_later(world: World) -> None:
    seventh = (world.start + timedelta(minutes=7)).replace(microsecond=0)
    code, output = world.reset("--to", seventh.isoformat(), "--partition", "1", "--yes")
    assert (code, world.offsets()) == (0, [5, 7]), output
    moscow = (seventh - timedelta(minutes=5)).astimezone(timezone(timedelta(hours=3)))
    assert world.reset("--to", moscow.isoformat(), "--partition", "1", "--yes")[0] == 0
    assert world.offsets() == [5, 2]
    assert world.reset("--to", "2027-01-01T00:00:00Z", "--yes")[0] == 0
    assert world.offsets() == [10, 10]


def test_the_preview_says_what_a_move_means_and_changes_nothing(world: World) -> None:
    code, output = world.reset("--to", "8", "--dry-run")
    assert (code, world.offsets()) == (0, [5, 5])
    assert "3 rows skipped" in output
    assert "rows it skips may be trimmed at once" in output
    assert "5 rows read again" in world.reset("--to", "earliest", "--dry-run")[1]
    document: Any = json.loads(world.reset("--to", "8", "--dry-run", "--json")[1])
    assert (document["vital"], [one["skipped_count"] for one in document["partitions"]]) == (True, [3, 3])


def test_nothing_is_done_unless_somebody_says_yes(world: World) -> None:
    code, output = world.reset("--to", "8", typed="y\n")
    assert (code, "pass --yes" in output, world.offsets()) == (2, True, [5, 5])


def test_a_vital_consumer_is_not_moved_to_trimmed_rows_without_a_word(world: World) -> None:
    world.pythia.trim_rows(QUEUE, 0, 3)
    for destination in ("1", world.start.isoformat()):
        code, output = world.reset("--to", destination, "--yes")
        assert (code, "--allow-trimmed" in output, world.offsets()) == (2, True, [5, 5])
    code, output = world.reset("--to", "1", "--yes", "--allow-trimmed")
    assert (code, world.offsets()) == (0, [3, 1]), output


def test_the_first_rows_there_are_can_always_be_gone_to(world: World) -> None:
    world.pythia.trim_rows(QUEUE, 0, 7)
    assert world.reset("--to", "earliest", "--yes")[0] == 0
    assert world.offsets() == [7, 0]


@asynccontextmanager
async def resetting(world: World) -> AsyncIterator[ConsumerReset]:
    async with AsyncExitStack() as stack:
        clusters = {
            name: await stack.enter_async_context(YtCluster(name, ClusterConfig(proxy=one.address)))
            for name, one in world.clusters.items()
        }
        queue, consumer = CrossClusterRef("pythia", QUEUE), CrossClusterRef("hume", CONSUMER)
        yield ConsumerReset(queue, consumer, clusters, lambda: START)


async def test_a_partition_that_somebody_moves_meanwhile_is_left_alone(world: World) -> None:
    async with resetting(world) as reset:
        plan = await reset.plan(Latest(), ())
        world.advance(1, 5, 6)
        failures = await reset.carry_out(plan)
        assert failures == {1: "stands at row 6 and not at row 5 any more: somebody else has moved it"}
        assert world.offsets() == [10, 6]
        # Moved to the same place by whomever, it is where it is to be.
        plan = await reset.plan(Earliest(), ())
        world.advance(1, 6, 0)
        assert await reset.carry_out(plan) == {}


async def test_rows_that_are_trimmed_meanwhile_are_told(world: World) -> None:
    async with resetting(world) as reset:
        plan = await reset.plan(Earliest(), ())
        world.pythia.trim_rows(QUEUE, 0, 2)
        assert await reset.carry_out(plan) == {0: "was moved, but rows before row 2 were trimmed meanwhile"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--to", "11"], "ends before row 10"),
        (["--to", "0", "--partition", "2"], "there is no partition 2"),
        (["--to", "yesterday"], "--to: a destination is earliest"),
        (["--to", "2026-03-01T12:00:00"], "does not say in which zone"),
        (["--to", "99999999999d"], "beginning of time"),
        (["--to", "0", "--config", "agent.yaml"], "either --config or --proxy"),
        (["--to", "0", "--proxy", "hume"], "NAME=ADDRESS"),
        (["--to", "0", "--yes", "--dry-run"], "contradict"),
        (["--to", "0", "--json"], "--json asks no questions"),
    ],
)
def test_what_makes_no_sense_is_refused(world: World, arguments: list[str], words: str) -> None:
    code, output = world.reset(*arguments)
    assert (code, words in output, world.offsets()) == (2, True, [5, 5]), output


def test_a_queue_the_consumer_does_not_read_is_refused(world: World) -> None:
    assert world.reset("--to", "0", queue="pythia://tmp/other")[0] == 2
    assert "says where cluster kant" in world.reset("--to", "0", queue="kant://tmp/other")[1]
    world.pythia.create("table", "//tmp/other", attributes={"dynamic": True, "schema": SCHEMA})
    assert "is not registered with pythia://tmp/other" in world.reset("--to", "0", queue="pythia://tmp/other")[1]
    world.pythia.remove("//tmp/other")


def test_misspelt_queues_consumers_and_clusters_are_guessed(world: World) -> None:
    assert f"(did you mean pythia:{QUEUE}?)" in world.reset("--to", "0", queue=f"pythia:{QUEUE}s")[1]
    assert f"(did you mean pythia:{QUEUE}?)" in world.reset("--to", "0", queue=f"pythia:{QUEUE[:-1]}")[1]
    assert "(did you mean pythia?)" in world.reset("--to", "0", queue=f"phytia:{QUEUE}")[1]


def test_a_partition_that_can_not_be_read_is_refused_and_others_are_moved(world: World) -> None:
    world.clusters["pythia"].unmount_tablet(QUEUE, 0)
    code, output = world.reset("--to", "0", "--yes")
    assert (code, "partition 0 is unmounted" in output) == (2, True)
    assert world.reset("--to", "0", "--yes", "--partition", "1")[0] == 0
    assert world.offsets() == [5, 0]


def test_one_consumer_of_several_in_a_table_is_moved_alone(world: World) -> None:
    attributes = {"dynamic": True, "schema": MULTI_CONSUMER_SCHEMA, "treat_as_queue_consumer": True}
    world.hume.create("table", "//tmp/many", attributes=attributes)
    world.hume.mount_table("//tmp/many", sync=True)
    queue = f"<cluster=pythia>{QUEUE}"
    for name in ("ann", "bob"):
        named = f"<cluster=hume;queue_consumer_name={name}>//tmp/many"
        world.pythia.register_queue_consumer(QUEUE, named, vital=False)
        world.hume.advance_queue_consumer(named, queue, 0, 0, 2)
    bob = "<cluster=hume; queue_consumer_name=bob>//tmp/many"
    code, output = world.reset("--to", "7", "--partition", "0", "--yes", consumer=bob)
    assert code == 0, output
    rows = world.hume.select_rows(
        "queue_consumer_name, [offset] from [//tmp/many] order by queue_consumer_name limit 9"
    )
    assert [(row["queue_consumer_name"], row["offset"]) for row in rows] == [("ann", 2), ("bob", 7)]
    for item in world.hume.list_queue_consumer_registrations(consumer_path="<cluster=hume>//tmp/many"):
        world.pythia.unregister_queue_consumer(item["queue_path"], item["consumer_path"])
    world.hume.remove("//tmp/many")


def test_destinations_are_read_in_all_their_forms() -> None:
    assert parse_destination("earliest", START) == Earliest()
    assert parse_destination("latest", START) == Latest()
    assert parse_destination("42", START) == RowIndex(42)
    assert parse_destination("2h", START) == Instant(datetime(2026, 3, 1, 10, tzinfo=UTC))
    assert parse_destination("2026-03-01T10:00:00Z", START) == parse_destination("120m", START)
    with pytest.raises(ValueError, match="a destination is"):
        parse_destination("-5", START)
