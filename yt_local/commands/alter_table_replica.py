"""alter_table_replica: modes of replicas."""

from __future__ import annotations

from typing import Any, Final, Literal

from yt_local.calls.call import Method, simple_method
from yt_local.calls.command import Body, Command, Parameters, volatile
from yt_local.calls.manual import Manual
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_wire.proto import api_pb2 as api


class _Alter(Parameters):
    replica_id: str
    enabled: bool | None = None
    mode: Literal["sync", "async"] | None = None
    preserve_timestamps: bool | None = None
    atomicity: Literal["full", "none"] | None = None
    enable_replicated_table_tracker: bool | None = None


async def _alter_table_replica(cluster: Cluster, session: Session, parameters: _Alter, _: Body) -> Any:
    cluster.replicas.alter(
        session.access,
        parameters.replica_id,
        {
            "enabled": parameters.enabled,
            "mode": parameters.mode,
            "preserve_timestamps": parameters.preserve_timestamps,
            "atomicity": parameters.atomicity,
            "tracked": parameters.enable_replicated_table_tracker,
        },
    )
    return {}


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "alter_table_replica",
        _Alter,
        _alter_table_replica,
        Manual(
            "Changes a replica: on or off, synchronous or not, tracked or not.",
            errors={
                1: "no such mode; no replica",
                500: "no such object",
                901: "the user may not write to the replicated table",
                1706: "`atomicity` and `preserve_timestamps` do not go together",
            },
            parameters={
                "replica_id": "id of the `table_replica`",
                "enabled": "whether it gets anything",
                "mode": "`sync` or `async`",
                "preserve_timestamps": "rows keep the timestamps of their commits",
                "atomicity": "`none` for rows one by one",
                "enable_replicated_table_tracker": "the tracker may change the mode",
            },
        ),
        transactions="ignored",
    ),
)


METHODS: Final[tuple[Method, ...]] = (simple_method(api.TReqAlterTableReplica, "alter_table_replica"),)
