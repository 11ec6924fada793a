"""Peers that mean harm, on both ports of an agent that may open few files; `make attack-ports` has 10,000 of them."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final

import pytest

from tests.e2e.attacked_agent import CLUSTER, QUEUE, USUAL_FILES, AttackedAgent, agent_to_attack, measure, serves
from tests.e2e.hostile_peers import LOOPBACK, Orders, bus_attacks, http_attacks
from tests.e2e.playground import eventually

KINDS: Final = max(len(http_attacks("a://q")), len(bus_attacks("a://q")))
PER_KIND: Final = 300
FILES: Final = 600
LEFT_FILES: Final = 100
"""Of the 256 that connections may not have; those that are being closed count for a moment."""

MORE_MEMORY: Final = 192 << 20
LOG_LINES: Final = 60


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedAgent]:
    with agent_to_attack(tmp_path_factory.mktemp("agent")) as agent:
        yield agent


def test_an_agent_allows_itself_all_the_files_it_may_open(agent: AttackedAgent) -> None:
    allowed, most = agent.allowed_files()
    assert allowed == most != USUAL_FILES


@pytest.mark.slow
def test_liveness_and_statuses_are_answered_under_attack_in_bounded_memory(agent: AttackedAgent) -> None:
    agent.limit_files(FILES)
    orders = Orders(
        http_port=agent.http_port,
        bus_port=agent.bus_port,
        queue=f"{CLUSTER}:{QUEUE}",
        connections=KINDS * PER_KIND,
        seconds=5,
        addresses=8,
        process=0,
        ended=PER_KIND,
    )
    figures = asyncio.run(measure(agent, orders, processes=2))
    assert figures.attackers["ended by the agent"] >= PER_KIND
    assert not figures.failures
    assert all(figures.seconds.values()), "each question was answered"
    assert figures.memory_most - figures.memory_before < MORE_MEMORY
    assert figures.open_files <= FILES - LEFT_FILES
    assert figures.log_lines < LOG_LINES
    assert not [line for line in agent.log() if "Traceback" in line]


def test_an_agent_without_file_descriptors_waits_quietly_and_goes_on_once_there_are_some(agent: AttackedAgent) -> None:
    lines_before = len(agent.log())
    agent.limit_files(3)
    with ExitStack() as stack:
        for port in (agent.http_port, agent.bus_port):
            for _ in range(50):
                stack.enter_context(socket.create_connection((LOOPBACK, port)))
        eventually(lambda: _says(agent, "connections are not accepted for a moment"))
        before, began = agent.processor_seconds(), time.monotonic()
        time.sleep(1)  # in which it has nothing to do
        busy = (agent.processor_seconds() - before) / (time.monotonic() - began)
        assert busy < 0.5, "it asks again and again whether there are any"
        assert len(agent.log()) - lines_before < LOG_LINES
        agent.limit_files(FILES)
        eventually(lambda: asyncio.run(serves(agent)))


def _says(agent: AttackedAgent, words: str) -> None:
    assert any(words in line for line in agent.log())
