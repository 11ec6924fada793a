"""parse_ypath: a path taken apart."""

from __future__ import annotations

from typing import Any, Final

from yt_local.calls.call import Method
from yt_local.calls.command import Body, Command, Parameters, RichPathParameter, light
from yt_local.calls.manual import Manual
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_local.tables.static.read_ranges import selection_attributes
from yt_wire import yson


class _ParsePath(Parameters):
    path: RichPathParameter


async def _parse_ypath(_: Cluster, session: Session, parameters: _ParsePath, __: Body) -> Any:
    path = parameters.path
    attributes = {**path.attributes, **selection_attributes(path)}
    return {"path": yson.with_attributes(path.bare, attributes) if attributes else path.bare}


COMMANDS: Final[tuple[Command, ...]] = (
    light(
        "parse_ypath",
        _ParsePath,
        _parse_ypath,
        Manual(
            "A path taken apart.",
            "`{path=<attributes>path}`; columns and ranges behind the path as attributes",
            {1: "columns or ranges that cannot be read"},
            parameters={"path": "what to take apart"},
        ),
        transactions="ignored",
    ),
)


METHODS: Final[tuple[Method, ...]] = ()
