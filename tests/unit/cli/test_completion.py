"""Shells complete names of queues and consumers by the scripts of `queue-agent completion`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from queue_agent.cli.completion import SCRIPTS, Shell
from tests.unit.cli.stand_in_agent import StandInAgent, names_of_a_stage
from tests.waiting import LIMIT_SECONDS

HARMLESS: Final = ["hume://home/events", "hume://home/errors"]
HOSTILE: Final = ["hume://home/$(touch owned)", "hume://home/\x1b[2J", "hume://home/\u202erow", "hume://home/a\nb"]

BASH: Final = """
COMP_LINE=$1 COMP_POINT=${#1}
_queue_agent_completion queue-agent
for one in "${COMPREPLY[@]}"; do printf '%s\\n' "$one"; done
"""
# zsh completes only where somebody types; what it would be given is printed instead.
ZSH: Final = """
compdef() { : }
compadd() { print -rl -- "${@[2,-1]}" }
_files() { print FILES }
source script
words=(${(z)2}) CURRENT=${#words}
_queue_agent
"""


@pytest.fixture
def agent() -> Iterator[StandInAgent]:
    with StandInAgent(names_of_a_stage([*HARMLESS, *HOSTILE], ["hume://home/reader"])).running() as agent:
        yield agent


def run(
    shell: Sequence[str], script: str, line: Sequence[str], directory: Path, address: str
) -> subprocess.CompletedProcess[str]:
    """Run a script of a shell that has the command on its path, with a line to complete."""
    command = directory / "queue-agent"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m queue_agent "$@"\n')
    command.chmod(0o755)
    environment = {
        "PATH": f"{directory}:{os.environ['PATH']}",
        "HOME": str(directory),
        "QUEUE_AGENT_ADDRESS": address,
        "PYTHONPATH": str(Path(__file__).parents[3]),
        "LC_ALL": "C.UTF-8",
    }
    return subprocess.run(
        [*shell, script, "shell", *line],
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
        cwd=directory,
        env=environment,
    )


def completed_by_bash(line: str, directory: Path, address: str) -> list[str]:
    result = run(["bash", "--norc", "-c"], SCRIPTS[Shell.BASH] + BASH, [line], directory, address)
    assert (result.returncode, result.stderr) == (0, ""), result
    assert not (directory / "owned").exists()
    return result.stdout.split("\n")[:-1]


def test_bash_completes_names_after_the_colon_and_quotes_what_it_would_run(agent: StandInAgent, tmp_path: Path) -> None:
    found = completed_by_bash("queue-agent status hume://home/", tmp_path, agent.address)
    # Readline takes the word from its last colon.
    assert sorted(found) == ["//home/\\$\\(touch\\ owned\\)", "//home/errors", "//home/events", "//home/reader"]
    assert completed_by_bash("queue-agent trim plan hu", tmp_path, agent.address)[-1] == "hume://home/events"


def test_bash_completes_commands_options_and_consumers(agent: StandInAgent, tmp_path: Path) -> None:
    assert completed_by_bash("queue-agent sta", tmp_path, agent.address) == ["status"]
    assert completed_by_bash("queue-agent status --prob", tmp_path, agent.address) == ["--problems"]
    line = "queue-agent consumer reset hume://home/events "
    assert completed_by_bash(line, tmp_path, agent.address) == ["hume://home/reader"]


def test_an_agent_that_says_nothing_completes_nothing_and_prints_nothing(agent: StandInAgent, tmp_path: Path) -> None:
    agent.is_silent.set()
    assert completed_by_bash("queue-agent status hume:", tmp_path, agent.address) == []
    agent.is_silent.clear()
    agent.documents.clear()
    assert completed_by_bash("queue-agent status hume:", tmp_path, agent.address) == []
    assert completed_by_bash("queue-agent status hume:", tmp_path, "http://[nonsense") == []
    assert completed_by_bash("queue-agent status --config nowhere.yaml hume:", tmp_path, agent.address) == []


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes_names(agent: StandInAgent, tmp_path: Path) -> None:
    script = SCRIPTS[Shell.FISH] + "complete --do-complete $argv[2]\n"
    result = run(["fish", "--no-config", "-c"], script, ["queue-agent status hume://home/e"], tmp_path, agent.address)
    assert (result.stderr, sorted(result.stdout.split())) == ("", sorted(HARMLESS))
    assert not (tmp_path / "owned").exists()


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_completes_names(agent: StandInAgent, tmp_path: Path) -> None:
    (tmp_path / "script").write_text(SCRIPTS[Shell.ZSH])
    result = run(["zsh", "-f", "-c"], ZSH, ["x", "queue-agent status hume://home/e"], tmp_path, agent.address)
    assert (result.stderr, sorted(result.stdout.split())) == ("", sorted(HARMLESS))
    agent.documents.clear()
    result = run(["zsh", "-f", "-c"], ZSH, ["x", "queue-agent status hume://home/e"], tmp_path, agent.address)
    assert (result.stderr, result.stdout) == ("", "FILES\n")
    assert not (tmp_path / "owned").exists()
