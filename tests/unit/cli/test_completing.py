"""What completes a command line, and what is not imported for that."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from queue_agent.cli.completing import complete
from queue_agent.cli.completion_index import completion_index
from queue_agent.cli.reference import INDEX
from tests.unit.cli.stand_in_agent import StandInAgent, names_of_a_stage

QUEUES = ["hume://home/errors", "hume://home/events"]
CONSUMERS = ["hume://home/reader"]


@pytest.fixture
def agent() -> Iterator[StandInAgent]:
    with StandInAgent(names_of_a_stage(QUEUES, CONSUMERS)).running() as agent:
        yield agent


def words(line: str) -> list[str]:
    return [one.partition("\t")[0] for one in complete(line)]


def test_the_index_is_what_the_commands_say_now() -> None:
    assert INDEX.read_text() == completion_index(), "run `make docs`"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("queue-agent sta", ["status"]),
        ("queue-agent consumer r", ["reset"]),
        ("queue-agent consumer ", ["reset", "acknowledge", "protect", "events"]),
        ("queue-agent status --prob", ["--problems"]),
        ("queue-agent completion ", ["bash", "zsh", "fish"]),
        ("queue-agent completion bash ", []),
        ("queue-agent consumer reset 'an unfinished --", []),
        ("queue-agent status --config ", []),
    ],
)
def test_commands_options_and_choices_come_from_the_index(line: str, expected: list[str]) -> None:
    assert words(line) == expected


def test_an_option_is_shown_with_the_first_sentence_of_its_help() -> None:
    assert complete("queue-agent status --prob") == ["--problems\tShow only queues and consumers that have a problem"]


@pytest.mark.parametrize("given", ["--agent {}", "--agent={}", "--agent http://127.0.0.1:1 --agent {}"])
def test_names_come_from_the_agents_of_the_line(given: str, agent: StandInAgent) -> None:
    line = f"queue-agent status --problems {given.format(agent.address)} "
    assert words(line) == sorted([*QUEUES, *CONSUMERS])
    assert words(f"{line}hume://home/ev") == ["hume://home/events"]


def test_each_argument_has_names_of_its_kind(agent: StandInAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUEUE_AGENT_ADDRESS", agent.address)
    assert words("queue-agent consumer reset ") == QUEUES
    assert words("queue-agent consumer reset hume://home/events ") == CONSUMERS
    assert words("queue-agent consumer reset hume://home/events hume://home/reader ") == []


def test_clusters_come_from_the_configuration(tmp_path: Path) -> None:
    config = tmp_path / "agent.yaml"
    clusters = "{hume: {proxy: 'http://127.0.0.1:1'}, pythia: {proxy: 'http://127.0.0.1:1'}}"
    config.write_text(f"stage: test\nclusters: {clusters}\nstate: {{cluster: hume}}\n")
    assert words(f"queue-agent register-addresses --config {config} --cluster p") == ["pythia"]


def test_an_agent_that_wants_a_token_gets_it(agent: StandInAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    agent.token = "secret"
    line = f"queue-agent trim plan --agent {agent.address} "
    monkeypatch.setenv("YT_TOKEN", "another")
    assert words(line) == []
    monkeypatch.setenv("YT_TOKEN", "secret")
    assert words(line) == QUEUES


def test_a_shell_waits_for_none_of_the_libraries_of_commands(agent: StandInAgent) -> None:
    program = (
        "import sys\nfrom queue_agent.cli.completing import run\n"
        f"run('queue-agent status --agent {agent.address} ')\n"
        "print([one for one in ('typer', 'pydantic', 'rich', 'aiohttp', 'yt', 'asyncio') if one in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [*sorted([*QUEUES, *CONSUMERS]), "[]"]
