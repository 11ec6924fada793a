"""pull_queue, pull_queue_consumer, and its former name pull_consumer: rows of a partition."""

from __future__ import annotations

from typing import Final

from yt_local.calls.call import Call, Method, reply
from yt_local.calls.command import Body, Command, Int64, Parameters, RichPathParameter, Rows, tabular
from yt_local.calls.manual import NOT_REGISTERED, Manual
from yt_local.calls.messages import request_parameters
from yt_local.calls.rowsets import descriptor, encode_rows
from yt_local.cluster import Cluster
from yt_local.queues.queues import BatchLimits, PulledRows
from yt_local.session import Session
from yt_wire.connection import Reply
from yt_wire.proto import api_pb2 as api

_PULL: Final = {
    1: "a negative offset; a table that is static or sorted; a cluster nobody knows",
    500: "no such node",
    1701: "`partition_index` out of range",
    1702: "the tablet is neither mounted nor frozen",
    1736: "a replicated queue has no synchronous replica that has everything",
}

_ROWS: Final = (
    "Rows with `$tablet_index`, `$row_index` and all columns in the order of the schema. Only an empty answer means "
    "that there is nothing at the offset: an answer ends with the segment it began in, and with the row that "
    "reaches `max_data_weight`."
)

_PULL_CONSUMER: Final = Manual(
    "Rows of one partition for a consumer; without `offset` from its position.",
    _ROWS,
    {**_PULL, 901: NOT_REGISTERED},
    ignored=("replica_consistency", "timeout"),
    parameters={"offset": "index of the first row; default: the consumer's position"},
)


class _Pull(Parameters):
    queue_path: RichPathParameter
    partition_index: Int64
    offset: Int64 | None = None
    max_row_count: Int64 | None = None
    max_data_weight: Int64 | None = None
    data_weight_per_row_hint: Int64 | None = None

    @property
    def limits(self) -> BatchLimits:
        return BatchLimits.of(self.max_row_count, self.max_data_weight, self.data_weight_per_row_hint)


class _PullConsumer(_Pull):
    consumer_path: RichPathParameter


async def _pull_queue(cluster: Cluster, session: Session, parameters: _Pull, _: Body) -> Rows:
    return Rows(
        cluster.queues.pull(
            session.access, parameters.queue_path, parameters.partition_index, parameters.offset or 0, parameters.limits
        )
    )


async def _pull_queue_consumer(cluster: Cluster, session: Session, parameters: _PullConsumer, _: Body) -> Rows:
    return Rows(
        cluster.queues.pull_for_consumer(
            session.access,
            parameters.consumer_path,
            parameters.queue_path,
            parameters.partition_index,
            parameters.offset,
            parameters.limits,
        )
    )


COMMANDS: Final[tuple[Command, ...]] = (
    tabular(
        "pull_queue",
        _Pull,
        _pull_queue,
        Manual(
            "Rows of one partition from an offset on.",
            _ROWS,
            _PULL,
            ignored=("replica_consistency", "timeout"),
            parameters={"offset": "index of the first row; 0 if null"},
        ),
        transactions="ignored",
    ),
    tabular("pull_queue_consumer", _PullConsumer, _pull_queue_consumer, _PULL_CONSUMER, transactions="ignored"),
    tabular("pull_consumer", _PullConsumer, _pull_queue_consumer, _PULL_CONSUMER, transactions="ignored"),
)


async def _rpc_pull(call: Call, request: api.TReqPullQueue) -> Reply:
    answer = await call.execute("pull_queue", request_parameters(request))
    rows: PulledRows = answer.rows
    message = api.TRspPullQueue(rowset_descriptor=descriptor(rows.columns), start_offset=rows.start_offset)
    return reply(message, encode_rows(rows.columns, rows.rows))


async def _rpc_pull_for_consumer(call: Call, request: api.TReqPullQueueConsumer) -> Reply:
    answer = await call.execute("pull_queue_consumer", request_parameters(request))
    rows: PulledRows = answer.rows
    message = api.TRspPullQueueConsumer(rowset_descriptor=descriptor(rows.columns), start_offset=rows.start_offset)
    return reply(message, encode_rows(rows.columns, rows.rows))


METHODS: Final[tuple[Method, ...]] = (
    Method(api.TReqPullQueue, _rpc_pull),
    Method(api.TReqPullQueueConsumer, _rpc_pull_for_consumer, former_name="PullConsumer"),
)
