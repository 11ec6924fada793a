"""The manual of the commands goes with the command table."""

from __future__ import annotations

import pytest

from yt_local.commands import COMMANDS
from yt_local.commands.command import Command
from yt_local.commands.manual import MANUAL
from yt_local.commands.manual.absent import ABSENT, NEVER_ANSWERED
from yt_local.commands.manual.page import own_parameters, render_reference
from yt_local.commands.manual.parameters import COMMON, KNOWN, meaning


def test_every_command_is_in_the_manual_and_nothing_else() -> None:
    assert set(MANUAL) == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS.values(), ids=lambda command: command.name)
def test_every_parameter_has_a_meaning(command: Command) -> None:
    assert [name for name in own_parameters(command) if meaning(command.name, name) is None] == []


def test_no_meaning_is_left_over() -> None:
    used = {name for command in COMMANDS.values() for name in own_parameters(command)}
    assert {parameter for _, parameter in KNOWN} - used - set(COMMON) == set()
    assert {command for command, _ in KNOWN if command is not None} <= set(COMMANDS)


def test_a_parameter_that_is_said_to_be_ignored_has_no_meaning_of_its_own() -> None:
    for name, manual in MANUAL.items():
        for parameter in set(manual.ignored) & set(own_parameters(COMMANDS[name])):
            assert "no effect" in (meaning(name, parameter) or "")


def test_commands_said_to_be_absent_are() -> None:
    assert {name for names in ABSENT.values() for name in names} & set(COMMANDS) == set()


def test_codes_said_never_to_come_are_promised_by_no_command() -> None:
    assert {code for manual in MANUAL.values() for code in manual.errors} & set(NEVER_ANSWERED) == set()


def test_the_reference_tells_of_kinds_defaults_and_refusals() -> None:
    page = render_reference()
    assert "| `partition_index` | integer | required |" in page
    assert "| `mode` | `sync`, `async` | null |" in page
    assert "| `queue_path` | path | required |" in page
    assert "* **Refused**: `transaction_id` (11000)" in page
