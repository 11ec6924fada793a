"""Applications of the demonstration: they write and read a queue all the time, so that there is something to see.

Everything is below `//home/demo/live` of one cluster:

* `orders`: a queue of three partitions, trimmed once `billing` has read, ten minutes later at the earliest;
* `uploader`: the producer that writes it, about ten rows a second;
* `billing`: a vital consumer, which reads at once;
* `analytics`: a consumer that stays two minutes behind;
* `forgotten`: registered, and not there any more;
* `archive`: where the queue is exported to every minute;
* `regions`: a static table.
"""

from __future__ import annotations

import argparse
import math
import signal
import threading
import time
from pathlib import Path
from typing import Any, Final

from yt.wrapper import YtClient, YtError

HOME: Final = "//home/demo/live"
QUEUE: Final = f"{HOME}/orders"
PRODUCER: Final = f"{HOME}/uploader"
BILLING: Final = f"{HOME}/billing"
ANALYTICS: Final = f"{HOME}/analytics"
FORGOTTEN: Final = f"{HOME}/forgotten"
ARCHIVE: Final = f"{HOME}/archive"
REGIONS: Final = f"{HOME}/regions"

_PARTITION_COUNT: Final = 3
_KEPT_MILLISECONDS: Final = 600_000
_EXPORT_MILLISECONDS: Final = 60_000
_EXPORT_TTL_MILLISECONDS: Final = 3_600_000
_ANALYTICS_SECONDS: Final = 120
_SESSION: Final = "demo"
_COUNTER_BITS: Final = 30
_SCHEMA: Final = [
    {"name": "customer", "type": "string"},
    {"name": "region", "type": "string"},
    {"name": "amount", "type": "double"},
    {"name": "$timestamp", "type": "uint64"},
    {"name": "$cumulative_data_weight", "type": "int64"},
]
_NAMES: Final = ("north", "east", "south", "west")


class Traffic:
    """The applications.

    Args:
        client: of the cluster.
    """

    def __init__(self, client: YtClient) -> None:
        self._client = client
        self._epoch = 0
        self._sequence_number = 0
        self._offsets: dict[str, list[int]] = {}

    def prepare(self) -> None:
        """Create what is not there, and find out how far everybody is."""
        client = self._client
        client.create("map_node", ARCHIVE, recursive=True, ignore_existing=True)
        if not client.exists(QUEUE):
            attributes = {"dynamic": True, "schema": _SCHEMA, "tablet_count": _PARTITION_COUNT}
            client.create("table", QUEUE, attributes=attributes)
            client.set(f"{QUEUE}/@auto_trim_config", {"enable": True, "retained_lifetime_duration": _KEPT_MILLISECONDS})
            client.set(
                f"{ARCHIVE}/@queue_static_export_destination", {"originating_queue_id": client.get(f"{QUEUE}/@id")}
            )
            export = {
                "export_directory": ARCHIVE,
                "export_period": _EXPORT_MILLISECONDS,
                "export_ttl": _EXPORT_TTL_MILLISECONDS,
            }
            client.set(f"{QUEUE}/@static_export_config", {"archive": export})
            client.mount_table(QUEUE, sync=True)
        for consumer, vital in ((BILLING, True), (ANALYTICS, False)):
            if not client.exists(consumer):
                client.create("queue_consumer", consumer)
                client.register_queue_consumer(QUEUE, consumer, vital=vital)
        if not any(str(one["consumer_path"]).endswith(FORGOTTEN) for one in self._registrations()):
            client.create("queue_consumer", FORGOTTEN)
            client.register_queue_consumer(QUEUE, FORGOTTEN, vital=False)
            client.remove(FORGOTTEN)
        if not client.exists(REGIONS):
            client.write_table(REGIONS, [{"name": name, "open": True} for name in _NAMES])
        if not client.exists(PRODUCER):
            client.create("queue_producer", PRODUCER)
        session = client.create_queue_producer_session(PRODUCER, QUEUE, _SESSION)
        self._epoch, self._sequence_number = int(session["epoch"]), int(session["sequence_number"])
        self._offsets = {consumer: self._read_offsets(consumer) for consumer in (BILLING, ANALYTICS)}

    def step(self, now: float) -> None:
        """Write some rows, and have both consumers read.

        Args:
            now: seconds since the epoch, by the clock of the cluster.
        """
        self._write(int(now))
        self._read(BILLING, math.inf)
        self._read(ANALYTICS, now - _ANALYTICS_SECONDS)

    def _registrations(self) -> list[dict[str, Any]]:
        return list(self._client.list_queue_consumer_registrations(queue_path=QUEUE))

    def _read_offsets(self, consumer: str) -> list[int]:
        offsets = [0] * _PARTITION_COUNT
        for row in self._client.select_rows(f"partition_index, [offset] from [{consumer}]"):
            offsets[row["partition_index"]] = row["offset"]
        return offsets

    def _write(self, second: int) -> None:
        rows = []
        for index in range(6 + second % 9):
            self._sequence_number += 1
            rows.append(
                {
                    "customer": f"customer {self._sequence_number % 97}",
                    "region": _NAMES[self._sequence_number % len(_NAMES)],
                    "amount": round(self._sequence_number % 1000 / 4, 2),
                    "$tablet_index": index % _PARTITION_COUNT,
                    "$sequence_number": self._sequence_number,
                }
            )
        self._client.push_queue_producer(PRODUCER, QUEUE, _SESSION, self._epoch, rows)

    def _read(self, consumer: str, until: float) -> None:
        """Read rows written before a moment, and note how far."""
        for partition, offset in enumerate(self._offsets[consumer]):
            rows = list(self._client.pull_queue_consumer(consumer, QUEUE, offset, partition, max_row_count=1000))
            read = [row["$row_index"] for row in rows if row["$timestamp"] >> _COUNTER_BITS <= until]
            if read:
                self._client.advance_queue_consumer(
                    consumer, QUEUE, partition, old_offset=offset, new_offset=max(read) + 1, client_side=False
                )
                self._offsets[consumer][partition] = max(read) + 1


def main() -> None:
    """Run until SIGTERM or SIGINT, or until somebody has removed what the applications need."""
    parser = argparse.ArgumentParser(description="Write and read a queue all the time.")
    parser.add_argument("--proxy", required=True, help="HTTP proxy of the cluster")
    parser.add_argument("--token-file", type=Path, help="file with a token of root")
    options = parser.parse_args()
    token = {} if options.token_file is None else {"token": options.token_file.read_text().strip()}
    client = YtClient(options.proxy, config={**token, "proxy": {"retries": {"enable": False}}})
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    traffic = Traffic(client)
    try:
        traffic.prepare()
        while not stop.wait(1.0):
            traffic.step(time.clock_gettime(time.CLOCK_REALTIME))
    except YtError as error:
        if not stop.is_set():
            raise SystemExit(f"demonstration: nothing more is written to {QUEUE}: {error}") from error


if __name__ == "__main__":
    main()
