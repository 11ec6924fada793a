"""What a local cluster has no part of: operations and queries. Lists are empty, everything else is refused.

Clients go on from these answers: foreign-clients.md §11. A 404 or an error of the server would have them give up, or
try again for minutes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from yt_local.calls.call import Method
from yt_local.calls.command import Body, Command, NoParameters, Parameters, light, volatile
from yt_local.calls.manual import Manual
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_wire import yson
from yt_wire.error import YtError

_NO_SUCH_OPERATION: Final = 1915
_NO_SUCH_OPERATION_OF_SCHEDULER: Final = 200


class _ListOperations(Parameters):
    enable_ui_mode: bool = False


class _Operation(Parameters):
    operation_id: str = ""


async def _list_operations(_: Cluster, session: Session, parameters: _ListOperations, __: Body) -> Any:
    counts: dict[str, Any] = {f"{name}_counts": {} for name in ("pool_tree", "pool", "user", "state", "type")}
    if parameters.enable_ui_mode:
        operations = yson.with_attributes([], {"incomplete": False})
        return {"operations": operations, **counts, "failed_jobs_count": 0}
    return {"operations": [], "incomplete": False, **counts, "failed_jobs_count": 0}


async def _list_queries(_: Cluster, session: Session, __: NoParameters, ___: Body) -> Any:
    return {"queries": [], "incomplete": False, "timestamp": 0}


async def _get_query_tracker_info(cluster: Cluster, session: Session, _: NoParameters, __: Body) -> Any:
    return {
        "cluster_name": cluster.name,
        "supported_features": {"access_control": False},
        "access_control_objects": [],
        "clusters": [cluster.name],
        "engines_info": {},
    }


def _refusing(message: str) -> Callable[[Cluster, Session, NoParameters, Body], Awaitable[Any]]:
    async def refuse(_: Cluster, session: Session, __: NoParameters, ___: Body) -> Any:
        raise YtError(message)

    return refuse


def _missing(code: int) -> Callable[[Cluster, Session, _Operation, Body], Awaitable[Any]]:
    async def refuse(_: Cluster, session: Session, parameters: _Operation, __: Body) -> Any:
        raise YtError(f"No such operation {parameters.operation_id}", code)

    return refuse


_STARTING: Final = (
    "start_operation",
    "merge",
    "erase",
    "map",
    "sort",
    "reduce",
    "join_reduce",
    "map_reduce",
    "remote_copy",
)
_LOOKING: Final = ("get_operation", "list_jobs", "get_job", "get_job_stderr", "get_job_fail_context", "get_job_spec")
_CHANGING: Final = (
    "abort_operation",
    "suspend_operation",
    "resume_operation",
    "complete_operation",
    "update_operation_parameters",
)
_QUERYING: Final = ("start_query", "get_query", "get_query_result", "read_query_result", "abort_query", "alter_query")

COMMANDS: Final[tuple[Command, ...]] = (
    light(
        "list_operations",
        _ListOperations,
        _list_operations,
        Manual(
            "Lists operations: there are none.",
            "`{operations=[]; ...}`",
            parameters={"enable_ui_mode": "the form that the web UI reads"},
        ),
        transactions="ignored",
    ),
    light(
        "list_queries",
        NoParameters,
        _list_queries,
        Manual("Lists queries of Query Tracker: there are none.", "`{queries=[]; ...}`"),
        transactions="ignored",
    ),
    light(
        "get_query_tracker_info",
        NoParameters,
        _get_query_tracker_info,
        Manual("Describes Query Tracker, of which only the name of the cluster is true.", "`{cluster_name=...; ...}`"),
        transactions="ignored",
    ),
    *(
        volatile(
            name,
            NoParameters,
            _refusing("The local cluster runs no operations"),
            Manual("Refused: nothing runs operations.", errors={1: "always"}),
            transactions="ignored",
        )
        for name in _STARTING
    ),
    *(
        light(
            name,
            _Operation,
            _missing(_NO_SUCH_OPERATION),
            Manual("Refused: there is no such operation.", errors={_NO_SUCH_OPERATION: "always"}),
            transactions="ignored",
        )
        for name in _LOOKING
    ),
    *(
        volatile(
            name,
            _Operation,
            _missing(_NO_SUCH_OPERATION_OF_SCHEDULER),
            Manual("Refused: there is no such operation.", errors={_NO_SUCH_OPERATION_OF_SCHEDULER: "always"}),
            transactions="ignored",
        )
        for name in _CHANGING
    ),
    *(
        volatile(
            name,
            NoParameters,
            _refusing("The local cluster has no query tracker"),
            Manual("Refused: there is no Query Tracker.", errors={1: "always"}),
            transactions="ignored",
        )
        for name in _QUERYING
    ),
)

METHODS: Final[tuple[Method, ...]] = ()
