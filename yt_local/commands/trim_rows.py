"""trim_rows: the first rows of a tablet are forgotten."""

from __future__ import annotations

from typing import Any, Final

from yt_local.calls.call import Method, simple_method
from yt_local.calls.command import Body, Command, Int64, Parameters, PathParameter, volatile
from yt_local.calls.manual import NO_SUCH_NODE, Manual
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_wire.proto import api_pb2 as api


class _Trim(Parameters):
    path: PathParameter
    tablet_index: Int64
    trimmed_row_count: Int64


async def _trim_rows(cluster: Cluster, session: Session, parameters: _Trim, _: Body) -> Any:
    cluster.tables.trim_rows(session.access, parameters.path, parameters.tablet_index, parameters.trimmed_row_count)
    return {}


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "trim_rows",
        _Trim,
        _trim_rows,
        Manual(
            "Forgets the rows of one tablet below an index; at once, outside of transactions.",
            errors={
                1: "the table is static or sorted; the index is beyond the end",
                500: NO_SUCH_NODE,
                1701: "`tablet_index` out of range",
                1702: "the tablet is not mounted (frozen is not enough)",
            },
            differs="Of a replicated table it is the log that is trimmed; replicas do not get what they had not got.",
            parameters={"tablet_index": "the tablet", "trimmed_row_count": "index of the first row that stays"},
        ),
        is_heavy=True,
        transactions="ignored",
    ),
)


METHODS: Final[tuple[Method, ...]] = (simple_method(api.TReqTrimTable, "trim_rows"),)
