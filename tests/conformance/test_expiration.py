"""Nodes that go by themselves, through ytsaurus-client, on a cluster whose clock the test sets."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from yt.wrapper import YtClient, create_client_with_command_params

from tests.conformance.harness import NAMES, Clients, ClusterThread, inside, make_queue, refused, start
from yt_local.base.clock import Clock, format_instant

# All set the clock.
pytestmark = pytest.mark.local_only

START = datetime(2030, 1, 1, tzinfo=UTC)
NODE = "//tmp/n"


@pytest.fixture
def clock() -> Clock:
    clock = Clock(lambda: 0.0)  # never moves
    clock.set(START)
    return clock


@pytest.fixture
def timed(clock: Clock, clients: Clients) -> Iterator[YtClient]:
    with ClusterThread(clock=clock) as thread:
        yield clients.make(thread.address(NAMES[0]))


def make(client: YtClient, path: str = NODE, kind: str = "map_node", **attributes: Any) -> str:
    client.create(kind, path, attributes=attributes)
    return path


def in_seconds(seconds: float) -> str:
    return str(START + timedelta(seconds=seconds))


def is_there(client: YtClient, path: str = NODE) -> bool:
    """Asked in a way that does not keep the node itself alive."""
    parent, _, name = path.rpartition("/")
    return name in client.list(parent)


def silent(client: YtClient) -> YtClient:
    """What it asks for is not kept alive by that."""
    return create_client_with_command_params(client, suppress_expiration_timeout_renewal=True)


def test_a_node_is_removed_at_its_time_with_all_below_it(timed: YtClient, clock: Clock) -> None:
    make(timed, expiration_time=in_seconds(60))
    make(timed, f"{NODE}/table", "table")
    timed.write_table(f"{NODE}/table", [{"a": 1}])
    chunk_id = timed.get(f"{NODE}/table/@chunk_ids")[0]
    clock.advance(59.9)
    assert timed.get(f"{NODE}/@expiration_time") == "2030-01-01T00:01:00.000000Z"
    clock.advance(0.1)
    assert not is_there(timed)
    clock.advance(1)
    assert not timed.exists(f"#{chunk_id}")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("2044-01-01", "2044-01-01T00:00:00.000000Z"),
        ("2044-01-01T03:00:00.5+03:00", "2044-01-01T00:00:00.500000Z"),
        (2335219200000, "2044-01-01T00:00:00.000000Z"),
    ],
)
def test_a_time_is_given_in_several_ways(timed: YtClient, given: Any, shown: str) -> None:
    make(timed, expiration_time=given)
    assert timed.get(f"{NODE}/@expiration_time") == shown


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("expiration_time", "soon"),
        ("expiration_time", True),
        ("expiration_time", -1),
        ("expiration_time", 2**62),
        ("expiration_time", {}),
        ("expiration_timeout", "60"),
        ("expiration_timeout", 1.5),
        ("expiration_timeout", -1),
        ("expiration_timeout", 2**62),
    ],
)
def test_anything_else_is_refused(timed: YtClient, name: str, value: Any) -> None:
    make(timed)
    with refused(1, name):
        timed.set(f"{NODE}/@{name}", value)
    with refused(1, name):
        make(timed, f"{NODE}/child", **{name: value})
    assert timed.get(NODE) == {}


@pytest.mark.parametrize("name", ["expiration_time", "expiration_timeout"])
def test_the_root_and_system_nodes_stay(timed: YtClient, name: str) -> None:
    with refused(1, f'Cannot set "{name}" for the root'):
        timed.set(f"//@{name}", 1)
    with refused(1, "//sys"):
        timed.set(f"//sys/@{name}", 1)


def test_a_timeout_begins_anew_with_every_access(timed: YtClient, clock: Clock) -> None:
    make(timed, f"{NODE}", "table", expiration_timeout=10_000)
    for access in (
        lambda: timed.exists(NODE),
        lambda: timed.get(f"{NODE}/@row_count"),
        lambda: timed.set(f"{NODE}/@mine", 1),
        lambda: timed.write_table(NODE, [{"a": 1}]),
        lambda: list(timed.read_table(NODE)),
        lambda: timed.copy(NODE, "//tmp/copy"),
    ):
        clock.advance(9)
        access()
        assert silent(timed).get(f"{NODE}/@touch_time") == format_instant(clock.now())
    clock.advance(9)
    assert is_there(timed)
    clock.advance(1)
    assert not is_there(timed)


def test_an_access_need_not_count(timed: YtClient, clock: Clock) -> None:
    make(timed, expiration_timeout=10_000)
    clock.advance(9)
    assert silent(timed).exists(NODE)
    assert silent(timed).get(f"{NODE}/@expiration_timeout") == 10_000
    clock.advance(1)
    assert not silent(timed).exists(NODE)


def test_what_is_below_and_above_does_not_count(timed: YtClient, clock: Clock) -> None:
    make(timed, expiration_timeout=10_000)
    make(timed, f"{NODE}/child")
    clock.advance(9)
    timed.set(f"{NODE}/child/@mine", 1)
    timed.get("//tmp")
    clock.advance(1)
    assert not is_there(timed)


def test_a_timeout_of_zero_is_over_at_once(timed: YtClient) -> None:
    make(timed, expiration_timeout=0)
    assert not is_there(timed)


def test_a_time_or_timeout_that_is_taken_back_has_no_effect(timed: YtClient, clock: Clock) -> None:
    make(timed, expiration_timeout=5_000, expiration_time=in_seconds(20))
    timed.remove(f"{NODE}/@expiration_timeout")
    clock.advance(10)
    assert is_there(timed)
    timed.set(f"{NODE}/@expiration_time", in_seconds(30))
    clock.advance(15)
    assert is_there(timed)
    timed.remove(f"{NODE}/@expiration_time")
    clock.advance(1000)
    assert not timed.get(f"{NODE}/@effective_expiration")["time"]


def test_what_ends_a_node_first_is_told_with_its_place(timed: YtClient) -> None:
    assert timed.get("//tmp/@effective_expiration") == {"time": None, "timeout": None}
    make(timed, expiration_time="2044-01-01", expiration_timeout=20_000)
    make(timed, f"{NODE}/child", expiration_time="2045-01-01", expiration_timeout=10_000)
    assert timed.get(f"{NODE}/child/@effective_expiration") == {
        "time": {"value": "2044-01-01T00:00:00.000000Z", "path": NODE},
        "timeout": {"value": 10_000, "path": f"{NODE}/child"},
    }


def test_copies_live_on_unless_told_otherwise(timed: YtClient, clock: Clock) -> None:
    make(timed, expiration_time=in_seconds(10), expiration_timeout=60_000)
    timed.copy(NODE, "//tmp/copy")
    timed.copy(NODE, "//tmp/brief", preserve_expiration_time=True)
    timed.copy(NODE, "//tmp/unused", preserve_expiration_timeout=True)
    clock.advance(10)
    assert sorted(timed.list("//tmp")) == ["copy", "unused"]
    clock.advance(50)
    assert timed.list("//tmp") == ["copy"]


def test_a_mounted_queue_goes_too(timed: YtClient, clock: Clock) -> None:
    queue = make_queue(timed, f"{NODE}-queue")
    timed.set(f"{queue}/@expiration_time", in_seconds(10))
    clock.advance(10)
    assert not timed.exists(queue)


class TestLocks:
    def test_a_snapshot_keeps_a_node_from_its_timeout_only(self, timed: YtClient, clock: Clock) -> None:
        make(timed, "//tmp/by_timeout", expiration_timeout=5_000)
        make(timed, "//tmp/by_time", expiration_time=in_seconds(5))
        reader = start(timed)
        with inside(timed, reader):
            for path in ("//tmp/by_timeout", "//tmp/by_time"):
                timed.lock(path, mode="snapshot")
        clock.advance(10)
        assert timed.list("//tmp") == ["by_timeout"]
        timed.abort_transaction(reader)
        clock.advance(4)
        assert timed.list("//tmp") == ["by_timeout"]
        clock.advance(1)
        assert timed.list("//tmp") == []

    @pytest.mark.parametrize("locked", [NODE, f"{NODE}/child"])
    @pytest.mark.parametrize("attributes", [{"expiration_timeout": 5_000}, {"expiration_time": in_seconds(5)}])
    def test_a_node_somebody_is_changing_stays_until_he_is_done(
        self, timed: YtClient, clock: Clock, locked: str, attributes: dict[str, Any]
    ) -> None:
        make(timed, **attributes)
        make(timed, f"{NODE}/child")
        writer = start(timed)
        with inside(timed, writer):
            timed.lock(locked)
        clock.advance(10)
        assert is_there(timed)
        timed.commit_transaction(writer)
        clock.advance(5)
        assert not is_there(timed)

    def test_a_transaction_that_times_out_lets_go(self, timed: YtClient, clock: Clock) -> None:
        make(timed, expiration_time=in_seconds(5))
        with inside(timed, start(timed)):
            timed.set(f"{NODE}/@mine", 1)
        clock.advance(59)
        assert is_there(timed)
        clock.advance(1)
        assert not is_there(timed)

    def test_what_is_not_committed_neither_ends_nor_saves_a_node(self, timed: YtClient, clock: Clock) -> None:
        make(timed, "//tmp/saved", expiration_time=in_seconds(10))
        make(timed, "//tmp/ended")
        writer = start(timed)
        with inside(timed, writer):
            make(timed, "//tmp/new", expiration_timeout=1_000)
            timed.set("//tmp/saved/@expiration_time", in_seconds(1000))
            timed.set("//tmp/ended/@expiration_time", in_seconds(5))
        clock.advance(30)
        assert timed.list("//tmp") == ["ended", "saved"]  # its lock saves one, nothing has come of the other's time
        timed.commit_transaction(writer)
        assert timed.list("//tmp") == ["new", "saved"]
        clock.advance(1)
        assert timed.list("//tmp") == ["saved"]
