"""The reference of the command line, made from the commands themselves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Final

import typer
from typer.core import TyperCommand, TyperGroup

from queue_agent.cli.main import LaterCommand, application

_EXAMPLE: Final = re.compile(r"^(?P<command>queue-agent .+?)(?P<note> +· .*)?$", re.MULTILINE)
"""An example of a command, and what it shows."""

_INTRODUCTION: Final = """# Commands

Generated from the code (`make docs`). `queue-agent COMMAND --help` says the same. `queue-agent completion SHELL`
makes bash, zsh or fish complete commands, options, and names of queues and consumers. For names it asks the agent
that the command line names, for at most a second. It shows no errors.

Exit codes, unless a command lists others:

* 0: done;
* 1: some of the work failed;
* 2: the command line, a file or an address is unusable, and nothing was done.

Output has no colours if it does not go to a terminal, or if `NO_COLOR` is set.

Two groups have pages of their own: [commands about consumers](commands-consumer.md), and
[commands that run Spark](commands-spark.md).
"""

_SPARK_INTRODUCTION: Final = """# Commands that run Spark

Generated from the code (`make docs`). They need the extra `spark`: see [spark.md](spark.md). For all other commands
see [commands.md](commands.md). [spark-exports.md](spark-exports.md) and [history.md](history.md) show how to use them.
"""

_CONSUMER_INTRODUCTION: Final = """# Commands about consumers

Generated from the code (`make docs`). For all other commands see [commands.md](commands.md).
[verdicts.md](verdicts.md), [quarantine.md](quarantine.md) and [operating.md](operating.md#day-by-day) show when to use
them.
"""

_GROUPS: Final = {
    "queue-agent consumer ": ("commands-consumer.md", _CONSUMER_INTRODUCTION),
    "queue-agent spark ": ("commands-spark.md", _SPARK_INTRODUCTION),
}
"""Pages of their own, by the beginning of their commands."""


def commands_pages() -> Mapping[str, str]:
    """Every command with arguments and options, in the order of `--help`: pages by file name."""
    pages = {"commands.md": [_INTRODUCTION], **{name: [introduction] for name, introduction in _GROUPS.values()}}
    group = typer.main.get_command(application)
    assert isinstance(group, TyperGroup)
    for path, command in _walk(group, "queue-agent"):
        name = next((name for begin, (name, _) in _GROUPS.items() if path.startswith(begin)), "commands.md")
        pages[name] += _section(path, command)
    return {name: "\n".join(parts) for name, parts in pages.items()}


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
    yield f"`{' '.join([path, *command.collect_usage_pieces(context)])}`\n"
    records = [record for one in command.params if (record := one.get_help_record(context)) is not None]
    if records:
        yield "| argument or option | meaning |\n| --- | --- |"
        yield from (
            f"| `{_cell(names)}` | {_cell(help_text).replace('<', chr(92) + '<')} |" for names, help_text in records
        )
        yield ""
    if command.epilog:
        yield f"{_EXAMPLE.sub(_as_code, inspect.cleandoc(command.epilog))}\n"


def _as_code(example: re.Match[str]) -> str:
    return f"`{example['command']}`{example['note'] or ''}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
