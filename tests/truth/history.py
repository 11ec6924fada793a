"""All that happens to a queue and around it, and the judgement of every trim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from queue_agent.core.state.trim_config import AutoTrimConfig
from queue_agent.core.values.refs import CrossClusterRef
from tests.truth.tables import Event, Replicated, Row, Table, Tables, timestamp_at

CONSUMERS: Final = tuple(CrossClusterRef("hume", f"//c{number}") for number in range(2))
EXPORTS: Final = ("hourly", "daily")

_POLICIES: Final[tuple[dict[str, Any], ...]] = (
    {"enable": True},
    {"enable": True},
    {"enable": True, "retained_rows": 2},
    {"enable": True, "retained_lifetime_duration": 5_000},
    {"enable": True, "retained_rows": 1, "retained_lifetime_duration": 20_000},
    {"enable": False},
)
_AGES: Final = (0, 0, 0, 0, 6, 30, None)
_WAITS: Final = (1, 2, 8, 70)
_STEPS: Final = (-4000, -90, -5, 5, 90, 4000)


@dataclass(frozen=True, slots=True)
class Facts:
    """What protected rows at one moment."""

    queue_id: str
    banned: bool
    policy: AutoTrimConfig
    storages: frozenset[str]
    """Ids of the tables whose rows are the queue's."""

    is_governed: bool
    """Whether a vital consumer or an export says which rows are needed no more."""

    offsets: Mapping[CrossClusterRef, Mapping[int, int]]
    """Of vital consumers."""

    exported: Mapping[str, Mapping[str, frozenset[int]]]
    """By id of the table, then by directory of an export in force: the rows that it has."""


class LostRows(AssertionError):
    """A trim took rows that somebody needs."""


class History:
    """The truth about a queue, its consumers, exports and replicas, as it goes on."""

    def __init__(self, is_replicated: bool, partition_count: int) -> None:
        self.tables = Tables(is_replicated, partition_count)
        self.tables.queue.policy = {"enable": True}
        self.agent_offset = 0
        """Seconds by which the agent's clock is wrong."""

        self.offsets: dict[CrossClusterRef, dict[int, int]] = {consumer: {} for consumer in CONSUMERS}
        self.offset_writes = dict.fromkeys(CONSUMERS, 1)
        """How often the offsets of each were written."""

        self.registered = {CONSUMERS[0]: True}
        """Whether vital."""

        self._windows: dict[CrossClusterRef, list[Facts]] = {}
        """By table that an agent is about to trim: what there was at every moment since it began to ask."""

        self.trimmed_row_count = 0

    def fill(self, row_count: int) -> None:
        """Rows in every partition, most of which everybody has read."""
        for partition in self.tables.partitions:
            self.tables.write(partition, row_count, age=10)
            for consumer in CONSUMERS:
                self.offset_writes[consumer] += 1
                self.offsets[consumer][partition] = row_count - 1

    @property
    def agent_now(self) -> datetime:
        return datetime.fromtimestamp(self.tables.second + self.agent_offset, UTC)

    # What happens

    def happen(self, event: Event) -> None:
        """Let something happen, if it can."""
        name, a, b, c = event
        getattr(self, f"_{name}")(a, b, c)
        for facts in self._windows.values():
            facts.append(self._facts())

    def _partition(self, a: int) -> int:
        return a % self.tables.partition_count

    def _storage(self, a: int) -> Table:
        storages = list(self.tables.storages())
        return storages[a % len(storages)]

    def _written_offsets(self, a: int) -> dict[int, int]:
        """Offsets of a consumer that are about to be written."""
        consumer = CONSUMERS[a % 2]
        self.offset_writes[consumer] += 1
        return self.offsets[consumer]

    def _write(self, a: int, b: int, c: int) -> None:
        self.tables.write(self._partition(a), 1 + b % 6, _AGES[c % len(_AGES)])

    def _read(self, a: int, b: int, c: int) -> None:
        """A consumer goes on, if it can; one that was left past the end stays there."""
        index, offsets = self._partition(a), self._written_offsets(b)
        offsets[index] = max(offsets.get(index, 0), self.tables.end(index) - c % 5)

    def _rewind(self, a: int, b: int, c: int) -> None:
        index, offsets = self._partition(a), self._written_offsets(b)
        offset = offsets.get(index, 0) - 1 - c % 8
        if offset > 0:
            offsets[index] = offset
        else:
            offsets.pop(index, None)

    def _register(self, a: int, b: int, c: int) -> None:
        self.registered[CONSUMERS[a % 2]] = b % 4 != 0

    def _unregister(self, a: int, b: int, c: int) -> None:
        self.registered.pop(CONSUMERS[a % 2], None)

    def _set_policy(self, a: int, b: int, c: int) -> None:
        self.tables.queue.policy = dict(_POLICIES[a % len(_POLICIES)])
        self.tables.queue.revision += 1

    def _ban(self, a: int, b: int, c: int) -> None:
        self.tables.queue.banned = a % 3 == 0
        self.tables.queue.revision += 1

    def _wait(self, a: int, b: int, c: int) -> None:
        self.tables.second += _WAITS[a % len(_WAITS)]

    def _step_clock(self, a: int, b: int, c: int) -> None:
        """The agent's clock is set, wrongly or rightly."""
        self.agent_offset = _STEPS[a % len(_STEPS)] if b % 2 else 0

    def _make_anew(self, a: int, b: int, c: int) -> None:
        """The queue is dropped and made again, with its attributes."""
        if isinstance(self.tables.queue, Replicated):
            return
        old = self.tables.queue
        self.tables.partition_count = 1 + a % 3
        new = self.tables.new_table(old.ref)
        new.policy, new.exports, new.banned, new.revision = old.policy, old.exports, old.banned, old.revision + 1
        self.tables.queue = new
        for directory in self.tables.directories.values():
            directory.exported = set()

    def _reshard(self, a: int, b: int, c: int) -> None:
        if isinstance(self.tables.queue, Table):
            self.tables.reshard(1 + a % 3, keep_ids=b % 2 == 0)

    def _replace_tablet(self, a: int, b: int, c: int) -> None:
        """The last partition is resharded away and made again, with rows of its own."""
        count = self.tables.partition_count
        if isinstance(self.tables.queue, Table) and count > 1:
            self.tables.reshard(count - 1, keep_ids=a % 2 == 0)
            self.tables.reshard(count, keep_ids=a % 2 == 0)
            self.tables.write(count - 1, 1 + b % 6, _AGES[c % len(_AGES)])

    def _flush(self, a: int, b: int, c: int) -> None:
        self.tables.flush(self._storage(a))

    def _send(self, a: int, b: int, c: int) -> None:
        """An asynchronous replica gets what it has not got."""
        queue = self.tables.queue
        if isinstance(queue, Replicated):
            replicas = [replica for replica in queue.replicas.values() if not replica.is_sync]
            if replicas:
                self.tables.send(replicas[a % len(replicas)], self._partition(b))

    def _replace_replica(self, a: int, b: int, c: int) -> None:
        """The asynchronous replica is dropped and made again; it misses what was written before."""
        queue = self.tables.queue
        if isinstance(queue, Replicated):
            for replica in [one for one in queue.replicas.values() if not one.is_sync]:
                del queue.replicas[replica.id]
            self.tables.replicate(CrossClusterRef("hume", "//replica"), is_sync=False)
            queue.revision += 1

    def _drop_replica(self, a: int, b: int, c: int) -> None:
        """The asynchronous replica is none any more, and its table stays."""
        queue = self.tables.queue
        if isinstance(queue, Replicated):
            for replica in [one for one in queue.replicas.values() if not one.is_sync]:
                del queue.replicas[replica.id]
            queue.revision += 1

    def _export(self, a: int, b: int, c: int) -> None:
        """Somebody asks for an export, into a directory that may have been used before."""
        table = self._storage(a)
        table.exports = {**table.exports, EXPORTS[b % 2]: f"//{table.ref.cluster}-{b % 2}-{c % 2}"}
        table.revision += 1

    def _stop_export(self, a: int, b: int, c: int) -> None:
        table = self._storage(a)
        table.exports = {name: path for name, path in table.exports.items() if name != EXPORTS[b % 2]}
        table.revision += 1

    def _make_directory_anew(self, a: int, b: int, c: int) -> None:
        free = sorted(path for path, one in self.tables.directories.items() if not one.is_locked)
        if free:
            self.tables.make_directory(free[a % len(free)])

    def _set_progress_back(self, a: int, b: int, c: int) -> None:
        """An operator wants rows exported again: the newest of one partition, from the end of a chunk on."""
        table = self._storage(a)
        for path in table.exports.values():
            directory = self.tables.directory(path)
            progress = directory.progress
            if directory.is_locked or not isinstance(progress, dict) or progress["queue_object_id"] != table.object_id:
                continue
            index = b % len(table.tablets)
            stored, tablet = progress["tablets"].get(str(index)), table.tablets[index]
            last = [i for i, chunk in enumerate(tablet.chunks) if stored and chunk.id == stored["last_chunk"]]
            if not last:
                continue
            wanted = tablet.chunks[max(0, last[0] - c % 2) : last[0] + 1]
            before = tablet.chunks[max(0, last[0] - c % 2) - 1] if last[0] > c % 2 else None
            directory.exported -= {row.number for chunk in wanted for row in chunk.rows}
            count = tablet.rows.index(wanted[0].rows[0])
            edited = {**stored, "row_count": count, "last_chunk": before.id if before else "0-0-0-0"}
            directory.progress = {**progress, "tablets": {**progress["tablets"], str(index): edited}}

    # What agents do

    def trim_begins(self, table: CrossClusterRef) -> None:
        """An agent begins to ask once more what a trim rests on; a change may come too late for it from now on."""
        self._windows[table] = [self._facts()]

    def pass_ends(self) -> None:
        """What the agent has asked does not count for another trim."""
        self._windows.clear()

    def trim(self, object_id: str, index: int, row_count: int) -> None:
        """Do what an agent asks for; LostRows if a row goes that was protected all the while."""
        table = self.tables.find_table(object_id)
        assert table is not None
        tablet = table.tablets[index]
        facts = [*self._windows.get(table.ref, ()), self._facts()]
        if row_count <= tablet.lower:
            return
        gone = list(enumerate(tablet.rows))[tablet.lower : row_count]
        for reason in (
            self._find_table_reason(facts, table),
            *(self._find_row_reason(facts, table, index, number, row, tablet.upper) for number, row in gone),
        ):
            if reason is not None:
                raise LostRows(
                    f"{table.ref} ({object_id}) partition {index} trimmed from {tablet.lower} to {row_count}: {reason}"
                )
        self.trimmed_row_count += len(gone)
        self.tables.trim(tablet, row_count)

    def _facts(self) -> Facts:
        queue = self.tables.queue
        vital = [consumer for consumer, is_vital in self.registered.items() if is_vital]
        return Facts(
            queue.object_id,
            queue.banned,
            AutoTrimConfig.parse(queue.policy),
            frozenset(table.object_id for table in self.tables.storages()),
            bool(vital) or any(table.exports for table in self.tables.storages()),
            {consumer: dict(self.offsets[consumer]) for consumer in vital},
            {
                table.object_id: {
                    path: frozenset(self.tables.directory(path).exported) for path in table.exports.values()
                }
                for table in self.tables.storages()
            },
        )

    def _find_table_reason(self, facts: list[Facts], table: Table) -> str | None:
        """Why no row of the table might go at all."""
        if all(table.object_id not in one.storages for one in facts):
            return "its rows are not those of the queue"
        if all(one.banned for one in facts):
            return "the queue is banned"
        if all(not one.policy.enable for one in facts):
            return "trimming is off"
        if not any(one.is_governed for one in facts):
            return "no vital consumer is registered"
        return None

    def _find_row_reason(
        self, facts: list[Facts], table: Table, index: int, number: int, row: Row, upper: int
    ) -> str | None:
        """Who needs a row, at every moment since the agent began to ask."""
        is_replica = isinstance(self.tables.queue, Replicated)
        partition, place = (row.partition, row.index) if is_replica else (index, number)
        name = f"row {row.number} (index {number} here, {place} in the queue)"
        for consumer in CONSUMERS:
            if all(consumer in one.offsets and one.offsets[consumer].get(partition, 0) <= place for one in facts):
                return f"{name} was not read by {consumer}, which is at {facts[-1].offsets[consumer].get(partition, 0)}"
        for path in {path for one in facts for path in one.exported.get(table.object_id, {})}:
            if all(row.number not in one.exported.get(table.object_id, {}).get(path, {row.number}) for one in facts):
                return f"{name} was not exported to {path}"
        if all(one.policy.retained_rows is not None and number >= upper - one.policy.retained_rows for one in facts):
            return f"{name} is one of the last rows, which are retained"
        if all(self._is_young(one, row) for one in facts):
            return f"{name} is too young, or of unknown age"
        return None

    def _is_young(self, facts: Facts, row: Row) -> bool:
        lifetime = facts.policy.retained_lifetime_duration
        if lifetime is None:
            return False
        limit = timestamp_at(self.tables.second - int(lifetime.total_seconds()))
        return row.timestamp is None or row.timestamp >= limit
