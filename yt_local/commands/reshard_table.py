"""reshard_table: other tablets of a table."""

from __future__ import annotations

from typing import Any, Final

from yt_local.calls.call import NOTHING, Call, Method
from yt_local.calls.command import Body, Command, Int64, Parameters, PathParameter, volatile
from yt_local.calls.manual import OVER_LIMITS, TABLET_STATE_ERRORS, Manual
from yt_local.calls.messages import request_parameters
from yt_local.calls.rowsets import decode_keys
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_local.tables.dynamic.sorted_resharding import Sharding
from yt_local.tables.dynamic.tablets import TabletRange
from yt_wire.connection import Reply
from yt_wire.error import YtError
from yt_wire.proto import api_pb2 as api


class _Range(Parameters):
    path: PathParameter
    first_tablet_index: Int64 | None = None
    last_tablet_index: Int64 | None = None

    @property
    def chosen(self) -> TabletRange:
        return TabletRange(self.first_tablet_index, self.last_tablet_index)


class _Reshard(_Range):
    tablet_count: Int64 | None = None
    pivot_keys: list[Any] | None = None
    uniform: bool = False
    trimmed_row_counts: list[Int64] | None = None
    cumulative_data_weights: list[Int64] | None = None


async def _reshard(cluster: Cluster, session: Session, parameters: _Reshard, _: Body) -> Any:
    if (parameters.tablet_count is None) == (parameters.pivot_keys is None):
        raise YtError('Exactly one of "tablet_count" and "pivot_keys" must be given')
    with cluster.change_within_limits():
        cluster.tablets.reshard(
            session.access,
            parameters.path,
            Sharding(parameters.pivot_keys, parameters.tablet_count, parameters.uniform),
            parameters.chosen,
            trimmed_row_counts=parameters.trimmed_row_counts,
            cumulative_data_weights=parameters.cumulative_data_weights,
        )
    return {}


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "reshard_table",
        _Reshard,
        _reshard,
        Manual(
            "Divides a table into other tablets.",
            errors={
                **TABLET_STATE_ERRORS,
                1: "not exactly one of `tablet_count` and `pivot_keys`; `pivot_keys` of an ordered table, "
                "or out of order; "
                "tablets that were trimmed within a segment; a replicated table whose log is not empty",
                902: OVER_LIMITS,
                1706: "not all tablets are unmounted",
            },
            ignored=("enable_slicing", "slicing_accuracy"),
            parameters={
                "tablet_count": "number of tablets",
                "pivot_keys": "first keys of the tablets of a sorted table, the first one empty",
                "uniform": "pivot keys at equal distances, by the first key column",
                "trimmed_row_counts": "one for each new tablet of an ordered table: where its row indexes begin",
                "cumulative_data_weights": "one for each new tablet of an ordered table: where its weights begin",
            },
        ),
        transactions="ignored",
    ),
)


async def _rpc_reshard(call: Call, request: api.TReqReshardTable) -> Reply:
    found = request_parameters(request)
    data = b"".join(part for part in call.attachments if part)
    if data:
        found["pivot_keys"] = decode_keys(data)
    await call.execute("reshard_table", found)
    return NOTHING


METHODS: Final[tuple[Method, ...]] = (Method(api.TReqReshardTable, _rpc_reshard),)
