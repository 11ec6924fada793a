"""Commands on who is who and who may do what."""

from __future__ import annotations

from typing import Any, Final

from yt_local.cluster import Cluster
from yt_local.commands.command import (
    Body,
    Command,
    Parameters,
    PathParameter,
    TransactionId,
    light,
    volatile,
)
from yt_local.security.acl import Level, Verdict, check_permission_name, decide, parse_acl, parse_known_acl
from yt_local.security.permissions import Permissions
from yt_local.security.subjects import ROOT
from yt_local.session import Session
from yt_wire.error import YtError


class _None(Parameters):
    pass


class _Membership(Parameters):
    group: str
    member: str


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


class _User(Parameters):
    user: str
    password_sha256: str = ""


class _IssueToken(_User):
    description: str | None = None


class _RevokeToken(_User):
    token_sha256: str


class _ListTokens(_User):
    with_metadata: bool = False


class _SetPassword(Parameters):
    user: str
    current_password_sha256: str = ""
    new_password_sha256: str


async def _add_member(cluster: Cluster, session: Session, parameters: _Membership, _: Body) -> Any:
    cluster.security.add_member(session.access, parameters.group, parameters.member)
    return {}


async def _remove_member(cluster: Cluster, session: Session, parameters: _Membership, _: Body) -> Any:
    cluster.security.remove_member(session.access, parameters.group, parameters.member)
    return {}


async def _check_permission(cluster: Cluster, session: Session, parameters: _CheckPermission, _: Body) -> Any:
    permission = check_permission_name(parameters.permission)
    view = cluster.view(parameters.transaction_id)
    node = view.resolver.existing(parameters.path).node
    principal = cluster.subjects.principal(parameters.user)
    verdict = view.permissions.verdict(principal, node, permission, vital=bool(parameters.vital))
    shown = _shown(view.permissions, verdict)
    if parameters.columns is not None and verdict.allowed:
        # There are no rules for columns: each is as its table.
        return {**shown, "columns": [shown for _ in parameters.columns]}
    return shown


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


async def _get_current_user(cluster: Cluster, session: Session, _: _None, __: Body) -> Any:
    return {"user": session.access.user}


async def _issue_token(cluster: Cluster, session: Session, parameters: _IssueToken, _: Body) -> Any:
    return cluster.tokens.issue(session.access, parameters.user, parameters.password_sha256, parameters.description)


async def _revoke_token(cluster: Cluster, session: Session, parameters: _RevokeToken, _: Body) -> Any:
    cluster.tokens.revoke(session.access, parameters.user, parameters.password_sha256, parameters.token_sha256)
    return {}


async def _list_user_tokens(cluster: Cluster, session: Session, parameters: _ListTokens, _: Body) -> Any:
    return cluster.tokens.list(
        session.access, parameters.user, parameters.password_sha256, with_metadata=parameters.with_metadata
    )


async def _set_user_password(cluster: Cluster, session: Session, parameters: _SetPassword, _: Body) -> Any:
    if not parameters.new_password_sha256:
        raise YtError("The new password must not be empty")
    cluster.tokens.set_password(
        session.access, parameters.user, parameters.current_password_sha256, parameters.new_password_sha256
    )
    return {}


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
    volatile("add_member", _Membership, _add_member, transactions="ignored"),
    volatile("remove_member", _Membership, _remove_member, transactions="ignored"),
    light("check_permission", _CheckPermission, _check_permission, transactions="taken"),
    light("check_permission_by_acl", _CheckPermissionByAcl, _check_permission_by_acl, transactions="ignored"),
    light("get_current_user", _None, _get_current_user, transactions="ignored"),
    volatile("issue_token", _IssueToken, _issue_token, transactions="ignored"),
    volatile("revoke_token", _RevokeToken, _revoke_token, transactions="ignored"),
    light("list_user_tokens", _ListTokens, _list_user_tokens, transactions="ignored"),
    volatile("set_user_password", _SetPassword, _set_user_password, transactions="ignored"),
)
