"""reshard_table_automatic, balance_tablet_cells: asking the balancer of tablets, who has nothing to do here."""

from __future__ import annotations

from typing import Any, Final

from yt_local.calls.call import Call, Method, reply
from yt_local.calls.command import Body, Command, Parameters, PathParameter, volatile
from yt_local.calls.manual import NO_SUCH_NODE, Manual
from yt_local.calls.messages import request_parameters
from yt_local.cluster import Cluster
from yt_local.cypress.system_objects import BUNDLE, check_system_object
from yt_local.session import Session
from yt_wire.connection import Reply
from yt_wire.proto import api_pb2 as api


class _Reshard(Parameters):
    path: PathParameter


class _Balance(Parameters):
    bundle: str
    tables: list[PathParameter] | None = None


async def _reshard_automatic(cluster: Cluster, session: Session, parameters: _Reshard, _: Body) -> Any:
    cluster.tables.open(parameters.path, session.access.to("mount"))
    return []


async def _balance(cluster: Cluster, session: Session, parameters: _Balance, _: Body) -> Any:
    check_system_object(cluster.state, BUNDLE, parameters.bundle)
    for path in parameters.tables or ():
        cluster.tables.open(path, session.access.to("mount"))
    return []


_NOTHING_DONE: Final = "`[]`: ids of the actions that were begun, and none ever is"

COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "reshard_table_automatic",
        _Reshard,
        _reshard_automatic,
        Manual(
            "Has the balancer reshard a table, if it finds that necessary.",
            _NOTHING_DONE,
            {1: "no dynamic table", 500: NO_SUCH_NODE, 901: "no permission `mount`"},
            ignored=("keep_actions",),
            differs="Tables stay as they are, whatever `@tablet_balancer_config` says.",
        ),
        changes=False,
        transactions="ignored",
    ),
    volatile(
        "balance_tablet_cells",
        _Balance,
        _balance,
        Manual(
            "Has the balancer move tablets from cell to cell, if it finds that necessary.",
            _NOTHING_DONE,
            {1: "no dynamic table", 500: "no such node or bundle", 901: "no permission `mount`"},
            ignored=("keep_actions",),
            differs="Tablets stay where they are.",
            parameters={
                "bundle": "name of the bundle whose cells are to be balanced",
                "tables": "paths of the tables that it is about; all of the bundle if not given",
            },
        ),
        changes=False,
        transactions="ignored",
    ),
)


async def _rpc_reshard_automatic(call: Call, request: api.TReqReshardTableAutomatic) -> Reply:
    await call.execute("reshard_table_automatic", request_parameters(request))
    return reply(api.TRspReshardTableAutomatic())


async def _rpc_balance(call: Call, request: api.TReqBalanceTabletCells) -> Reply:
    await call.execute("balance_tablet_cells", request_parameters(request, {"movable_tables": "tables"}))
    return reply(api.TRspBalanceTabletCells())


METHODS: Final[tuple[Method, ...]] = (
    Method(api.TReqReshardTableAutomatic, _rpc_reshard_automatic),
    Method(api.TReqBalanceTabletCells, _rpc_balance),
)
