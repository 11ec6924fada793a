"""What the completion of shells has to know of the commands, made from the commands themselves."""

from __future__ import annotations

import json
from typing import Any

import typer
from typer.core import TyperArgument, TyperGroup

from queue_agent.cli.main import LaterCommand, application


def completion_index() -> str:
    """Each command by its path: commands below it, options and arguments, as `completing` reads them."""
    group = typer.main.get_command(application)
    assert isinstance(group, TyperGroup)
    index: dict[str, Any] = {}
    _add(index, "", group)
    return json.dumps(index, indent=1, ensure_ascii=False) + "\n"


def _add(index: dict[str, Any], path: str, command: Any) -> None:
    below = command.commands if isinstance(command, TyperGroup) else {}
    shown = command.get_params(typer.Context(command))
    index[path] = {
        "commands": {name: _first_sentence(one.help or "") for name, one in below.items()},
        "options": {
            name: _parameter(one)
            for one in shown
            if not isinstance(one, TyperArgument)
            for name in (*one.opts, *one.secondary_opts)
        },
        "arguments": [_parameter(one) for one in shown if isinstance(one, TyperArgument)],
    }
    for name, one in below.items():
        _add(index, f"{path} {name}".strip(), one.real if isinstance(one, LaterCommand) else one)


def _parameter(parameter: Any) -> dict[str, Any]:
    flag = getattr(parameter, "is_flag", False)
    choices = parameter.type_descriptor.choices or ()
    return {
        "value": "" if flag else (parameter.metavar or "VALUE"),
        "choices": [str(getattr(one, "value", one)) for one in choices],
        "help": _first_sentence(parameter.help or ""),
    }


def _first_sentence(text: str) -> str:
    return " ".join(text.split()).partition(". ")[0].rstrip(".")
