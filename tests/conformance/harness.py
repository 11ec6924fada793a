"""The unmodified clients that talk to a cluster, and what tests of it share."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import yt.wrapper
from yt.wrapper import YtClient
from yt.wrapper import YtError as YtClientError

from tests.conformance.rpc_driver import RPC_CONFIG
from tests.conformance.yt_command import YtCommand
from tests.waiting import LIMIT_SECONDS
from yt_local import thread
from yt_local.base.clock import Clock
from yt_local.testing import CLIENT_CONFIG
from yt_wire import http, yson
from yt_wire.error import YtError

NAMES = ("pythia", "hume")
REAL_PROXY = os.environ.get("YT_CONFORMANCE_PROXY")
"""`host:port` of the cluster that the tests are to run on; None for local ones that they start."""

BACKEND: Mapping[str, Any] = RPC_CONFIG if os.environ.get("YT_CONFORMANCE_BACKEND") == "rpc" else {}
"""By which way clients go; over RPC, they are ytsaurus-client with the driver of YTsaurus (`make conformance-rpc`)."""

REAL_TOKEN = os.environ.get("YT_TOKEN") if REAL_PROXY is not None else None
QUEUE_SCHEMA = [
    {"name": "data", "type": "string"},
    {"name": "$timestamp", "type": "uint64"},
    {"name": "$cumulative_data_weight", "type": "int64"},
]
SORTED_SCHEMA = [
    {"name": "key", "type": "int64", "sort_order": "ascending"},
    {"name": "value", "type": "string"},
    {"name": "other", "type": "any"},
]


class ClusterThread(thread.ClusterThread):
    """Two clusters that know each other, for tests that are marked `local_only`."""

    def __init__(
        self,
        data_dir: Path | None = None,
        clock: Clock | None = None,
        *,
        tokens: Mapping[str, str] | None = None,
        require_token: bool = False,
    ) -> None:
        assert REAL_PROXY is None, "whoever starts clusters has to be marked local_only"
        super().__init__(NAMES, data_dir, clock, tokens=tokens, require_token=require_token)


@dataclass(frozen=True)
class Answer:
    """What came back for a request."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def error(self) -> YtError | None:
        return http.find_error(self.headers)

    @property
    def value(self) -> Any:
        """The body as YSON."""
        assert self.status == 200, self.body
        return yson.loads(self.body)


@dataclass(frozen=True)
class RawHttp:
    """Requests put together by hand."""

    proxy: str

    def request(self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] = {}) -> Answer:
        connection = HTTPConnection(self.proxy, timeout=LIMIT_SECONDS)
        try:
            token = {} if REAL_TOKEN is None else {"Authorization": f"OAuth {REAL_TOKEN}"}
            connection.request(method, path, body, {**token, **headers})
            response = connection.getresponse()
            return Answer(response.status, dict(response.headers), response.read())
        finally:
            connection.close()

    def command(
        self,
        method: str,
        name: str,
        parameters: Mapping[str, Any],
        body: bytes | None = None,
        headers: Mapping[str, str] = {},
    ) -> Answer:
        """A command with parameters in a header; the answer is binary YSON unless they say otherwise."""
        described = {"output_format": yson.with_attributes("yson", {"format": "binary"}), **parameters}
        return self.request(
            method,
            http.COMMAND_PREFIX + name,
            body,
            {
                http.HEADER_FORMAT: http.YSON_TEXT_HEADER_FORMAT,
                http.PARAMETERS: http.encode_parameters(described),
                **headers,
            },
        )


def _discovery() -> dict[str, Any]:
    """A local cluster has one proxy: to ask it for others before whatever is written or read only takes time."""
    return {} if REAL_PROXY else {"proxy": {**CLIENT_CONFIG["proxy"], "enable_proxy_discovery": False}}


@dataclass
class Clients:
    """Makes clients and closes them."""

    _made: list[YtClient] = field(default_factory=list)

    def make(self, address: str, /, **config: Any) -> YtClient:
        """A client without retries, unless its configuration has them."""
        token = {} if REAL_TOKEN is None else {"token": REAL_TOKEN}
        client = YtClient(address, config={**CLIENT_CONFIG, **_discovery(), **BACKEND, **token, **config})
        self._made.append(client)
        return client

    def close(self) -> None:
        for client in self._made:
            session = yt.wrapper.config.get_option("_requests_session", client)
            if session is not None:
                session.close()


@dataclass(frozen=True)
class Cli:
    """The `yt` command against the cluster under test."""

    proxy: str
    _loaded: YtCommand

    def run(self, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return self._loaded.run(arguments, stdin)

    def run_executable(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        """The same as a shell does it, which takes longer."""
        executable = Path(sys.executable).with_name("yt")
        return subprocess.run(
            [executable, *arguments], capture_output=True, check=False, env=environment_of(self.proxy)
        )


def environment_of(proxy: str) -> Mapping[str, str]:
    """What the `yt` command is told by its environment."""
    return {
        **os.environ,
        "YT_PROXY": proxy,
        "YT_CONFIG_PATCHES": "{proxy={retries={enable=%false}};dynamic_table_retries={enable=%false}}",
        "LANGUAGE": "C",  # else it looks for translations of all its hundreds of options
    }


def make_queue(client: YtClient, path: str, **attributes: Any) -> str:
    """A mounted queue with both system columns."""
    client.create("table", path, attributes={"dynamic": True, "schema": QUEUE_SCHEMA, **attributes})
    client.mount_table(path, sync=True)
    return path


def make_sorted(client: YtClient, path: str) -> str:
    """A mounted sorted table."""
    client.create("table", path, attributes={"dynamic": True, "schema": SORTED_SCHEMA})
    client.mount_table(path, sync=True)
    return path


def inside(client: YtClient, transaction_id: str) -> Any:
    """What is done in it is done in the transaction; it is neither pinged nor ended."""
    return client.Transaction(transaction_id=transaction_id, acquire=False, ping=False)


def lock(client: YtClient, transaction_id: str, path: str, mode: str = "exclusive", **options: Any) -> str:
    """Lock for a transaction; the id of the lock."""
    with inside(client, transaction_id):
        return str(client.lock(path, mode=mode, **options)["lock_id"])


def start(client: YtClient, parent: str | None = None, **options: Any) -> str:
    """The id of a new transaction that nobody pings."""
    return str(client.start_transaction(parent_transaction=parent, timeout=60_000, **options))


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until something is so; AssertionError if it does not become so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


@contextmanager
def refused(code: int, *culprits: str) -> Iterator[None]:
    """The commands inside fail with a code, somewhere among the causes, and words that name these culprits."""
    with pytest.raises(YtClientError) as caught:
        yield
    tree = tree_of(caught.value)
    assert code in [item["code"] for item in tree], caught.value
    words = messages_of(caught.value)
    for culprit in culprits:
        assert culprit in words


def tree_of(error: YtClientError) -> list[dict[str, Any]]:
    """An error and all its causes as maps."""
    tree: list[dict[str, Any]] = [error.simplify()]
    for item in tree:
        tree.extend(item.get("inner_errors", ()))
    return tree


def messages_of(error: YtClientError) -> str:
    """What the server said; the client's own text repeats the request, which names every culprit."""
    return "; ".join(item["message"] for item in tree_of(error))


def rows_of(client: YtClient, query: str) -> list[dict[str, Any]]:
    """What a query selects."""
    return [dict(row) for row in client.select_rows(query)]
