"""get_current_user: who asks."""

from __future__ import annotations

from typing import Any, Final

from yt_local.calls.call import Method
from yt_local.calls.command import Body, Command, NoParameters, light
from yt_local.calls.manual import Manual
from yt_local.cluster import Cluster
from yt_local.session import Session


async def _get_current_user(cluster: Cluster, session: Session, _: NoParameters, __: Body) -> Any:
    return {"user": session.access.user}


COMMANDS: Final[tuple[Command, ...]] = (
    light(
        "get_current_user",
        NoParameters,
        _get_current_user,
        Manual("Who the caller is.", "`{user=name}`"),
        transactions="ignored",
    ),
)


METHODS: Final[tuple[Method, ...]] = ()
