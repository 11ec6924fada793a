"""The reference of all commands as a page: what the command table says, and the manual beside it."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from datetime import datetime
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from yt_local.calls.command import Command
from yt_local.calls.meanings import COMMON
from yt_local.commands import COMMANDS
from yt_local.reference.absent import ABSENT, NEVER_ANSWERED
from yt_wire.ypath import RichPath

_INTRODUCTION: Final = """\
Generated from the command table (`make docs`). The same commands make up `GET /api/v4`, and
`GET /api/v3` those that API v3 has, under its names.

* **Parameters** that a command does not know are ignored, as a real proxy ignores them; so a mistyped name has no
  effect there and here. Those of the real command that are known and ignored are listed. A value of the wrong kind
  is an error that names the parameter: `Error reading parameter /name: ...`, or `Missing required parameter /name`.
* **Any command** also takes `input_format`, `output_format`, and ignores `ping_ancestor_transactions`, `retry`,
  `timeout`, `suppress_transaction_coordinator_sync` and `suppress_upstream_sync` unless they are in its list. Those
  that change something take `mutation_id`: a repeat within five minutes gets the answer of the first time.
* **Structured** input and output is one value, **tabular** rows, **binary** bytes. Input other than null makes it
  `PUT`, else a volatile command is `POST`, any other `GET`. Other methods do as well:
  the body of a `POST` is always parameters, that of another method always input.
* **Any command may answer** 1 (a parameter, a format or a body that cannot be read), 900 and 901 (who is asking;
  what they may not do), 903 (banned), 108 (the cluster has too much in its hands), 105 (a fault that a test
  switched on), and those in a master transaction 11000 (no such transaction) and 1000 (a prerequisite does not
  hold). Below, 1 stands for errors without a code of their own.
"""
_PLAIN: Final[dict[Any, str]] = {
    str: "string",
    int: "integer",
    bool: "boolean",
    float: "number",
    dict: "map",
    list: "list",
    RichPath: "path",
    datetime: "instant",
    Any: "any value",
    NoneType: "null",
}


def render_reference() -> str:
    """Markdown, beginning with the text before the first command."""
    sections = [_INTRODUCTION, _common(), *(_section(command) for command in COMMANDS.values()), _absent()]
    return "\n".join(sections)


def own_parameters(command: Command) -> dict[str, FieldInfo]:
    """The fields by the names clients use, without those that are common to all commands on the tree."""
    fields = {field.alias or name: field for name, field in command.parameters.model_fields.items()}
    shared = _is_on_the_tree(command)
    return {name: field for name, field in fields.items() if not (shared and name in COMMON)}


def _is_on_the_tree(command: Command) -> bool:
    return set(COMMON) <= set(command.parameters.model_fields)


def _common() -> str:
    lines = ["### Parameters of commands on the tree", "", *_head()]
    field_of = COMMANDS["get"].parameters.model_fields
    lines += [_row(name, field_of[name], text) for name, text in COMMON.items()]
    return "\n".join([*lines, ""])


def _section(command: Command) -> str:
    manual = command.manual
    kind = ", ".join(
        [
            f"{command.input_type} → {command.output_type}",
            "volatile" if command.is_volatile else "reads only",
            "heavy" if command.is_heavy else "light",
        ]
    )
    parameters = own_parameters(command)
    lines = [f"### `{command.name}`", "", f"{manual.does} *{kind}*", ""]
    if parameters:
        lines += [*_head(), *(_row(name, field, manual.meaning(name)) for name, field in parameters.items()), ""]
    lines += [f"* {text}" for text in _facts(command)]
    return "\n".join([*lines, ""])


def _facts(command: Command) -> Iterator[str]:
    manual = command.manual
    yield f"**Result**: {manual.result}"
    if manual.errors:
        yield f"**Errors**: {'; '.join(f'**{code}** {text}' for code, text in sorted(manual.errors.items()))}"
    if _is_on_the_tree(command):
        yield "**Also**: the parameters of commands on the tree"
    if manual.ignored:
        yield f"**Ignored**: {', '.join(f'`{name}`' for name in manual.ignored)}"
    if command.transactions == "refused":
        yield "**Refused**: `transaction_id` (11000)"
    if manual.refused:
        yield f"**Refused**: {manual.refused}"
    if manual.differs:
        yield f"**Differs**: {manual.differs}"


def _absent() -> str:
    lines = [
        "### Not there",
        "",
        "Answered with 404; ytsaurus-client says `Command NAME is not supported by api/v4`.",
        "",
        *(f"* {topic}: {', '.join(f'`{name}`' for name in names)}" for topic, names in ABSENT.items()),
    ]
    lines += [
        "",
        "Error codes that real clusters answer and this one never does (a test can have any of them answered: see",
        "[testing-with-the-local-cluster.md](testing-with-the-local-cluster.md)):",
        "",
        *(f"* {code}: {why}" for code, why in NEVER_ANSWERED.items()),
    ]
    return "\n".join([*lines, ""])


def _head() -> list[str]:
    return ["| parameter | kind | default | meaning |", "| --- | --- | --- | --- |"]


def _row(name: str, field: FieldInfo, text: str | None) -> str:
    return f"| `{name}` | {_kind(name, field.annotation)} | {_default(field)} | {text or ''} |"


def _default(field: FieldInfo) -> str:
    if field.default_factory is not None:
        return "empty"
    default = field.default
    if default is PydanticUndefined:
        return "required"
    if default is None:
        return "null"
    if isinstance(default, BaseModel):
        return "empty"
    if isinstance(default, bool):
        return str(default).lower()
    shown = default.value if isinstance(default, enum.Enum) else default
    return f"`{shown}`" if isinstance(shown, str) else str(shown)


def _kind(name: str, annotation: Any) -> str:
    if annotation is str and name.endswith("path"):
        return "path"
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return " or ".join(_kind(name, argument) for argument in arguments if argument is not NoneType)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin is list:
        return f"list of {_kind(name.removesuffix('s'), arguments[0])}s"
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return ", ".join(f"`{member.value}`" for member in annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "map"
    return _PLAIN[origin] if origin in _PLAIN else _kind(name, arguments[0])
