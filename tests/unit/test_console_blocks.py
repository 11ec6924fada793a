"""Commands of this project in console blocks of pages: they and their options exist."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import typer
from typer.core import TyperGroup

from queue_agent.cli.main import LaterCommand, application
from tests.prose import ROOT, pages

QUEUE_AGENT: Final = typer.main.get_command(application)
_BLOCK: Final = re.compile(r"^ *```console\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_COMMAND: Final = re.compile(r"^ *\$ (.*)$", re.MULTILINE)
_TARGET: Final = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)


def commands(page: Path) -> Iterator[list[str]]:
    """Words of each command that a page shows, up to the first pipe or separator."""
    for block in _BLOCK.findall(page.read_text()):
        for line in _COMMAND.findall(block.replace("\\\n", " ")):
            try:
                words = shlex.split(line, comments=True)
            except ValueError:  # a quotation of several lines
                continue
            end = next((index for index, word in enumerate(words) if word in {"|", ";", "&&", ">", "&"}), len(words))
            yield [word for word in words[:end] if not re.match(r"[A-Z_]+=", word)]


def missing_from_queue_agent(words: list[str]) -> list[str]:
    """Subcommands and options that `queue-agent` does not have."""
    command = QUEUE_AGENT
    while isinstance(command, TyperGroup) and words and not words[0].startswith("-"):
        name, *words = words
        found = command.commands.get(name)
        if found is None:
            return [name]
        command = found.real if isinstance(found, LaterCommand) else found
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    known |= {"--help", "--version"}
    return [word for word in words if word.startswith("--") and word.partition("=")[0] not in known]


def missing(words: list[str]) -> list[str]:
    match words:
        case ["queue-agent", *rest]:
            return missing_from_queue_agent([word.strip("[]") for word in rest])
        case ["make", *targets]:
            known = _TARGET.findall((ROOT / "Makefile").read_text())
            return [target for target in targets if target not in known]
        case ["python", "-m", module, *_]:
            return [] if importlib.util.find_spec(module) else [module]
    return []


@pytest.mark.parametrize("page", list(pages()), ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_this_project_on_a_page_exist(page: Path) -> None:
    assert {" ".join(words): found for words in commands(page) if (found := missing(words))} == {}


@pytest.mark.parametrize(
    "line", ["queue-agent runn", "queue-agent status --problem", "make tests", "python -m queue_agent.sparks"]
)
def test_a_command_that_does_not_exist_is_named(line: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```console\n$ {line}\n```\n")
    assert [missing(words) for words in commands(page)] != [[]]
