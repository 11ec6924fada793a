"""A queue with some rows in it, for those who want to try something at once."""

from __future__ import annotations

from typing import Final

from queue_agent.adapters.cluster.yt_http import YtHttp
from queue_agent.config.clusters import ClusterConfig
from queue_agent.errors import ClusterError
from yt_wire.error import ErrorCode

QUEUE: Final = "//home/demo/queue"
PARTITION_COUNT: Final = 3
ROW_COUNT: Final = 3000

_SCHEMA: Final = [
    {"name": "user", "type": "string"},
    {"name": "amount", "type": "double"},
    {"name": "$timestamp", "type": "uint64"},
    {"name": "$cumulative_data_weight", "type": "int64"},
]


async def create_demo_queue(config: ClusterConfig) -> None:
    """Make the queue `//home/demo/queue` with its rows, unless it is there; ClusterError if that fails."""
    async with YtHttp("demo", config) as http:
        attributes = {"dynamic": True, "schema": _SCHEMA, "tablet_count": PARTITION_COUNT}
        try:
            await http.execute("create", {"type": "table", "path": QUEUE, "recursive": True, "attributes": attributes})
        except ClusterError as error:
            if error.code == ErrorCode.ALREADY_EXISTS:
                return
            raise
        await http.execute("mount_table", {"path": QUEUE})
        rows = [
            {"user": f"user {number % 17}", "amount": number / 4, "$tablet_index": number % PARTITION_COUNT}
            for number in range(ROW_COUNT)
        ]
        await http.call("insert_rows", {"path": QUEUE}, rows=rows)
