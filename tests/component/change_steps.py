"""What users and operators do, at random."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from queue_agent.core.queues.queue_snapshots import DATA_WEIGHT_COLUMN, TIMESTAMP_COLUMN
from queue_agent.core.state.rows import Registration
from queue_agent.core.values.refs import CrossClusterRef
from tests.component.change_world import CONSUMERS, QUEUES, START, World, offset_key
from yt_local.security.permissions import UNLIMITED
from yt_local.tables.dynamic.sorted_resharding import Sharding
from yt_local.tables.dynamic.tablets import ALL_TABLETS, TabletRange
from yt_wire import yson
from yt_wire.error import YtError


class Steps:
    """What users and operators do, at random."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.random = random.Random(seed)
        self.done: list[str] = []

    def do_step(self) -> None:
        """Nothing, or one to three things; what a cluster refuses is nothing as well."""
        for _ in range(self.random.choice([0, 0, 1, 1, 2, 3])):
            name, weight = zip(*self._actions().items(), strict=True)
            [action] = self.random.choices([*name], weights=[one for one, _ in weight])
            try:
                self._actions()[action][1]()
            except YtError as error:
                action += f" ({error.message[:40]})"
            self.done.append(action)
        self.done.append("pass")

    def _actions(self) -> Mapping[str, tuple[int, Callable[[], None]]]:
        return {
            "write": (12, self.write),
            "trim": (5, self.trim),
            "advance": (12, self.advance),
            "rewind": (3, self.rewind),
            "advance meta": (5, self.advance_meta),
            "delete offset": (2, self.delete_offset),
            "unmount": (2, self.unmount),
            "mount": (8, self.mount),
            "freeze": (2, self.freeze),
            "unfreeze": (3, self.unfreeze),
            "remount at once": (2, self.remount),
            "reshard": (2, self.reshard),
            "recreate": (2, self.recreate),
            "remove": (1, self.remove),
            "unmount consumer": (1, self.unmount_consumer),
            "mount consumer": (9, self.mount_consumer),
            "register": (3, self.register),
            "unregister": (1, self.unregister),
            "ban, or not": (1, self.ban),
            "other row": (1, self.change_row),
            "clock": (1, self.turn_clock_back),
        }

    def queue(self) -> CrossClusterRef:
        return self.random.choice(QUEUES)

    def consumer(self) -> CrossClusterRef:
        return self.random.choice(CONSUMERS)

    def partition(self, queue: CrossClusterRef) -> int:
        return self.random.randrange(self.world.tablet_count(queue))

    def some_tablets(self, path: str) -> TabletRange:
        count = int(self.world.cluster.cypress.get(UNLIMITED, f"{path}/@tablet_count"))
        index = self.random.randrange(count)
        return self.random.choice([ALL_TABLETS, TabletRange(index, index)])

    def write(self) -> None:
        queue = self.queue()
        partition = self.partition(queue)
        rows = [{b"$tablet_index": partition, b"data": b"x" * self.random.randrange(20)}] * self.random.randrange(1, 6)
        self.world.cluster.writer.insert_rows(UNLIMITED, queue.path, rows)

    def trim(self) -> None:
        queue = self.queue()
        partition = self.partition(queue)
        lower, upper = self.world.bounds(queue, partition)
        self.world.cluster.tables.trim_rows(UNLIMITED, queue.path, partition, self.random.randint(lower, upper))

    def advance(self) -> None:
        queue = self.queue()
        partition = self.partition(queue)
        lower, upper = self.world.bounds(queue, partition)
        offset = self.random.randint(max(0, lower - 1), upper + 1)
        self.world.write_offset(self.consumer(), queue, partition, offset=yson.Uint64(offset))

    def rewind(self) -> None:
        queue = self.queue()
        self.world.write_offset(self.consumer(), queue, self.partition(queue), offset=yson.Uint64(0))

    def advance_meta(self) -> None:
        queue = self.queue()
        partition = self.partition(queue)
        _, upper = self.world.bounds(queue, partition)
        known: dict[str, Any] = {
            "cumulative_data_weight": self.random.randrange(1000),
            "offset_timestamp": yson.Uint64(int(START.timestamp()) + self.random.randrange(100) << 30),
        }
        meta = {name: value for name, value in known.items() if self.random.random() < 0.7}
        offset = yson.Uint64(self.random.randint(0, upper))
        self.world.write_offset(self.consumer(), queue, partition, offset=offset, meta=meta)

    def delete_offset(self) -> None:
        queue = self.queue()
        self.world.cluster.writer.delete_rows(
            UNLIMITED, self.consumer().path, [offset_key(queue, self.partition(queue))]
        )

    def unmount(self) -> None:
        path = self.queue().path
        self.world.cluster.tablets.unmount(UNLIMITED, path, self.some_tablets(path))

    def mount(self) -> None:
        self.world.cluster.tablets.mount(UNLIMITED, self.queue().path)

    def freeze(self) -> None:
        path = self.queue().path
        self.world.cluster.tablets.freeze(UNLIMITED, path, self.some_tablets(path))

    def unfreeze(self) -> None:
        self.world.cluster.tablets.unfreeze(UNLIMITED, self.queue().path)

    def remount(self) -> None:
        path = self.queue().path
        self.world.cluster.tablets.unmount(UNLIMITED, path)
        self.world.cluster.tablets.mount(UNLIMITED, path)

    def reshard(self) -> None:
        path = self.queue().path
        self.world.cluster.tablets.unmount(UNLIMITED, path)
        self.world.cluster.tablets.reshard(UNLIMITED, path, Sharding(tablet_count=self.random.randint(1, 4)))
        if self.random.random() < 0.7:
            self.world.cluster.tablets.mount(UNLIMITED, path)

    def recreate(self) -> None:
        queue = self.queue()
        self.remove_if_there(queue)
        columns = ["data", *(name for name in (TIMESTAMP_COLUMN, DATA_WEIGHT_COLUMN) if self.random.random() < 0.8)]
        self.world.create_queue(queue, self.random.randint(1, 3), columns)
        if self.random.random() < 0.7:  # else the synchronizer has not seen it yet
            self.world.put_rows()

    def remove(self) -> None:
        self.remove_if_there(self.queue())

    def remove_if_there(self, queue: CrossClusterRef) -> None:
        if self.world.cluster.cypress.exists(UNLIMITED, queue.path):
            self.world.cluster.cypress.remove(UNLIMITED, queue.path)

    def unmount_consumer(self) -> None:
        self.world.cluster.tablets.unmount(UNLIMITED, self.consumer().path)

    def mount_consumer(self) -> None:
        for consumer in CONSUMERS:
            self.world.cluster.tablets.mount(UNLIMITED, consumer.path)

    def register(self) -> None:
        self.world.registrations.add(Registration(self.queue(), self.consumer(), vital=True))
        self.world.put_rows()

    def unregister(self) -> None:
        gone = self.random.choice(sorted(self.world.registrations) or [Registration(QUEUES[0], CONSUMERS[0], True)])
        self.world.registrations.discard(gone)
        self.world.put_rows()

    def ban(self) -> None:
        queue = self.queue()
        row = self.world.queue_rows[queue]
        self.world.queue_rows[queue] = replace(row, queue_agent_banned=not row.queue_agent_banned)
        self.world.put_rows()

    def change_row(self) -> None:
        queue = self.queue()
        self.world.queue_rows[queue] = replace(self.world.queue_rows[queue], queue_profiling_tag=str(len(self.done)))
        self.world.put_rows()

    def turn_clock_back(self) -> None:
        self.world.clock.time -= timedelta(seconds=self.random.randrange(3))
