"""The versions of the API: what their commands are called, and in which form they answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from yt_local.base.scalars import boolean
from yt_local.calls.command import Command, Kind
from yt_local.commands import COMMANDS
from yt_wire.error import YtError

_NAMES_IN_V3: Final[Mapping[str, str]] = {
    "start_operation": "start_op",
    "abort_operation": "abort_op",
    "suspend_operation": "suspend_op",
    "resume_operation": "resume_op",
    "complete_operation": "complete_op",
    "update_operation_parameters": "update_op_parameters",
    "start_transaction": "start_tx",
    "ping_transaction": "ping_tx",
    "commit_transaction": "commit_tx",
    "abort_transaction": "abort_tx",
}
"""Of commands that v3 calls otherwise than v4."""

_ONLY_IN_V3: Final = frozenset({"merge", "erase", "map", "sort", "reduce", "join_reduce", "map_reduce", "remote_copy"})

_NOT_IN_V3: Final = frozenset(
    {
        "list_queries",
        "get_query_tracker_info",
        "start_query",
        "get_query",
        "get_query_result",
        "read_query_result",
        "abort_query",
        "alter_query",
        "multiset_attributes",
        "get_table_pivot_keys",
        "get_tablet_infos",
        "get_tablet_errors",
        "discover_proxies",
        "register_queue_consumer",
        "unregister_queue_consumer",
        "list_queue_consumer_registrations",
        "pull_queue",
        "pull_queue_consumer",
        "pull_consumer",
        "advance_queue_consumer",
        "advance_consumer",
        "create_queue_producer_session",
        "remove_queue_producer_session",
        "push_queue_producer",
        "transfer_account_resources",
    }
)

_BARE_IN_V3: Final[Mapping[str, str]] = {
    "get": "value",
    "list": "value",
    "exists": "value",
    "create": "node_id",
    "copy": "node_id",
    "move": "node_id",
    "link": "node_id",
    "lock": "lock_id",
    "start_transaction": "transaction_id",
    "generate_timestamp": "timestamp",
    "parse_ypath": "path",
    "get_version": "version",
    "execute_batch": "results",
}
"""The field of v4's answer that is all of v3's."""

_NULL_IN_V3: Final = frozenset(
    {
        "ping_transaction",
        "commit_transaction",
        "abort_transaction",
        "unlock",
        "concatenate",
        "remove",
        "set",
        "write_file",
        "write_table",
        "insert_rows",
        "lock_rows",
        "delete_rows",
        "trim_rows",
        "mount_table",
        "unmount_table",
        "remount_table",
        "freeze_table",
        "unfreeze_table",
        "reshard_table",
        "alter_table",
        "alter_table_replica",
        "abort_operation",
        "suspend_operation",
        "resume_operation",
        "complete_operation",
        "update_operation_parameters",
        "add_member",
        "remove_member",
    }
)
"""Commands that answer nothing in v3, and an empty map in v4."""


class NoSuchCommand(YtError):
    """A request for a command that this version of the API does not have."""


@dataclass(frozen=True, slots=True)
class ApiCommand:
    """A command as one version of the API has it."""

    name: str
    command: Command
    output_type: Kind
    adapt: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    """From parameters of this version to those of the command; YtError if they cannot be."""

    answer: Callable[[Mapping[str, Any], Any], Any]
    """From parameters of this version and the command's answer to the answer of this version."""

    def describe(self) -> dict[str, Any]:
        """The descriptor clients ask for at `/api/v3` and `/api/v4`."""
        return {**self.command.describe(), "name": self.name, "output_type": self.output_type}


def _as_it_is(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    return parameters


def _answer_of_v4(_: Mapping[str, Any], answer: Any) -> Any:
    return answer


def _in_v3(command: Command) -> ApiCommand:
    name = _NAMES_IN_V3.get(command.name, command.name)
    if command.name == "execute_batch":
        return ApiCommand(name, command, command.output_type, _batch_of_v3, _batch_answer_in_v3)
    output_type: Kind = "null" if command.name in _NULL_IN_V3 else command.output_type
    return ApiCommand(name, command, output_type, _as_it_is, partial(_answer_in_v3, command))


def _answer_in_v3(command: Command, parameters: Mapping[str, Any], answer: Any) -> Any:
    """Bare where v3 wants it so, unless it is already; an object that is no node has an id of another name."""
    field = _BARE_IN_V3.get(command.name)
    if field is None or not isinstance(answer, Mapping) or _is_bare(command, parameters):
        return answer
    return answer[field] if field in answer else answer["object_id"]


def _is_bare(command: Command, parameters: Mapping[str, Any]) -> bool:
    wanted = parameters.get("return_only_value") if "return_only_value" in command.parameters.model_fields else None
    return wanted is not None and boolean(wanted)


def _batch_of_v3(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same batch with the names of v4; what is no batch is left to the command, which says what is wrong."""
    requests = parameters.get("requests")
    if not isinstance(requests, list) or not all(isinstance(one, dict) and "command" in one for one in requests):
        return parameters
    return {**parameters, "requests": [{**one, "command": _find_in_batch(one).command.name} for one in requests]}


def _batch_answer_in_v3(parameters: Mapping[str, Any], answer: Any) -> list[Any]:
    return [
        _result_in_v3(_find_in_batch(request), request.get("parameters", {}), result)
        for request, result in zip(parameters["requests"], answer["results"], strict=True)
    ]


def _result_in_v3(served: ApiCommand, parameters: Mapping[str, Any], result: Mapping[str, Any]) -> Mapping[str, Any]:
    if "error" in result:
        return result
    if served.output_type == "null":
        return {}
    return {"output": _answer_in_v3(served.command, parameters, result["output"])}


def _find_in_batch(request: Mapping[str, Any]) -> ApiCommand:
    served = APIS["v3"].get(str(request["command"]))
    if served is None:
        raise YtError(f'Unknown command "{request["command"]}"')
    return served


APIS: Final[Mapping[str, Mapping[str, ApiCommand]]] = {
    "v3": {served.name: served for served in map(_in_v3, COMMANDS.values()) if served.command.name not in _NOT_IN_V3},
    "v4": {
        name: ApiCommand(name, command, command.output_type, _as_it_is, _answer_of_v4)
        for name, command in COMMANDS.items()
        if name not in _ONLY_IN_V3
    },
}
"""All versions, each with its commands by name."""
