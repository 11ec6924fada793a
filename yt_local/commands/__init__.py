"""What a cluster can be asked to do: a file for each command, or for a few that are done alike.

A file has the parameters of its commands, their handlers and manuals (`COMMANDS`), and the methods by which the RPC
proxy translates messages to them (`METHODS`). Each file of this folder is read; none is listed anywhere.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from yt_local.calls.call import Method
from yt_local.calls.command import Command

_FILES: Final = [import_module(f"{__name__}.{file.name}") for file in iter_modules(__path__)]
_COMMANDS: Final[list[Command]] = [command for file in _FILES for command in file.COMMANDS]
_METHODS: Final[list[Method]] = [method for file in _FILES for method in file.METHODS]

COMMANDS: Final[dict[str, Command]] = {command.name: command for command in _COMMANDS}
"""By their names, whichever proxy asks for them."""

METHODS: Final[dict[str, Method]] = {name: method for method in _METHODS for name in method.names}
"""Methods of `ApiService`, by their names."""
