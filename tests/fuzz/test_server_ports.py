"""What is sent to an agent, to WebHDFS and to the RPC proxy gives an answer or a closed connection, never a traceback.

As `test_port`: a fixed number of requests, with `FUZZ_SECONDS` as many as there is time for; `FUZZ_SEED` chooses.
"""

from __future__ import annotations

import json
import os
import random
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from http.client import HTTPConnection, HTTPResponse
from typing import Final
from urllib.parse import urlsplit

import pytest

from tests.e2e.playground import Playground, started
from tests.fuzz.attacks import Attack, preparations
from tests.fuzz.server_attacks import Make, attack_agent_http, attack_bus, attack_webhdfs
from tests.fuzz.test_port import check
from tests.waiting import LIMIT_SECONDS
from yt_wire import orchid

SECONDS: Final = float(os.environ.get("FUZZ_SECONDS", "inf"))
ATTACKS: Final = sys.maxsize if "FUZZ_SECONDS" in os.environ else 400
"""On each port."""

SEED: Final = int(os.environ.get("FUZZ_SEED", "1"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600 if "FUZZ_SECONDS" not in os.environ else SECONDS + 600),
]

Address = tuple[str, int]


@pytest.fixture(scope="module")
def playground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    with started(tmp_path_factory.mktemp("servers"), clusters=("a",)) as playground:
        playground.wait_ready()
        for preparation in preparations():
            check(_address(playground.clusters["a"]), preparation)
        yield playground
        playground.stop()  # which looks that nothing was written to standard error


def _address(url: str) -> Address:
    parts = urlsplit(url if "://" in url else f"bus://{url}")
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


def _rpc_proxy(playground: Playground) -> Address:
    with closing(HTTPConnection(*_address(playground.clusters["a"]), timeout=LIMIT_SECONDS)) as connection:
        connection.request("GET", "/api/v4/list?path=//sys/rpc_proxies")
        [name] = json.loads(connection.getresponse().read())["value"]
        return _address(name)


def _send(address: Address, attack: Attack) -> bytes:
    """All that came back until the server closed the connection."""
    answer = bytearray()
    with socket.create_connection(address, timeout=LIMIT_SECONDS) as connection:
        try:
            for piece in attack.pieces:
                connection.sendall(piece)
            connection.shutdown(socket.SHUT_WR)
            while data := connection.recv(2**16):
                answer += data
        except TimeoutError:
            raise
        except OSError:  # closed
            pass
    return bytes(answer)


def _check_http(address: Address, attack: Attack) -> None:
    """It must be answered, and by no internal error."""
    with socket.create_connection(address, timeout=LIMIT_SECONDS) as connection:
        try:
            for piece in attack.pieces:
                connection.sendall(piece)
        except TimeoutError:
            raise
        except OSError:  # closed, perhaps with an answer before
            pass
        response = HTTPResponse(connection)
        response.begin()
        content = response.read()
        assert response.status not in (500, 502), content
        assert b"Internal error" not in content, content


def _attack(make: Make, address: Address, playground: Playground) -> None:
    deadline = time.monotonic() + SECONDS
    index = 0
    while index < ATTACKS and time.monotonic() < deadline:
        seed = f"{SEED}/{index}"
        attack = make(random.Random(seed))
        try:
            if attack.is_http:
                _check_http(address, attack)
            else:
                _send(address, attack)
        except Exception as error:
            whole = b"".join(attack.pieces)
            raise AssertionError(f"seed {seed}, {attack.name}, {whole[:3000]!r}: {error!r}") from error
        if index % 50 == 0:
            assert playground.errors() == "", f"seed {seed} or one of 50 before"
        index += 1
    assert playground.errors() == ""
    assert playground.ask_agent("/health/live") == {"status": "ok"}


def test_the_bus_of_an_agent(playground: Playground) -> None:
    _attack(partial(attack_bus, service=orchid.SERVICE), _address(playground.rpc_address), playground)


def test_the_http_port_of_an_agent(playground: Playground) -> None:
    _attack(attack_agent_http, _address(playground.agent_url), playground)


def test_webhdfs(playground: Playground) -> None:
    make = partial(attack_webhdfs, secret=playground.webhdfs_secret())
    _attack(make, _address(playground.webhdfs), playground)


def test_the_rpc_proxy_of_a_cluster(playground: Playground) -> None:
    _attack(partial(attack_bus, service="ApiService"), _rpc_proxy(playground), playground)
