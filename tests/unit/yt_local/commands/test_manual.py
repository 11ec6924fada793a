"""The manual of the commands goes with the command table."""

from __future__ import annotations

import pytest

from yt_local.calls.command import Command
from yt_local.calls.meanings import COMMON, SHARED
from yt_local.commands import COMMANDS
from yt_local.reference.absent import ABSENT, NEVER_ANSWERED
from yt_local.reference.page import own_parameters, render_reference


@pytest.mark.parametrize("command", COMMANDS.values(), ids=lambda command: command.name)
def test_every_parameter_has_a_meaning(command: Command) -> None:
    assert [name for name in own_parameters(command) if command.manual.meaning(name) is None] == []


def test_no_meaning_is_left_over() -> None:
    used = {name for command in COMMANDS.values() for name in own_parameters(command)}
    assert set(SHARED) - used - set(COMMON) == set()


@pytest.mark.parametrize("command", COMMANDS.values(), ids=lambda command: command.name)
def test_a_manual_tells_of_no_parameter_that_is_not_there_or_means_what_it_means_elsewhere(command: Command) -> None:
    own = command.manual.parameters
    assert set(own) <= set(own_parameters(command))
    assert [name for name, meaning in own.items() if SHARED.get(name) == meaning] == []


def test_a_parameter_that_is_said_to_be_ignored_has_no_meaning_of_its_own() -> None:
    for command in COMMANDS.values():
        for parameter in set(command.manual.ignored) & set(own_parameters(command)):
            assert "no effect" in (command.manual.meaning(parameter) or "")


def test_commands_said_to_be_absent_are() -> None:
    assert {name for names in ABSENT.values() for name in names} & set(COMMANDS) == set()


def test_codes_said_never_to_come_are_promised_by_no_command() -> None:
    assert {code for command in COMMANDS.values() for code in command.manual.errors} & set(NEVER_ANSWERED) == set()


def test_every_command_is_on_one_page() -> None:
    sections = [line for page in render_reference().values() for line in page.splitlines() if line.startswith("## `")]
    assert sorted(sections) == sorted(f"## `{name}`" for name in COMMANDS)


def test_the_reference_tells_of_kinds_defaults_and_refusals() -> None:
    page = "\n".join(render_reference().values())
    assert "| `partition_index` | integer | required |" in page
    assert "| `mode` | `sync`, `async` | null |" in page
    assert "| `queue_path` | path | required |" in page
    assert "* **Refused**: `transaction_id` (11000)" in page
