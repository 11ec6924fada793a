"""get_table_pivot_keys: first keys of tablets."""

from __future__ import annotations

from typing import Any, Final

from yt_local.calls.call import Call, Method, reply
from yt_local.calls.command import Body, Command, Parameters, PathParameter, light
from yt_local.calls.manual import NO_SUCH_NODE, Manual
from yt_local.calls.messages import request_parameters
from yt_local.cluster import Cluster
from yt_local.security.permissions import UNCHECKED
from yt_local.session import Session
from yt_local.tables.tablet_keys import key_to_yson
from yt_wire import yson
from yt_wire.connection import Reply
from yt_wire.proto import api_pb2 as api


class _PivotKeys(Parameters):
    path: PathParameter


async def _get_table_pivot_keys(cluster: Cluster, session: Session, parameters: _PivotKeys, _: Body) -> Any:
    table = cluster.tables.open_sorted(parameters.path, UNCHECKED)
    return [
        key_to_yson(table.schema.key_columns, tablet.pivot_key) for tablet in cluster.state.tablets.of(table.node.id)
    ]


COMMANDS: Final[tuple[Command, ...]] = (
    light(
        "get_table_pivot_keys",
        _PivotKeys,
        _get_table_pivot_keys,
        Manual(
            "First keys of the tablets of a sorted table.",
            "`[[value; ...]; ...]`",
            {500: NO_SUCH_NODE, 1716: "the table is ordered"},
            ignored=("represent_key_as_list",),
        ),
    ),
)


async def _rpc_get_pivot_keys(call: Call, request: api.TReqGetTablePivotKeys) -> Reply:
    answer = await call.execute("get_table_pivot_keys", request_parameters(request))
    return reply(api.TRspGetTablePivotKeys(value=yson.dumps(answer)))


METHODS: Final[tuple[Method, ...]] = (Method(api.TReqGetTablePivotKeys, _rpc_get_pivot_keys),)
