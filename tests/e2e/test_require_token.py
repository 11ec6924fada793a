"""`queue-agent local --require-token`: strangers are kept out, and for root and the agent all goes on as ever."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from yt.wrapper import YtClient, YtError
from yt.wrapper.errors import YtTokenError

from tests.e2e.playground import Playground, connected, eventually, running
from tests.e2e.test_local_command import assert_refused, create_queue, insert
from tests.waiting import LIMIT_SECONDS

pytestmark = pytest.mark.slow

QUEUE: Final = "//home/closed/queue"
CONSUMER: Final = "//home/consumer"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    """Asks everybody for a token, and may therefore be served to other machines."""
    options = ("--require-token", "--test-controls", "--host=0.0.0.0")
    with running(tmp_path_factory.mktemp("guarded"), *options) as playground:
        yield playground


def test_the_agent_does_its_whole_work_with_a_token_of_its_own(guarded: Playground) -> None:
    with ExitStack() as stack:
        pythia, hume = (stack.enter_context(as_root(guarded, name)) for name in ("pythia", "hume"))
        pythia.create("map_node", "//home/closed", attributes={"inherit_acl": False})
        create_queue(pythia, QUEUE, 10)
        hume.create("queue_consumer", CONSUMER)
        pythia.register_queue_consumer(QUEUE, f"<cluster=hume>{CONSUMER}", vital=True)
        pythia.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
        hume.advance_queue_consumer(CONSUMER, f"<cluster=pythia>{QUEUE}", 0, 0, 4)
        eventually(lambda: assert_trimmed(pythia, 4))
        status = pythia.get(f"{QUEUE}/@queue_status")
        assert "alerts" not in status or not status["alerts"]
        assert [one["vital"] for one in hume.get(f"{CONSUMER}/@queue_consumer_status/registrations")] == [True]
        eventually(lambda: assert_journalled(pythia))
        insert(pythia, QUEUE, 5)
        hume.advance_queue_consumer(CONSUMER, f"<cluster=pythia>{QUEUE}", 0, 4, 12)
        eventually(lambda: assert_trimmed(pythia, 12))
        assert guarded.ask_agent("/orchid/alerts") == {}


def test_nobody_gets_in_without_a_token(guarded: Playground) -> None:
    pythia = guarded.clusters["pythia"]
    assert guarded.token_file is not None
    assert stat.S_IMODE(guarded.token_file.stat().st_mode) == 0o600
    for token in (None, "guessed"):
        with connected(pythia, token) as stranger, pytest.raises(YtTokenError):
            stranger.list("/")
    with pytest.raises(HTTPError) as refused:
        urlopen(f"{pythia}/test/clock", timeout=LIMIT_SECONDS)
    with refused.value as answer:
        assert answer.code == 401
    assert guarded.webhdfs_secret_file is not None
    assert stat.S_IMODE(guarded.webhdfs_secret_file.stat().st_mode) == 0o600
    served = f"http://{guarded.webhdfs}/webhdfs/v1/{{}}pythia/?op=LISTSTATUS"
    with pytest.raises(HTTPError) as missing:
        urlopen(served.format(""), timeout=LIMIT_SECONDS)
    missing.value.close()
    with urlopen(served.format(f"{guarded.webhdfs_secret()}/"), timeout=LIMIT_SECONDS) as answer:
        assert b"tmp" in answer.read()
    listed = f"YT_PROXY={pythia} YT_TOKEN_PATH={guarded.token_file} yt list //sys/users"
    assert "root" in guarded.shell(listed).stdout.split()


def test_other_machines_are_only_served_with_tokens(guarded: Playground) -> None:
    for host in ("0.0.0.0", "::", "example.net"):
        assert_refused(["--agents=0", "--cluster=a=0", f"--host={host}"], host, "--require-token")
    assert guarded.clusters["pythia"].startswith("http://127.0.0.1:")
    with as_root(guarded, "pythia") as client:
        create_queue(client, "//tmp/queue", 3)
        assert len(list(client.pull_queue("//tmp/queue", 0, 0))) == 3
        eventually(lambda: assert_status(client, "//tmp/queue"))


def test_tokens_stay_what_they_are_in_a_data_directory(tmp_path: Path) -> None:
    data = f"--data-dir={tmp_path / 'data'}"
    tokens = []
    for agents in ("--agents=0", "--agents=1"):  # an agent is ready once it was let in with its own
        with running(tmp_path, "--require-token", agents, data, clusters=("pythia",)) as playground:
            assert playground.token_file == tmp_path / "data" / "root.token"
            tokens.append(playground.token())
            with as_root(playground, "pythia") as client:
                assert client.get("//sys/cypress_tokens/@count") == 2
    assert tokens[0] == tokens[1]
    # Without the option the same data are open again.
    with (
        running(tmp_path, "--agents=0", data, clusters=("pythia",)) as playground,
        connected(playground.clusters["pythia"]) as client,
    ):
        assert client.exists("//sys/users/root")


def test_an_address_that_is_not_here_is_named() -> None:
    arguments = ["--require-token", "--agents=0", "--cluster=a=0", "--host=192.0.2.1"]
    assert_refused(arguments, "cannot listen on 192.0.2.1:0")


def as_root(playground: Playground, name: str) -> Any:
    return connected(playground.clusters[name], playground.token())


def assert_trimmed(client: YtClient, row_index: int) -> None:
    assert [partition.get("lower_row_index") for partition in assert_status(client, QUEUE)] == [row_index]


def assert_status(client: YtClient, path: str) -> Any:
    try:
        return client.get(f"{path}/@queue_partitions")
    except YtError as error:
        raise AssertionError(str(error)) from error


def assert_journalled(client: YtClient) -> None:
    assert list(client.select_rows("* from [//sys/queue_agents/trim_journal]"))
