"""Methods on who may do what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from google.protobuf.message import Message

from yt_local.proxy.rpc.call import NOTHING, Call, Method, Run, guid, reply
from yt_local.proxy.rpc.parameters import parameters
from yt_local.proxy.rpc.wire_types import PERMISSIONS
from yt_wire.connection import Reply
from yt_wire.error import YtError
from yt_wire.guid import NULL_GUID
from yt_wire.proto import api_pb2 as api

_ACTIONS: Final = {"allow": api.SA_ALLOW, "deny": api.SA_DENY}


def _membership(command: str) -> Run:
    async def run(call: Call, request: Message) -> Reply:
        await call.execute(command, parameters(request))
        return NOTHING

    return run


async def _check_permission(call: Call, request: api.TReqCheckPermission) -> Reply:
    found = {**parameters(request), "permission": _permission(request.permission)}
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


async def _check_permission_by_acl(call: Call, request: api.TReqCheckPermissionByAcl) -> Reply:
    found = {**parameters(request), "permission": _permission(request.permission)}
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


METHODS: Final = (
    Method(api.TReqAddMember, _membership("add_member")),
    Method(api.TReqRemoveMember, _membership("remove_member")),
    Method(api.TReqCheckPermission, _check_permission),
    Method(api.TReqCheckPermissionByAcl, _check_permission_by_acl),
)
