"""check_permission, check_permission_by_acl: who may do what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from yt_local.calls.call import Call, Method, guid, reply
from yt_local.calls.command import Body, Command, Parameters, PathParameter, TransactionId, light
from yt_local.calls.manual import Manual
from yt_local.calls.messages import request_parameters
from yt_local.calls.wire_types import PERMISSIONS
from yt_local.cluster import Cluster
from yt_local.security.acl import Level, Verdict, check_permission_name, decide, parse_acl, parse_known_acl
from yt_local.security.permissions import Permissions
from yt_local.security.subjects import ROOT
from yt_local.session import Session
from yt_wire.connection import Reply
from yt_wire.error import YtError
from yt_wire.guid import NULL_GUID
from yt_wire.proto import api_pb2 as api

_ACTIONS: Final = {"allow": api.SA_ALLOW, "deny": api.SA_DENY}


class _CheckPermission(Parameters):
    user: str
    permission: str
    path: PathParameter
    columns: list[str] | None = None
    vital: bool | None = None
    transaction_id: TransactionId = None


class _CheckPermissionByAcl(Parameters):
    user: str | None = None
    permission: str
    acl: Any
    ignore_missing_subjects: bool = False


async def _check_permission(cluster: Cluster, session: Session, parameters: _CheckPermission, _: Body) -> Any:
    permission = check_permission_name(parameters.permission)
    view = cluster.view(parameters.transaction_id)
    node = view.resolver.existing(parameters.path).node
    principal = cluster.subjects.principal(parameters.user)
    verdict = view.permissions.verdict(principal, node, permission, vital=bool(parameters.vital))
    shown = _shown(view.permissions, verdict)
    if parameters.columns is None or not verdict.allowed:
        return shown
    verdicts = view.permissions.column_verdicts(principal, node, parameters.columns)
    columns = [_shown(view.permissions, verdicts.get(name, verdict)) for name in parameters.columns]
    return {**shown, "columns": columns}


async def _check_permission_by_acl(
    cluster: Cluster, session: Session, parameters: _CheckPermissionByAcl, _: Body
) -> Any:
    permission = check_permission_name(parameters.permission)
    missing: list[str] = []
    if parameters.ignore_missing_subjects:
        entries, missing = parse_known_acl(parameters.acl, cluster.subjects.name_of)
    else:
        entries = parse_acl(parameters.acl, cluster.subjects.name_of)
    principal = cluster.subjects.principal(parameters.user or ROOT)
    verdict = decide(principal, {permission}, [Level("", entries)], owner="")
    answer: dict[str, Any] = {"action": verdict.action}
    subject = cluster.subjects.find(verdict.subject) if verdict.subject else None
    if subject is not None:
        answer |= {"subject_id": subject.id, "subject_name": subject.name}
    return {**answer, "missing_subjects": missing} if missing else answer


def _shown(permissions: Permissions, verdict: Verdict) -> dict[str, Any]:
    decisive = permissions.found_by(verdict)
    if decisive is None:
        return {"action": verdict.action}
    holder, subject = decisive
    return {
        "action": verdict.action,
        "object_id": holder.id,
        "object_name": permissions.object_name(holder),
        "subject_id": subject.id,
        "subject_name": subject.name,
    }


COMMANDS: Final[tuple[Command, ...]] = (
    light(
        "check_permission",
        _CheckPermission,
        _check_permission,
        Manual(
            "Whether a user may do something with an object.",
            "`{action=allow}` or `{action=deny}`, with `object_id`, `object_name`, `subject_id`, "
            "`subject_name` of the entry that decided; `columns=[{action=...}; ...]` for the columns, if the whole "
            "is allowed.",
            {1: "no such permission", 500: "no such node", 900: "no such user"},
            parameters={"columns": "names of columns that are asked about"},
        ),
        transactions="taken",
    ),
    light(
        "check_permission_by_acl",
        _CheckPermissionByAcl,
        _check_permission_by_acl,
        Manual(
            "Whether an access control list would let a user do something.",
            "`{action=allow}` or `{action=deny}`, with `subject_id`, `subject_name`; `missing_subjects` "
            "if they are ignored",
            {
                1: "no such permission; a list that is none",
                900: "no such user",
                907: "a subject of the list is not there",
            },
            parameters={"acl": "the list", "ignore_missing_subjects": "the answer lists them instead of failing"},
        ),
        transactions="ignored",
    ),
)


async def _rpc_check_permission(call: Call, request: api.TReqCheckPermission) -> Reply:
    found = {**request_parameters(request), "permission": _permission(request.permission)}
    answer = await call.execute("check_permission", found)
    message = api.TRspCheckPermission(result=_result(answer))
    if "columns" in answer:
        message.columns.items.extend(map(_result, answer["columns"]))
    return reply(message)


def _result(answer: Mapping[str, Any]) -> api.TCheckPermissionResult:
    return api.TCheckPermissionResult(
        action=_ACTIONS[answer["action"]],
        object_id=guid(answer.get("object_id", str(NULL_GUID))),
        object_name=answer.get("object_name"),
        subject_id=guid(answer.get("subject_id", str(NULL_GUID))),
        subject_name=answer.get("subject_name"),
    )


async def _rpc_check_permission_by_acl(call: Call, request: api.TReqCheckPermissionByAcl) -> Reply:
    found = {**request_parameters(request), "permission": _permission(request.permission)}
    answer = await call.execute("check_permission_by_acl", found)
    result = api.TCheckPermissionByAclResult(
        action=_ACTIONS[answer["action"]],
        subject_id=guid(answer.get("subject_id", str(NULL_GUID))),
        subject_name=answer.get("subject_name"),
        missing_subjects=answer.get("missing_subjects", ()),
    )
    return reply(api.TRspCheckPermissionByAcl(result=result))


def _permission(number: int) -> str:
    name = PERMISSIONS.get(number)
    if name is None:
        raise YtError(f"Unknown permission {number:#x}")
    return name


METHODS: Final[tuple[Method, ...]] = (
    Method(api.TReqCheckPermission, _rpc_check_permission),
    Method(api.TReqCheckPermissionByAcl, _rpc_check_permission_by_acl),
)
