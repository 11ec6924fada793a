"""add_member, remove_member: who belongs to a group."""

from __future__ import annotations

from typing import Any, Final

from yt_local.calls.call import Method, simple_method
from yt_local.calls.command import Body, Command, Parameters, volatile
from yt_local.calls.manual import Manual
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_wire.proto import api_pb2 as api


class _Membership(Parameters):
    group: str
    member: str


async def _add_member(cluster: Cluster, session: Session, parameters: _Membership, _: Body) -> Any:
    cluster.security.add_member(session.access, parameters.group, parameters.member)
    return {}


async def _remove_member(cluster: Cluster, session: Session, parameters: _Membership, _: Body) -> Any:
    cluster.security.remove_member(session.access, parameters.group, parameters.member)
    return {}


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "add_member",
        _Membership,
        _add_member,
        Manual(
            "A subject into a group.",
            errors={
                1: "no such member; the group would contain itself",
                500: "no such group",
                908: "it is there already",
            },
        ),
        transactions="ignored",
    ),
    volatile(
        "remove_member",
        _Membership,
        _remove_member,
        Manual("A subject out of a group.", errors={1: "it is not in the group", 500: "no such group"}),
        transactions="ignored",
    ),
)


METHODS: Final[tuple[Method, ...]] = (
    simple_method(api.TReqAddMember, "add_member"),
    simple_method(api.TReqRemoveMember, "remove_member"),
)
