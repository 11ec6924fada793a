"""Misspelt names are guessed, and no name reaches a terminal that would change what it shows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from queue_agent.cli.main import application
from queue_agent.cli.names import did_you_mean, fetch_names, guess
from tests.unit.cli.stand_in_agent import StandInAgent, names_of_a_stage

QUEUES = ["hume://home/app/events", "hume://home/app/errors"]
CONSUMERS = ["hume://home/app/reader"]


@pytest.fixture
def agent() -> Iterator[StandInAgent]:
    with StandInAgent(names_of_a_stage(QUEUES, CONSUMERS)).running() as agent:
        yield agent


@pytest.mark.parametrize(
    ("typed", "guessed"),
    [
        ("hume://home/app/event", " (did you mean hume://home/app/events?)"),
        ("huem://home/app/events", " (did you mean hume://home/app/events?)"),
        ("hume://completely/else", ""),
        ("hume://home/app/evens", " (did you mean hume://home/app/events?)"),
        ("", ""),
        ("x" * 100_000, ""),
    ],
)
def test_the_nearest_names_are_guessed_and_distant_ones_are_not(typed: str, guessed: str) -> None:
    assert did_you_mean(typed, QUEUES).startswith(guessed) if guessed else not did_you_mean(typed, QUEUES)


@pytest.mark.parametrize("odd", ["hume://home/app/\x1b[2J", "hume://home/app/\u202eevents", "hume://" + "a" * 4096])
def test_names_that_would_change_a_terminal_are_never_guessed(odd: str) -> None:
    assert did_you_mean(odd + "x", [odd]) == ""
    assert did_you_mean(odd[:-1], [odd]) == ""


async def test_an_agent_that_is_silent_or_gone_keeps_nobody_waiting(agent: StandInAgent) -> None:
    agent.is_silent.set()
    assert await guess("hume://home/app/event", [agent.address]) == ""
    assert await guess("hume://home/app/event", ["http://127.0.0.1:1"]) == ""


async def test_names_are_those_of_the_wanted_kinds(agent: StandInAgent) -> None:
    assert await fetch_names([agent.address]) == sorted([*QUEUES, *CONSUMERS])
    assert await fetch_names([agent.address], ["consumers"]) == CONSUMERS


@pytest.mark.parametrize("command", [["status"], ["trim", "plan"], ["export", "plan"]])
def test_commands_guess_a_misspelt_queue(agent: StandInAgent, command: list[str]) -> None:
    result = CliRunner().invoke(application, [*command, "hume://home/app/event", "--agent", agent.address])
    assert result.exit_code == 2
    assert "(did you mean hume://home/app/events" in result.stderr
