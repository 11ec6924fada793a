"""What others would need for the same objects: requests of the C++ agent's protocol, and a plain loop over a client."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Any, Final

import yt.wrapper

from benchmarks.scale.world import CLUSTER, STILL, TRIMMED, Size, World, consumer_path, queue_path
from yt_wire import yson

QUEUE_REQUESTS: Final = 2
"""Of a pass of one queue, whether anything moves or not: tablet infos, and data weights by a select. The schema comes
from a cache."""

CONSUMER_REQUESTS: Final = 4
"""Of a pass over one queue of a consumer: offsets, their write times, row times and data weights."""


def reference_requests(size: Size) -> int:
    """In one pass over all objects."""
    return size.queues * (QUEUE_REQUESTS + size.consumers * CONSUMER_REQUESTS)


@dataclass(frozen=True, slots=True)
class PlainCost:
    """Of a pass over all objects, by what a sample of them took."""

    processor_seconds: float
    wall_seconds: float


def measure_plain_loop(address: str, size: Size, sample: int) -> PlainCost:
    """Ask about some queues and their consumers, one request after the other, what the C++ agent asks in every pass."""
    logging.getLogger("Yt").setLevel(logging.ERROR)  # it tells of every trailer
    client = yt.wrapper.YtClient(
        proxy=address,
        config={"api_version": "v4", "proxy": {"enable_proxy_discovery": False, "content_encoding": "identity"}},
    )
    _ask_about_queue(client, size, 0)  # connections, caches
    processor, wall = time.process_time(), time.monotonic()
    for queue in range(sample):
        _ask_about_queue(client, size, queue)
    factor = size.queues / sample
    return PlainCost((time.process_time() - processor) * factor, (time.monotonic() - wall) * factor)


def _ask_about_queue(client: Any, size: Size, queue: int) -> None:
    path, partitions = queue_path(queue), range(size.partitions)
    still = World(size, STILL, 0)
    tablets = client.get_tablet_infos(path, list(partitions))["tablets"]
    ends = [(index, TRIMMED) for index in partitions]
    ends += [(index, tablet["total_row_count"] - 1) for index, tablet in enumerate(tablets)]
    _select(client, path, "$cumulative_data_weight", ends)
    for consumer in range(size.consumers):
        table = consumer_path(queue, consumer)
        offsets = (
            f"[partition_index], [offset], [meta] from [{table}] where [partition_index] between 0u and"
            f' {size.partitions - 1}u and [queue_cluster] = "{CLUSTER}" and [queue_path] = "{path}"'
        )
        assert len(list(client.select_rows(offsets))) == size.partitions
        keys = [
            {"queue_cluster": CLUSTER, "queue_path": path, "partition_index": yson.Uint64(index)}
            for index in partitions
        ]
        assert len(list(client.lookup_rows(table, keys, versioned=True))) == size.partitions
        _select(client, path, "$timestamp", [(index, still.offset(queue, index)) for index in partitions])
        read = [(index, still.offset(queue, index) - 1) for index in partitions]
        _select(client, path, "$cumulative_data_weight", read)


def _select(client: Any, path: str, column: str, rows: list[tuple[int, int]]) -> None:
    pairs = ", ".join(f"({partition}u, {row}u)" for partition, row in rows)
    query = (
        f"[$tablet_index], [$row_index], [{column}] from [{path}] where ([$tablet_index], [$row_index]) in ({pairs})"
    )
    assert len(list(client.select_rows(query))) == len(rows)
