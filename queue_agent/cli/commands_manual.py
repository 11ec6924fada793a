"""The reference of the command line, made from the commands themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Final

import typer
from typer.core import TyperCommand, TyperGroup

from queue_agent.cli.main import LaterCommand, application

_INTRODUCTION: Final = """# Commands

Generated from the code (`make docs`). `queue-agent COMMAND --help` says the same. `queue-agent --install-completion`
has bash, zsh, fish or PowerShell complete commands, options, and the names of queues and consumers of the agent on this
machine (bash, for which a colon ends a word, up to that of the cluster).

Where a command says nothing else, it ends with 0 when it has done what it was asked for, with 1 when it could not do
all of it, and with 2 when the command line, a file or an address can not be used and nothing was done. Colours are left
out where standard output is no terminal or `NO_COLOR` is set.
"""


def commands_page() -> str:
    """Every command with its arguments and options, in the order in which `--help` lists them."""
    group = typer.main.get_command(application)
    assert isinstance(group, TyperGroup)
    sections = [section for path, command in _walk(group, "queue-agent") for section in _section(path, command)]
    return "\n".join([_INTRODUCTION, *sections])


def _walk(group: TyperGroup, path: str) -> Iterator[tuple[str, TyperCommand]]:
    for name, command in group.commands.items():
        found = command.real if isinstance(command, LaterCommand) else command
        if isinstance(found, TyperGroup):
            yield from _walk(found, f"{path} {name}")
        elif isinstance(found, TyperCommand):
            yield f"{path} {name}", found


def _section(path: str, command: TyperCommand) -> Iterator[str]:
    context = typer.Context(command, info_name=path)
    yield f"## {path}\n"
    yield f"{inspect.cleandoc(command.help or '')}\n"
    yield f"```\n{' '.join([path, *command.collect_usage_pieces(context)])}\n```\n"
    records = [record for one in command.params if (record := one.get_help_record(context)) is not None]
    if records:
        yield "| argument or option | meaning |\n| --- | --- |"
        yield from (
            f"| `{_cell(names)}` | {_cell(help_text).replace('<', chr(92) + '<')} |" for names, help_text in records
        )
        yield ""
    if command.epilog:
        yield f"{inspect.cleandoc(command.epilog)}\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
