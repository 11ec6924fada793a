"""mount_table, unmount_table, freeze_table, unfreeze_table, remount_table: states of tablets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from yt_local.calls.call import NOTHING, Call, Method, simple_method
from yt_local.calls.command import Body, Command, Int64, Parameters, PathParameter, volatile
from yt_local.calls.manual import TABLET_STATE_ERRORS, Manual
from yt_local.calls.messages import request_parameters
from yt_local.cluster import Cluster
from yt_local.security.permissions import Access
from yt_local.session import Session
from yt_local.tables.dynamic.tablets import TabletRange
from yt_wire import rpc
from yt_wire.connection import Reply
from yt_wire.guid import NULL_GUID
from yt_wire.proto import api_pb2 as api

_INSTANT: Final = "Done when it is answered: tablets are never seen in a state in between."


class _Range(Parameters):
    path: PathParameter
    first_tablet_index: Int64 | None = None
    last_tablet_index: Int64 | None = None

    @property
    def chosen(self) -> TabletRange:
        return TabletRange(self.first_tablet_index, self.last_tablet_index)


class _Mount(_Range):
    freeze: bool = False
    cell_id: str | None = None


class _Unmount(_Range):
    force: bool = False


async def _mount(cluster: Cluster, session: Session, parameters: _Mount, _: Body) -> Any:
    cluster.tablets.mount(
        session.access, parameters.path, parameters.chosen, freeze=parameters.freeze, cell_id=parameters.cell_id
    )
    return {}


async def _unmount(cluster: Cluster, session: Session, parameters: _Unmount, _: Body) -> Any:
    cluster.tablets.unmount(session.access, parameters.path, parameters.chosen, force=parameters.force)
    return {}


def _simple(
    name: str, verb: Callable[[Cluster], Callable[[Access, str, TabletRange], None]], manual: Manual
) -> Command:
    async def run(cluster: Cluster, session: Session, parameters: _Range, _: Body) -> Any:
        verb(cluster)(session.access, parameters.path, parameters.chosen)
        return {}

    return volatile(name, _Range, run, manual, transactions="ignored")


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "mount_table",
        _Mount,
        _mount,
        Manual(
            "Mounts tablets, frozen ones with `freeze`.",
            errors={**TABLET_STATE_ERRORS, 1706: "a tablet is in a state that does not go with it"},
            ignored=("target_cell_ids",),
            differs=_INSTANT,
            parameters={"freeze": "frozen at once", "cell_id": "the tablet cell, otherwise one of the bundle's"},
        ),
        transactions="ignored",
    ),
    volatile(
        "unmount_table",
        _Unmount,
        _unmount,
        Manual(
            "Unmounts tablets; rows of an ordered one become a segment.",
            errors=TABLET_STATE_ERRORS,
            differs=f"{_INSTANT} `force` loses nothing: there is nothing that is not flushed.",
            parameters={"force": "no effect"},
        ),
        transactions="ignored",
    ),
    _simple(
        "freeze_table",
        lambda cluster: cluster.tablets.freeze,
        Manual(
            "Makes tablets readable only; rows of an ordered one become a segment.",
            errors={**TABLET_STATE_ERRORS, 1706: "a tablet is not mounted"},
            differs=_INSTANT,
        ),
    ),
    _simple(
        "unfreeze_table",
        lambda cluster: cluster.tablets.unfreeze,
        Manual(
            "Makes frozen tablets writable again.",
            errors={**TABLET_STATE_ERRORS, 1706: "a tablet is not mounted"},
            differs=_INSTANT,
        ),
    ),
    _simple(
        "remount_table",
        lambda cluster: cluster.tablets.remount,
        Manual(
            "Has changed attributes count.",
            errors=TABLET_STATE_ERRORS,
            differs="Attributes count at once, without it.",
        ),
    ),
)


async def _rpc_mount(call: Call, request: api.TReqMountTable) -> Reply:
    names = {} if rpc.from_proto_guid(request.cell_id) != NULL_GUID else {"cell_id": ""}
    await call.execute("mount_table", request_parameters(request, names))
    return NOTHING


METHODS: Final[tuple[Method, ...]] = (
    Method(api.TReqMountTable, _rpc_mount),
    simple_method(api.TReqUnmountTable, "unmount_table"),
    simple_method(api.TReqRemountTable, "remount_table"),
    simple_method(api.TReqFreezeTable, "freeze_table"),
    simple_method(api.TReqUnfreezeTable, "unfreeze_table"),
)
