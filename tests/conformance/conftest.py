"""Clients of a cluster: a local one, or a real one.

`YT_CONFORMANCE_PROXY` (`host:port` of an HTTP proxy) runs the tests on a cluster that is there already; a second one
for the tests across clusters is `YT_CONFORMANCE_OTHER_PROXY`, a token for both `YT_TOKEN`. `make conformance-real` sets
them. They are not called `YT_PROXY` because that is set in many a shell, whose cluster `make test` is to leave alone.
"""

from __future__ import annotations

import gc
import os
import uuid
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from yt.wrapper import YtClient

from tests.conformance.access import User
from tests.conformance.harness import BACKEND, NAMES, REAL_PROXY, Cli, Clients, ClusterThread, RawHttp, environment_of
from tests.conformance.over_rpc import reason_to_leave_out
from tests.conformance.scene import Scene, made_scene
from tests.conformance.yt_command import YtCommand


def _is_ours(item: pytest.Item) -> bool:
    return item.path.is_relative_to(Path(__file__).parent)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not _is_ours(item):
            continue
        # Ytsaurus-client leaves the body of a streamed answer that failed unread, and its connection to the collector.
        item.add_marker(pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket"))
        if BACKEND and (reason := reason_to_leave_out(item.nodeid.removeprefix("tests/conformance/"))) is not None:
            item.add_marker(pytest.mark.skip(reason=reason))
        if REAL_PROXY is not None and item.get_closest_marker("local_only"):
            item.add_marker(pytest.mark.skip(reason="needs a local cluster: its clock, its faults, or its insides"))


def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Such connections are not to be found by the tests of others."""
    if nextitem is None or not _is_ours(nextitem):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()


@pytest.fixture
def clients() -> Iterator[Clients]:
    """For tests that need more clients than one."""
    clients = Clients()
    yield clients
    clients.close()


@pytest.fixture(scope="session")
def _local() -> Iterator[ClusterThread | None]:
    if REAL_PROXY is not None:
        yield None
        return
    with ClusterThread() as thread:
        yield thread


@pytest.fixture
def local(_local: ClusterThread | None) -> ClusterThread:
    """The local clusters themselves, for tests that look behind the commands; these are marked `local_only`."""
    assert _local is not None
    return _local


@pytest.fixture(scope="session")
def proxy(_local: ClusterThread | None) -> str:
    """Address of the cluster under test."""
    if _local is not None:
        return _local.address(NAMES[0])
    assert REAL_PROXY is not None
    return REAL_PROXY


@pytest.fixture(scope="session")
def _client(proxy: str) -> Iterator[YtClient]:
    clients = Clients()
    yield clients.make(proxy)
    clients.close()


@pytest.fixture
def client(_client: YtClient) -> YtClient:
    """Ytsaurus-client as it is, save for its retries."""
    return _client


@pytest.fixture(scope="session")
def _other(_local: ClusterThread | None) -> Iterator[YtClient | None]:
    address = _local.address(NAMES[1]) if _local else os.environ.get("YT_CONFORMANCE_OTHER_PROXY") or None
    clients = Clients()
    yield clients.make(address) if address else None
    clients.close()


@pytest.fixture
def other(_other: YtClient | None) -> YtClient:
    """A client of a second cluster that knows the first, and is known there."""
    if _other is None:
        pytest.skip("needs a second cluster")
    return _other


@pytest.fixture
def raw(proxy: str) -> RawHttp:
    return RawHttp(proxy)


@pytest.fixture
def home(client: YtClient) -> Iterator[str]:
    """A directory of the test's own."""
    path = f"//tmp/{uuid.uuid4().hex}"
    client.create("map_node", path)
    yield path
    client.remove(path, recursive=True)


@pytest.fixture
def other_home(other: YtClient) -> Iterator[str]:
    """A directory of the test's own on the second cluster."""
    path = f"//tmp/{uuid.uuid4().hex}"
    other.create("map_node", path)
    yield path
    other.remove(path, recursive=True)


@pytest.fixture(scope="session")
def cli(proxy: str) -> Iterator[Cli]:
    with YtCommand(environment_of(proxy)) as loaded:
        yield Cli(proxy, loaded)


@pytest.fixture
def make_user(client: YtClient, proxy: str, clients: Clients) -> Iterator[Callable[[], User]]:
    """Makes users with tokens of their own."""
    names: list[str] = []

    def make() -> User:
        name = f"user-{uuid.uuid4().hex[:8]}"
        names.append(name)
        client.create("user", attributes={"name": name})
        return User(name, clients.make(proxy, token=client.issue_token(name)))

    yield make
    for name in names:
        if client.exists(f"//sys/users/{name}"):
            client.remove(f"//sys/users/{name}")


@pytest.fixture
def bob(make_user: Callable[[], User]) -> User:
    return make_user()


@pytest.fixture
def make_group(client: YtClient) -> Iterator[Callable[[], str]]:
    names: list[str] = []

    def make() -> str:
        names.append(f"group-{uuid.uuid4().hex[:8]}")
        client.create("group", attributes={"name": names[-1]})
        return names[-1]

    yield make
    for name in names:
        if client.exists(f"//sys/groups/{name}"):
            client.remove(f"//sys/groups/{name}")


@pytest.fixture
def private(client: YtClient, home: str) -> str:
    """A directory nobody but superusers can use."""
    path = f"{home}/private"
    client.create("map_node", path, attributes={"inherit_acl": False})
    return path


@pytest.fixture(scope="module")
def _scene(_client: YtClient) -> Iterator[Scene]:
    with made_scene(_client) as scene:
        yield scene


@pytest.fixture
def scene(_scene: Scene) -> Iterator[Scene]:
    """Whatever a test asks, it is as it was."""
    before = _scene.seen
    yield _scene
    _scene.look()
    assert _scene.seen == before
