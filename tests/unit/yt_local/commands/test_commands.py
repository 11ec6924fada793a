"""The tables of commands and methods have all that the files of commands say."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Final

import yt_local.commands
from yt_local.commands import COMMANDS, METHODS

FILES: Final = [
    import_module(f"yt_local.commands.{file.stem}")
    for file in sorted(Path(yt_local.commands.__path__[0]).glob("*.py"))
    if file.name != "__init__.py"
]


def test_no_command_is_left_out_or_there_twice() -> None:
    told = [command.name for file in FILES for command in file.COMMANDS]
    assert sorted(told) == sorted(COMMANDS)


def test_no_method_is_left_out_or_there_twice() -> None:
    told = [name for file in FILES for method in file.METHODS for name in method.names]
    assert sorted(told) == sorted(METHODS)
