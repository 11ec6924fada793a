"""What there is on the cluster."""

from __future__ import annotations

from typing import Any, Final

from benchmarks.scale.world import (
    CLUSTER,
    CONSUMER_SCHEMA,
    STAGE,
    START,
    TRIMMED,
    Size,
    consumer_path,
    number_of,
    queue_path,
)
from yt_wire import yson

_CELL: Final = "1-2-3e902bc-4"


def state_tables(size: Size) -> dict[str, bytes]:
    """Rows by path."""
    ok = {"code": 0, "message": "", "attributes": {}}
    schema = yson.loads(CONSUMER_SCHEMA)
    queues = [
        {
            "cluster": CLUSTER,
            "path": queue_path(queue),
            "row_revision": yson.Uint64(1),
            "revision": yson.Uint64(7),
            "object_type": "table",
            "dynamic": True,
            "sorted": False,
            "auto_trim_config": {"enable": False},
            "static_export_config": None,
            "queue_agent_stage": STAGE,
            "object_id": object_id(queue_path(queue)),
            "queue_agent_banned": None,
            "synchronization_error": ok,
            "queue_profiling_tag": None,
        }
        for queue in range(size.queues)
    ]
    pairs = [(queue, consumer) for queue in range(size.queues) for consumer in range(size.consumers)]
    consumers = [
        {
            "cluster": CLUSTER,
            "path": consumer_path(queue, consumer),
            "row_revision": yson.Uint64(1),
            "revision": yson.Uint64(7),
            "object_type": "table",
            "treat_as_queue_consumer": True,
            "schema": [schema],
            "queue_agent_stage": STAGE,
            "queue_agent_banned": None,
            "synchronization_error": ok,
            "queue_consumer_profiling_tag": None,
        }
        for queue, consumer in pairs
    ]
    registrations = [
        {
            "queue_cluster": CLUSTER,
            "queue_path": queue_path(queue),
            "consumer_cluster": CLUSTER,
            "consumer_path": consumer_path(queue, consumer),
            "consumer_name": "",
            "vital": consumer == 0,
            "partitions": None,
        }
        for queue, consumer in pairs
    ]
    return {
        "//sys/queue_agents/queues": yson.dumps_rows(queues),
        "//sys/queue_agents/consumers": yson.dumps_rows(consumers),
        "//sys/queue_agents/consumer_registrations": yson.dumps_rows(registrations),
    }


def revisions(size: Size) -> dict[str, dict[str, int]]:
    """Value of `//sys/@queue_agent_object_revisions`."""
    return {
        "queues": {queue_path(queue): yson.Uint64(7) for queue in range(size.queues)},
        "consumers": {
            consumer_path(queue, consumer): yson.Uint64(7)
            for queue in range(size.queues)
            for consumer in range(size.consumers)
        },
    }


def tablet_description(queue: int, partition: int) -> dict[str, Any]:
    """As a real master describes it, statistics left out in part."""
    return {
        "index": partition,
        "tablet_id": f"{queue:x}-{partition:x}-3e902be-4",
        "cell_id": _CELL,
        "cell_leader_address": "node-1.bench:9022",
        "state": "mounted",
        "statistics": {"chunk_count": 3, "compressed_data_size": 123456, "uncompressed_data_size": 1234567},
        "performance_counters": {"dynamic_row_write_count": 123456, "dynamic_row_read_count": 123},
        "last_commit_timestamp": yson.Uint64(START << 30),
        "trimmed_row_count": TRIMMED,
        "flushed_row_count": 12345,
        "error_count": 0,
    }


def object_id(path: str) -> str:
    """Of a queue or a consumer."""
    _, _, consumer = path.rpartition("/")[2].partition("-")
    return f"{number_of(path):x}-{2 if consumer else 1}-3e90191-{consumer or 0}"


def paths_by_id(size: Size) -> dict[str, str]:
    """Of all queues and consumers."""
    queues = range(size.queues)
    consumers = (consumer_path(queue, consumer) for queue in queues for consumer in range(size.consumers))
    return {object_id(path): path for path in (*map(queue_path, queues), *consumers)}
