"""Any bytes sent to the port give an answer or a closed connection, never a traceback or memory without end.

A fixed number of requests, the same every time; with `FUZZ_SECONDS` as many as there is time for. `FUZZ_SEED` chooses.
"""

from __future__ import annotations

import json
import os
import random
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.playground import Playground, started
from tests.fuzz.attacks import Attack, bombs, make_attack, preparations
from tests.waiting import LIMIT_SECONDS

SECONDS: Final = float(os.environ.get("FUZZ_SECONDS", "inf"))
ATTACKS: Final = sys.maxsize if "FUZZ_SECONDS" in os.environ else 400
"""Of each thread."""

SEED: Final = int(os.environ.get("FUZZ_SEED", "1"))
THREADS: Final = 3
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600 if "FUZZ_SECONDS" not in os.environ else SECONDS + 600),
]

MORE_MEMORY: Final = 900 * 2**20
"""A request of the largest size allowed, and what Python makes of it."""


@pytest.fixture(scope="module")
def playground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    options = ("--agents=0", "--test-controls")
    with started(tmp_path_factory.mktemp("port"), *options, clusters=("a",)) as playground:
        playground.wait_ready()
        for preparation in preparations():
            check(address_of(playground), preparation)
        yield playground
        playground.stop()  # which looks that nothing was written to standard error


def forget_peak(playground: Playground) -> int:
    """What the process uses now is the most it ever has; returned in bytes."""
    Path(f"/proc/{playground.process.pid}/clear_refs").write_text("5")
    return peak_memory(playground)


def peak_memory(playground: Playground) -> int:
    """In bytes, since the start of the process or since that was forgotten."""
    status = Path(f"/proc/{playground.process.pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


def address_of(playground: Playground) -> tuple[str, int]:
    host, port = playground.clusters["a"].removeprefix("http://").split(":")
    return host, int(port)


def check(address: tuple[str, int], attack: Attack) -> int | None:
    """Send it; whole requests must be answered, with an error document unless all went well.

    Returns:
        The status of the answer; None if none was due.
    """
    with socket.create_connection(address, timeout=LIMIT_SECONDS) as connection:
        answered = False
        try:
            for piece in attack.pieces:
                connection.sendall(piece)
            if not attack.is_http:
                connection.shutdown(socket.SHUT_WR)
                while data := connection.recv(2**16):
                    assert answered or data.startswith(b"HTTP/"), data[:100]
                    answered = True
                return None
        except TimeoutError:
            raise
        except OSError:  # closed
            if not attack.is_http:
                return None
        response = HTTPResponse(connection)
        response.begin()
        content = response.read()
        assert response.status < 500, content
        if response.status >= 400:
            error = json.loads(content)
            assert error["code"] != 0
            assert "Internal error" not in error["message"], error
        return response.status


def still_answers(address: tuple[str, int]) -> bool:
    connection = HTTPConnection(*address, timeout=LIMIT_SECONDS)
    try:
        connection.request("GET", "/api/v4/exists?path=//sys")
        return connection.getresponse().read() == b'{"value":true}'
    finally:
        connection.close()


def test_any_bytes_give_an_answer_or_a_closed_connection(playground: Playground) -> None:
    address = address_of(playground)
    before = forget_peak(playground)
    deadline = time.monotonic() + SECONDS
    failures: list[str] = []

    def attack(number: int) -> None:
        index = 0
        while index < ATTACKS and time.monotonic() < deadline and not failures:
            if index % 50 == 0:
                for preparation in preparations():
                    check(address, preparation)
            seed = f"{SEED}/{number}/{index}"
            attack = make_attack(random.Random(seed))
            try:
                check(address, attack)
            except Exception as error:  # noqa: BLE001 - told below, with what caused it
                failures.append(f"seed {seed}, {attack.name}, {b''.join(attack.pieces)[:3000]!r}: {error!r}")
            index += 1

    threads = [threading.Thread(target=attack, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert playground.errors() == ""
    assert still_answers(address)
    assert peak_memory(playground) - before < MORE_MEMORY


def test_little_data_never_becomes_much(playground: Playground) -> None:
    address = address_of(playground)
    before = forget_peak(playground)
    for bomb in bombs():
        check(address, bomb)
        assert peak_memory(playground) - before < MORE_MEMORY, bomb.name
    assert still_answers(address)


def test_connections_beyond_what_the_process_can_hold_are_closed(playground: Playground) -> None:
    address = address_of(playground)
    held: list[socket.socket] = []
    try:
        with suppress(OSError):  # whoever attacks may run out of them first
            for _ in range(3000):
                held.append(socket.create_connection(address, timeout=LIMIT_SECONDS))  # noqa: PERF401 - those that there are get closed
        for connection in held:
            with suppress(OSError):
                connection.sendall(b"GET /api/v4/get HTTP/1.1\r\nX-Never: ")
    finally:
        for connection in held:
            connection.close()
    assert still_answers(address)
    assert playground.errors() == ""
