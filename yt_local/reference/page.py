"""The reference of all commands as pages: what the command table says, and the manual beside it."""

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
# Commands of the local cluster

Generated from the command table (`make docs`). `GET /api/v4` lists the same commands, and `GET /api/v3` those of
API v3 under its names.

* **Parameters**: a command ignores unknown parameters, as a real proxy does. So a mistyped name has no effect. Each
  command lists the known parameters that it ignores. A wrong value is an error that names the parameter:
  `Error reading parameter /name: ...`, or `Missing required parameter /name`.
* **Any command** also takes `input_format` and `output_format`. It ignores `ping_ancestor_transactions`, `retry`,
  `timeout`, `suppress_transaction_coordinator_sync` and `suppress_upstream_sync` unless it lists them. Commands that
  change something take `mutation_id`: a repeat within five minutes gets the first answer.
* **Structured** input and output is one value, **tabular** rows, **binary** bytes. A command with input uses `PUT`, a
  volatile command without input `POST`, any other `GET`. Other methods work too: the body of a `POST` always contains
  parameters, that of another method always input.
* **Any command may answer** 1 (invalid parameter, format or body), 900 (unknown user), 901 (no permission), 903
  (banned), 108 (too many requests at once), or 105 (a fault that a test injected). A command in a master transaction
  may answer 11000 (no such transaction) or 1000 (a prerequisite does not hold). Errors without their own code have 1.
"""
_GROUPS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "local-cluster-tree.md": (
        "Cypress and transactions",
        (
            *(
                "get",
                "list",
                "exists",
                "create",
                "set",
                "multiset_attributes",
                "remove",
                "copy",
                "move",
                "link",
                "lock",
            ),
            *("unlock", "start_transaction", "ping_transaction", "commit_transaction", "abort_transaction"),
            *("generate_timestamp", "parse_ypath", "execute_batch"),
        ),
    ),
    "local-cluster-tablets.md": (
        "Tablets and replicas",
        (
            *("mount_table", "unmount_table", "freeze_table", "unfreeze_table", "remount_table", "reshard_table"),
            *("reshard_table_automatic", "balance_tablet_cells", "alter_table", "get_tablet_infos"),
            *("get_tablet_errors", "get_table_pivot_keys", "alter_table_replica", "get_in_sync_replicas"),
        ),
    ),
    "local-cluster-rows.md": (
        "Rows of dynamic tables",
        (
            *("insert_rows", "delete_rows", "lock_rows", "lookup_rows", "select_rows", "explain_query"),
            "trim_rows",
        ),
    ),
    "local-cluster-queues.md": (
        "Queues",
        (
            *("register_queue_consumer", "unregister_queue_consumer", "list_queue_consumer_registrations"),
            *("pull_queue", "pull_queue_consumer", "pull_consumer", "advance_queue_consumer", "advance_consumer"),
            *("create_queue_producer_session", "remove_queue_producer_session", "push_queue_producer"),
        ),
    ),
    "local-cluster-files.md": (
        "Static tables and files",
        (
            *("write_table", "read_table", "concatenate", "partition_tables", "get_table_columnar_statistics"),
            *("write_file", "read_file", "get_file_from_cache", "put_file_to_cache"),
        ),
    ),
    "local-cluster-access.md": (
        "Users, permissions and discovery",
        (
            *("add_member", "remove_member", "check_permission", "check_permission_by_acl", "get_current_user"),
            "transfer_account_resources",
            *("issue_token", "revoke_token", "list_user_tokens", "set_user_password", "discover_proxies"),
            *("get_version", "get_supported_features"),
        ),
    ),
}
"""Pages, each with its title and its commands; all other commands are on the page of operations."""

_NESTED: Final = "\t"
"""Begins a fact that belongs to the one before it."""

_OTHERS: Final = "local-cluster-operations.md"
_OTHERS_TITLE: Final = "Operations and queries"
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


def render_reference() -> dict[str, str]:
    """Pages by file name: one that explains and lists the commands, and one for each group of them."""
    grouped = {name for _, names in _GROUPS.values() for name in names}
    groups = {**_GROUPS, _OTHERS: (_OTHERS_TITLE, tuple(name for name in COMMANDS if name not in grouped))}
    index = ["## Pages", "", "| page | commands |", "| --- | --- |"]
    index += [
        f"| [{title}]({page}) | {', '.join(f'`{name}`' for name in names)} |" for page, (title, names) in groups.items()
    ]
    pages = {"local-cluster-commands.md": "\n".join([_INTRODUCTION, *index, "", _common(), _absent()])}
    for page, (title, names) in groups.items():
        head = f"# Commands of the local cluster: {title}"
        how_to_read = "\nHow to read this page: [commands](local-cluster-commands.md).\n"
        pages[page] = "\n".join([head, how_to_read, *(_section(COMMANDS[name]) for name in names)])
    return pages


def own_parameters(command: Command) -> dict[str, FieldInfo]:
    """The fields by the names clients use, without those that are common to all commands on the tree."""
    fields = {field.alias or name: field for name, field in command.parameters.model_fields.items()}
    shared = _is_on_the_tree(command)
    return {name: field for name, field in fields.items() if not (shared and name in COMMON)}


def _is_on_the_tree(command: Command) -> bool:
    return set(COMMON) <= set(command.parameters.model_fields)


def _common() -> str:
    lines = ["## Parameters of commands on the tree", "", *_head()]
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
    lines = [f"## `{command.name}`", "", f"{manual.does} *{kind}*", ""]
    if parameters:
        lines += [*_head(), *(_row(name, field, manual.meaning(name)) for name, field in parameters.items()), ""]
    lines += [f"  * {text[1:]}" if text.startswith(_NESTED) else f"* {text}" for text in _facts(command)]
    return "\n".join([*lines, ""])


def _facts(command: Command) -> Iterator[str]:
    manual = command.manual
    yield f"**Result**: {manual.result}"
    if manual.errors:
        yield "**Errors**:"
        yield from (f"{_NESTED}**{code}**: {text}" for code, text in sorted(manual.errors.items()))
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
        "## Missing",
        "",
        "These answer 404; ytsaurus-client says `Command NAME is not supported by api/v4`.",
        "",
        *(f"* {topic}: {', '.join(f'`{name}`' for name in names)}" for topic, names in ABSENT.items()),
    ]
    lines += [
        "",
        "This cluster never answers some error codes of real clusters. A test can still inject them: see",
        "[testing-with-the-local-cluster.md](testing-with-the-local-cluster.md).",
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
