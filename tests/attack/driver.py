"""A user who writes, reads, and changes everything that protects rows, and keeps account of it."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from yarl import URL

from tests.attack.account import FOR_EVER, Account, Consumer, Queue, Storage, Timeline
from tests.attack.stage import Stage
from tests.component.running_agent import User

PLAIN: Final = "//tmp/plain"
EXPORTED: Final = "//tmp/exported"
REPLICATED: Final = "//tmp/replicated"
REPLICA: Final = "//tmp/replica"
DIRECTORY: Final = "//tmp/exports"
NEIGHBOURS: Final = 4
CONSUMERS: Final = ("//tmp/steady", "//tmp/fickle")
PARTITIONS: Final = 2
EXPORT_MILLISECONDS: Final = 2000

_SCHEMA: Final = [
    {"name": "data", "type": "string"},
    {"name": "$timestamp", "type": "uint64"},
    {"name": "$cumulative_data_weight", "type": "int64"},
]
_HUGE: Final[tuple[Any, ...]] = (
    2**63 - 1,
    2**62,
    -1,
    10**15,
    "x",
    True,
    0.5,
    None,
    [],
    {},
    {"enable": True, "retained_rows": "many"},
)
_PAUSE: Final = 0.02
_RARE_SECONDS: Final = (4.0, 20.0)
"""From one thing after which agents have to find out much again to the next."""


class Driver:
    """Does one thing after the other.

    Args:
        stage: where.
        randomness: of what it does.
    """

    def __init__(self, stage: Stage, randomness: random.Random) -> None:
        self._stage = stage
        self._choose = randomness
        self.account = Account()
        self.actions = 0
        self.refusals: list[str] = []
        """Answers of the cluster to what it did not want: a queue that is just exported cannot be resharded."""

        self.reshards = 0
        self._turn = asyncio.Lock()

        self._number = 0
        self._ids: dict[str, str] = {}
        self._shifted = 0

    @property
    def _home(self) -> User:
        return self._stage.users["pythia"]

    async def prepare(self) -> None:
        """Make everything, before there are agents: they know all consumers from the beginning."""
        for consumer in CONSUMERS:
            await self._home.run("create", type="queue_consumer", path=consumer)
        for path in (PLAIN, EXPORTED):
            queue = Queue(path)
            self.account.queues.append(queue)
            await self._make_plain(queue)
            await self._register_all(queue)
        await self._ask_for_export()
        queue = Queue(REPLICATED)
        self.account.queues.append(queue)
        await self._make_replicated(queue)
        await self._register_all(queue)
        for number in range(NEIGHBOURS):
            await self._home.create_queue(f"//tmp/neighbour-{number}", auto_trim_config={"enable": True})

    async def work(self, stop: asyncio.Event) -> None:
        """Do this and that until told to stop."""
        plain, exported, replicated = self.account.queues
        usual: list[Callable[[], Awaitable[None]]] = [
            lambda: self._write(self._choose.choice(self.account.queues)),
            lambda: self._read(self._choose.choice(self.account.queues)),
        ]
        unusual: list[Callable[[], Awaitable[None]]] = [
            lambda: self._rewind(self._choose.choice(self.account.queues)),
            lambda: self._rewind(self._choose.choice(self.account.queues)),
            lambda: self._change_registration(self._choose.choice(self.account.queues)),
            lambda: self._retain(plain),
            self._provoke,
            self._provoke,
            lambda: self._flush(exported),
            lambda: self._flush(exported),
        ]
        rare: list[Callable[[], Awaitable[None]]] = [
            lambda: self._make_plain(plain),
            lambda: self._reshard(exported),
            self._make_directory_anew,
            lambda: self._replace_replica(replicated),
        ]
        next_rare = time.monotonic() + self._choose.uniform(*_RARE_SECONDS)
        while not stop.is_set():
            action = self._choose.choice(usual if self._choose.random() < 0.85 else unusual)
            if time.monotonic() > next_rare:
                next_rare = time.monotonic() + self._choose.uniform(*_RARE_SECONDS)
                action = self._choose.choice(rare)
            async with self._turn:
                try:
                    await action()
                except AssertionError as error:  # of `User`: the cluster has refused
                    self.refusals.append(str(error))
            self.actions += 1
            await asyncio.sleep(_PAUSE)

    async def judge(self) -> None:
        """Judge the trims since last time."""
        replicated, exported = self.account.queues[2], self.account.queues[1]
        async with self._turn:
            await self._observe_replicas(replicated)
            trims = await self._stage.new_trims()
            if any(trim.object_id in exported.storages for trim in trims):
                exported.exported = await self._read_exports()
        for trim in trims:
            self.account.judge(trim)

    # Making

    async def _make_plain(self, queue: Queue) -> None:
        """The queue, in place of what was there."""
        is_new = not queue.storages
        if not is_new:
            await self._home.run("remove", path=queue.path)
        await self._home.create_queue(queue.path, tablet_count=PARTITIONS, auto_trim_config={"enable": True})
        self._new_storage(queue, await self._id_of(self._home, queue.path))
        now = time.monotonic()
        queue.retained.set(now, now, 0)
        if not is_new and self._choose.random() < 0.7:
            await self._start_over(queue)

    async def _start_over(self, queue: Queue) -> None:
        """Have consumers read a queue that was made again from its beginning; else they wait until it is as long."""
        for name in self._registered(queue):
            for partition in range(self._tablet_count(queue)):
                await self._advance(queue, name, partition, 0)

    async def _make_replicated(self, queue: Queue) -> None:
        if queue.storages:
            await self._home.run("remove", path=queue.path)
        attributes = {"dynamic": True, "schema": _SCHEMA, "auto_trim_config": {"enable": True}}
        await self._home.run("create", type="replicated_table", path=queue.path, attributes=attributes)
        for name, mode in (("pythia", "sync"), ("hume", "async")):
            await self._make_replica(queue, name, mode)
        await self._home.run("mount_table", path=queue.path)
        queue.written = self._shifted = 0

    async def _make_replica(self, queue: Queue, name: str, mode: str) -> None:
        replica = {"table_path": queue.path, "cluster_name": name, "replica_path": REPLICA, "mode": mode}
        answer = await self._home.run("create", type="table_replica", attributes={**replica, "enabled": True})
        self._ids[name] = _value(answer, "object_id")
        user = self._stage.users[name]
        await user.run("remove", path=REPLICA, force=True)
        copy = {"dynamic": True, "schema": _SCHEMA, "upstream_replica_id": self._ids[name]}
        await user.run("create", type="table", path=REPLICA, attributes=copy)
        await user.run("mount_table", path=REPLICA)
        self._new_storage(queue, await self._id_of(user, REPLICA))

    async def _replace_replica(self, queue: Queue) -> None:
        """The asynchronous replica is made again and lacks what was written before; later everything is."""
        self._shifted += 1
        if self._shifted % 3 == 0:
            await self._make_replicated(queue)
            await self._start_over(queue)
            return
        await self._home.run("remove", path=f"#{self._ids['hume']}")
        await self._make_replica(queue, "hume", "async")

    def _new_storage(self, queue: Queue, object_id: str) -> None:
        queue.storages[object_id] = Storage(object_id)

    async def _id_of(self, user: User, path: str) -> str:
        return str(_value(await user.run("get", path=f"{path}/@id"), "value"))

    async def _register_all(self, queue: Queue) -> None:
        for name in CONSUMERS:
            queue.consumers[name] = Consumer(Timeline([(FOR_EVER, FOR_EVER, True)]))
            await self._register(queue, name)

    async def _register(self, queue: Queue, name: str) -> None:
        await self._home.run("register_queue_consumer", queue_path=queue.path, consumer_path=name, vital=True)

    async def _ask_for_export(self) -> None:
        exported = self.account.queues[1]
        exported.exported, exported.export_begun = set(), float("inf")
        await self._home.run("create", type="map_node", path=DIRECTORY)
        object_id = await self._id_of(self._home, exported.path)
        await self._home.set(f"{DIRECTORY}/@queue_static_export_destination", {"originating_queue_id": object_id})
        config = {"all": {"export_directory": DIRECTORY, "export_period": EXPORT_MILLISECONDS}}
        await self._home.set(f"{exported.path}/@static_export_config", config)
        exported.export_begun = time.monotonic()

    # Usual

    def _tablet_count(self, queue: Queue) -> int:
        return 1 if queue.path == REPLICATED else PARTITIONS

    async def _write(self, queue: Queue) -> None:
        """Some rows, each with a number of its own."""
        partition, count = self._choose.randrange(self._tablet_count(queue)), self._choose.randint(1, 8)
        numbers = range(self._number, self._number + count)
        self._number += count
        await self._home.insert(queue.path, [{"data": str(one), "$tablet_index": partition} for one in numbers])
        place = self._end(queue, partition)
        queue.places.update({number: (partition, place + i) for i, number in enumerate(numbers)})
        if queue.path == REPLICATED:
            queue.written += count
        else:
            storage = list(queue.storages.values())[-1]
            storage.rows[partition].update({place + i: number for i, number in enumerate(numbers)})

    def _end(self, queue: Queue, partition: int) -> int:
        """Index after the last row in the queue."""
        if queue.path == REPLICATED:
            return queue.written
        return max(list(queue.storages.values())[-1].rows[partition], default=-1) + 1

    async def _read(self, queue: Queue) -> None:
        for name in self._registered(queue):
            partition = self._choose.randrange(self._tablet_count(queue))
            offset = self._end(queue, partition) - self._choose.randrange(6)
            if offset > self._offset(queue, name, partition):
                await self._advance(queue, name, partition, offset)

    def _registered(self, queue: Queue) -> list[str]:
        return [name for name, consumer in queue.consumers.items() if consumer.vital.changes[-1][2]]

    async def _rewind(self, queue: Queue) -> None:
        name, partition = (
            self._choose.choice(self._registered(queue)),
            self._choose.randrange(self._tablet_count(queue)),
        )
        offset = self._offset(queue, name, partition) - self._choose.randint(1, 10)
        if offset > 0:
            await self._advance(queue, name, partition, offset)

    def _offset(self, queue: Queue, name: str, partition: int) -> int:
        return queue.consumers[name].offsets[partition].changes[-1][2]

    async def _advance(self, queue: Queue, name: str, partition: int, offset: int) -> None:
        sent = time.monotonic()
        await self._home.advance(name, queue.path, partition, offset)
        queue.consumers[name].offsets[partition].set(sent, time.monotonic(), offset)

    # Unusual

    async def _change_registration(self, queue: Queue) -> None:
        """The fickle consumer goes, or comes back to where it was."""
        name, sent = CONSUMERS[1], time.monotonic()
        vital = queue.consumers[name].vital
        if vital.changes[-1][2]:
            vital.set(sent, sent, False)
            await self._home.run("unregister_queue_consumer", queue_path=queue.path, consumer_path=name)
        else:
            await self._register(queue, name)
            vital.set(sent, time.monotonic(), True)

    async def _retain(self, queue: Queue) -> None:
        sent, count = time.monotonic(), self._choose.choice((0, 0, 5, 50))
        await self._home.set(f"{queue.path}/@auto_trim_config", {"enable": True, "retained_rows": count})
        queue.retained.set(sent, time.monotonic(), count)

    async def _provoke(self) -> None:
        """Give a neighbour an attribute that makes no sense."""
        value, path = self._choose.choice(_HUGE), f"//tmp/neighbour-{self._choose.randrange(NEIGHBOURS)}"
        name, document = self._choose.choice(
            [
                ("auto_trim_config", {"enable": True, "retained_lifetime_duration": value}),
                ("auto_trim_config", {"enable": True, "retained_rows": value}),
                ("auto_trim_config", value),
                ("static_export_config", {"e": {"export_directory": DIRECTORY, "export_period": value}}),
                ("static_export_config", {"e": {"export_directory": value, "export_ttl": value}}),
                (
                    "static_export_config",
                    {"e": {"export_directory": "//tmp", "export_period": 1000, "export_ttl": value}},
                ),
                ("static_export_config", {"e": value}),
                ("queue_agent_banned", value),
                ("queue_profiling_tag", value),
            ]
        )
        await self._home.set(f"{path}/@{name}", document)

    async def _flush(self, queue: Queue) -> None:
        await self._home.run("freeze_table", path=queue.path)
        await self._home.run("unfreeze_table", path=queue.path)

    async def _reshard(self, queue: Queue) -> None:
        """Drop the second tablet, whose rows somebody gives up, and add another, which has the index of the first."""
        storage = list(queue.storages.values())[-1]
        trim = {"path": queue.path, "tablet_index": 1, "trimmed_row_count": self._end(queue, 1)}
        await self._home.run("trim_rows", **trim)
        await self._home.run("unmount_table", path=queue.path)
        try:
            await self._home.run("reshard_table", path=queue.path, tablet_count=1)
            storage.rows[1], storage.trimmed[1] = {}, 0
            await self._home.run("reshard_table", path=queue.path, tablet_count=2)
            self.reshards += 1
        finally:
            await self._home.run("mount_table", path=queue.path)

    async def _make_directory_anew(self) -> None:
        """All that was exported is to be exported again, as far as it is still there."""
        await self._home.run("remove", path=DIRECTORY, recursive=True)
        await self._ask_for_export()

    # Looking

    async def _observe_replicas(self, queue: Queue) -> None:
        """Note which rows the replicas have that are there now."""
        for name, user in self._stage.users.items():
            object_id = await self._id_of(user, REPLICA)
            storage = queue.storages.get(object_id)
            if storage is None:
                continue
            after = max(storage.rows[0], default=-1)
            for row in await self._select(name, f"[$row_index], data from [#{object_id}] where [$row_index] > {after}"):
                storage.rows[0][int(row["$$row_index"])] = int(row["data"])

    async def _read_exports(self) -> set[int]:
        names = _value(await self._home.run("list", path=DIRECTORY), "value")
        found: set[int] = set()
        for name in names:
            for row in await self._rows("read_table", {"path": f"{DIRECTORY}/{name}"}):
                found.add(int(row["data"]))
        return found

    async def _select(self, cluster: str, query: str) -> list[Mapping[str, Any]]:
        return await self._rows("select_rows", {"query": query}, cluster)

    async def _rows(self, command: str, parameters: Mapping[str, Any], cluster: str = "pythia") -> list[Any]:
        url = URL(f"http://{self._stage.addresses[cluster]}/api/v4/{command}")
        headers = {"X-YT-Parameters": json.dumps({**parameters, "output_format": "json"})}
        async with self._stage.session.get(url, headers=headers) as response:
            text = await response.text()
            assert response.status == 200, text
        return [json.loads(line) for line in text.splitlines()]


def _value(answer: Any, key: str) -> Any:
    return answer[key] if isinstance(answer, Mapping) and key in answer else answer
