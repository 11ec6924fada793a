"""alter_table: another schema or kind of table."""

from __future__ import annotations

from typing import Any, Final

from pydantic import Field

from yt_local.calls.call import NOTHING, Call, Method
from yt_local.calls.command import Body, Command, PathParameter, Transactional, volatile
from yt_local.calls.manual import NO_SUCH_NODE, OVER_LIMITS, Manual
from yt_local.calls.messages import request_parameters
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_wire import rpc
from yt_wire.connection import Reply
from yt_wire.error import YtError
from yt_wire.guid import NULL_GUID
from yt_wire.proto import api_pb2 as api


class _Alter(Transactional):
    path: PathParameter
    schema_: Any | None = Field(default=None, alias="schema")
    dynamic: bool | None = None
    upstream_replica_id: str | None = None


async def _alter(cluster: Cluster, session: Session, parameters: _Alter, _: Body) -> Any:
    tablets = cluster.view(session.transaction_id).tablets
    with cluster.change_within_limits():
        tablets.alter(
            session.access, parameters.path, parameters.schema_, parameters.dynamic, parameters.upstream_replica_id
        )
    return {}


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "alter_table",
        _Alter,
        _alter,
        Manual(
            "Changes the schema, makes a static table dynamic or back, binds a replica table.",
            errors={
                1: "a schema the old one cannot become; a dynamic table inside of a master transaction",
                402: "another transaction has locked the table",
                500: NO_SUCH_NODE,
                902: OVER_LIMITS,
                1706: "not all tablets are unmounted",
            },
            ignored=("schema_id", "schema_modification", "clip_timestamp", "constraints", "constrained_schema"),
            refused="A column to be added where the rows of before cannot be shown without it.",
            differs="`replication_progress` has no meaning: there are no chaos tables.",
            parameters={
                "schema": "the new schema",
                "dynamic": "whether the table is to be dynamic",
                "upstream_replica_id": "binds it to a replica of a replicated table",
            },
        ),
        transactions="taken",
    ),
)


async def _rpc_alter(call: Call, request: api.TReqAlterTable) -> Reply:
    if rpc.from_proto_guid(request.schema_id) != NULL_GUID:
        raise YtError("Schemas are given as such, not by their ids")
    await call.execute("alter_table", request_parameters(request))
    return NOTHING


METHODS: Final[tuple[Method, ...]] = (Method(api.TReqAlterTable, _rpc_alter),)
