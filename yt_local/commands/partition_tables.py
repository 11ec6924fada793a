"""partition_tables: tables divided among readers."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from yt_local.calls.call import Call, Method, reply
from yt_local.calls.command import Body, Command, RichPathParameter, Transactional, light
from yt_local.calls.manual import Manual
from yt_local.calls.messages import path_text, request_parameters
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_local.tables.static.partitioning import Piece, partition_table
from yt_wire.connection import Reply
from yt_wire.error import YtError
from yt_wire.proto import api_pb2 as api

_Positive = Annotated[int, Field(gt=0, lt=2**63)]


class _Partition(Transactional):
    paths: list[RichPathParameter]
    partition_mode: Literal["sorted", "ordered", "unordered"] = "unordered"
    data_weight_per_partition: _Positive
    max_partition_count: _Positive | None = None
    adjust_data_weight_per_partition: bool = True


async def _partition(cluster: Cluster, session: Session, parameters: _Partition, _: Body) -> Any:
    if parameters.partition_mode == "sorted":
        raise YtError("Sorted partitioning is not supported yet")
    view = cluster.view(session.transaction_id)
    pieces = [
        piece
        for path in parameters.paths
        for piece in partition_table(view, session.access, path, parameters.data_weight_per_partition)
    ]
    step = 1
    if parameters.max_partition_count is not None and len(pieces) > parameters.max_partition_count:
        if not parameters.adjust_data_weight_per_partition:
            raise YtError(f"Maximum partition count exceeded: {len(pieces)} > {parameters.max_partition_count}")
        step = -(-len(pieces) // parameters.max_partition_count)
    return {"partitions": [_shown(pieces[start : start + step]) for start in range(0, len(pieces), step)]}


def _shown(pieces: list[Piece]) -> dict[str, Any]:
    return {
        "table_ranges": [piece.path for piece in pieces],
        "aggregate_statistics": {
            "chunk_count": sum(piece.chunk_count for piece in pieces),
            "data_weight": sum(piece.data_weight for piece in pieces),
            "row_count": sum(piece.row_count for piece in pieces),
        },
    }


COMMANDS: Final[tuple[Command, ...]] = (
    light(
        "partition_tables",
        _Partition,
        _partition,
        Manual(
            "What tables, or parts of them, are divided into for readers that work side by side.",
            "`{partitions=[{table_ranges=[path; ...]; aggregate_statistics={chunk_count; data_weight; row_count}}; "
            "...]}`; every path has `ranges`, empty parts are left out",
            {1: "no table; `sorted` mode; more partitions than there may be", 500: "no such node"},
            ignored=("enable_key_guarantee", "enable_cookies", "chunk_slice_fetcher_config"),
            differs="Static tables are cut between any two rows; dynamic ones between tablets, or not at all if ranges "
            "were given.",
            parameters={
                "paths": "tables, with ranges and columns or without",
                "partition_mode": "`ordered` and `unordered` are the same here",
                "data_weight_per_partition": "bytes; about how heavy each is to be",
                "max_partition_count": "how many there may be",
                "adjust_data_weight_per_partition": "partitions become larger where there would be too many; "
                "else that is an error",
            },
        ),
        transactions="taken",
    ),
)


async def _rpc_partition_tables(call: Call, request: api.TReqPartitionTables) -> Reply:
    answer = await call.execute("partition_tables", {"paths": [], **request_parameters(request)})
    message = api.TRspPartitionTables()
    for partition in answer["partitions"]:
        message.partitions.add(
            table_ranges=map(path_text, partition["table_ranges"]),
            aggregate_statistics=partition["aggregate_statistics"],
        )
    return reply(message)


METHODS: Final[tuple[Method, ...]] = (Method(api.TReqPartitionTables, _rpc_partition_tables),)
