"""The command that divides tables among readers."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from yt_local.cluster import Cluster
from yt_local.commands.command import Body, Command, RichPathParameter, Transactional, light
from yt_local.session import Session
from yt_local.tables.static.partitioning import Piece, partition_table
from yt_wire.error import YtError

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


COMMANDS: Final[tuple[Command, ...]] = (light("partition_tables", _Partition, _partition, transactions="taken"),)
