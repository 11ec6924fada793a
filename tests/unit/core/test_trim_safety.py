"""No history makes trimming lose a row: a queue and its readers at random, and an agent that knows them late.

The machine has a truth (the table, offsets, registrations, attributes) and what the agent knows of it: snapshots and
state rows of some earlier time. Between the plan and the last look at what it depends on, the truth goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from queue_agent.core.consumer_snapshots import QueueRowAnswers, build_sub_snapshot
from queue_agent.core.error_info import Origin
from queue_agent.core.export_progress import ExportProgress
from queue_agent.core.observed import ConsumerOffset
from queue_agent.core.rates import Counters
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.rows import ConsumerRow, QueueRow, Registration
from queue_agent.core.snapshots import ConsumerSnapshot, ConsumerView, QueuePartition, QueueSnapshot, QueueView, Role
from queue_agent.core.timestamps import timestamp_of
from queue_agent.core.trim import plan_trims
from queue_agent.core.trim_ages import RowAges, RowFound, ages_at, learn, lifetime_limit, next_chunk
from queue_agent.core.trim_config import AutoTrimConfig
from queue_agent.core.trim_confirmation import FreshLook, confirm_plan, partitions_to_trim, vital_consumers
from queue_agent.core.trim_doubts import find_trim_doubt
from queue_agent.core.trim_plan import TrimPlan

START = datetime(2025, 1, 23, 13, 42, tzinfo=UTC)
ORIGIN = Origin("agent", 1, 2, "Controller:0", 3, "1-2-3-4", 5, START)
QUEUE = CrossClusterRef("pythia", "//tmp/q")
CONSUMERS = [CrossClusterRef("hume", f"//tmp/c{number}") for number in range(2)]
PARTITIONS = range(1)
PASS_PERIOD = timedelta(seconds=1)

partition_indexes = st.sampled_from(PARTITIONS)
consumers = st.sampled_from(CONSUMERS)
policies = st.fixed_dictionaries(
    {
        "enable": st.sampled_from([True] * 9 + [False]),
        "retained_rows": st.sampled_from([None, None, 1, 3]),
        "retained_lifetime_duration": st.sampled_from([None, None, None, 0, 3_000, 10_000]),
    }
)


@dataclass
class Partition:
    """Rows by index, trimmed ones included, with the second each was written at; None: not known."""

    seconds: list[int | None] = field(default_factory=list)
    lower: int = 0

    @property
    def upper(self) -> int:
        return len(self.seconds)


@dataclass
class Table:
    """The queue's table; made anew it is another one."""

    object_id: str
    partitions: list[Partition] = field(default_factory=lambda: [Partition() for _ in PARTITIONS])


class Truth:
    """All there is, and everything that can happen to it."""

    def __init__(self) -> None:
        self.second = 1000
        self.tables = 1
        self.table = Table("0-0-0-1")
        self.policy: dict[str, Any] = {"enable": True}
        self.banned = False
        self.exports: dict[str, dict[int, int]] = {}
        self.offsets: dict[CrossClusterRef, dict[int, int]] = {consumer: {} for consumer in CONSUMERS}
        self.vital: dict[CrossClusterRef, bool] = {CONSUMERS[0]: True}

    @property
    def now(self) -> datetime:
        return START + timedelta(seconds=self.second)

    def change(self, data: st.DataObject) -> None:
        """Something happens."""
        often = [self.write, self.read, self.rewind] * 3
        seldom = [self.register, self.register, self.wait, self.wait, self.set_policy, self.export, self.export]
        rarely = [self.make_anew, self.ban, self.unban]
        happen = data.draw(st.sampled_from([*often, *seldom, *rarely]), label="what happens")
        happen(data)

    def write(self, data: st.DataObject) -> None:
        partition = self.table.partitions[data.draw(partition_indexes)]
        for _ in range(data.draw(st.integers(1, 5))):
            # Commits come to a tablet in another order than their timestamps have.
            partition.seconds.append(
                data.draw(st.integers(self.second - 8, self.second) | st.sampled_from([None, self.second]))
            )

    def read(self, data: st.DataObject) -> None:
        """A consumer goes on, if it can; one that was left ahead of the end stays there."""
        index, consumer = data.draw(partition_indexes), data.draw(consumers)
        offset, upper = self.offsets[consumer].get(index, 0), self.table.partitions[index].upper
        self.offsets[consumer][index] = max(offset, upper - data.draw(st.integers(0, 3)))

    def rewind(self, data: st.DataObject) -> None:
        index, consumer = data.draw(partition_indexes), data.draw(consumers)
        offset = data.draw(st.integers(0, self.offsets[consumer].get(index, 0)))
        if offset > 0:
            self.offsets[consumer][index] = offset
        else:
            self.offsets[consumer].pop(index, None)

    def register(self, data: st.DataObject) -> None:
        consumer, vital = data.draw(consumers), data.draw(st.sampled_from([True, True, False, None]))
        if vital is None:
            self.vital.pop(consumer, None)
        else:
            self.vital[consumer] = vital

    def export(self, data: st.DataObject) -> None:
        """Exports come, go on and go."""
        name = data.draw(st.sampled_from(["daily", "hourly"]))
        if name in self.exports and data.draw(st.booleans()):
            del self.exports[name]
            return
        progress = self.exports.setdefault(name, {})
        index = data.draw(partition_indexes)
        exported = self.table.partitions[index].upper - data.draw(st.integers(0, 3))
        progress[index] = max(progress.get(index, 0), exported)

    def set_policy(self, data: st.DataObject) -> None:
        self.policy = data.draw(policies)

    def make_anew(self, data: st.DataObject) -> None:
        self.tables += 1
        self.table = Table(f"0-0-0-{self.tables}")
        self.exports = {name: {} for name in self.exports}

    def ban(self, data: st.DataObject) -> None:
        self.banned = True

    def unban(self, data: st.DataObject) -> None:
        self.banned = False

    def wait(self, data: st.DataObject) -> None:
        self.second += data.draw(st.sampled_from([1, 3, 8, 15, 45]))

    def row(self) -> QueueRow:
        return QueueRow(
            QUEUE,
            row_revision=1,
            object_type="table",
            dynamic=True,
            sorted=False,
            auto_trim_config=self.policy,
            static_export_config={name: {} for name in self.exports} or None,
            queue_agent_stage="production",
            object_id=self.table.object_id,
            queue_agent_banned=self.banned,
        )

    def registrations(self) -> list[Registration]:
        return [Registration(QUEUE, consumer, vital) for consumer, vital in self.vital.items()]

    def queue_view(self) -> QueueView:
        object_id = self.table.object_id
        partitions = [
            QueuePartition(f"{object_id}-{i}", "mounted", None, None, one.lower, one.upper, START, Counters())
            for i, one in enumerate(self.table.partitions)
        ]
        return QueueView(
            partitions, has_timestamp_column=True, has_cumulative_data_weight_column=False, seen_at=self.now
        )

    def trim(self, object_id: str, index: int, target: int) -> None:
        """What the agent asks for; against all that must not happen."""
        assert object_id == self.table.object_id, "rows of another table"
        partition = self.table.partitions[index]
        assert partition.lower < target <= partition.upper
        config = AutoTrimConfig.parse(self.policy)
        assert config.enable
        assert not self.banned
        if config.retained_rows is not None:
            assert target <= partition.upper - config.retained_rows
        if config.retained_lifetime_duration is not None:
            limit = self.second - config.retained_lifetime_duration.total_seconds()
            gone = partition.seconds[partition.lower : target]
            assert all(second is not None and second < limit for second in gone), "a row too young, or of unknown age"
        for progress in self.exports.values():
            assert target <= progress.get(index, 0)
        partition.lower = target


class Knowledge:
    """What the agent has seen, some of it a while ago."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self.row = truth.row()
        self.registrations = truth.registrations()
        self.state_instant = truth.now
        self.queue = QueueSnapshot(self.row, Role.LEADING, 1, truth.now, truth.queue_view())
        self.consumers: dict[CrossClusterRef, ConsumerSnapshot] = {}
        self.ages: dict[int, RowAges] = {}

    def read_state(self) -> None:
        """The agent pass."""
        self.row = self._truth.row()
        self.registrations = self._truth.registrations()
        self.state_instant = self._truth.now

    def look_at_consumer(self, consumer: CrossClusterRef) -> None:
        """The pass of a consumer: its offsets of now, compared with the latest snapshot of the queue."""
        assert self.queue.view is not None
        offsets = {i: ConsumerOffset(i, offset, 0) for i, offset in self._truth.offsets[consumer].items()}
        standing = build_sub_snapshot(None, self.queue.view, offsets, QueueRowAnswers(), self._truth.now)
        view = ConsumerView({QUEUE: standing})
        self.consumers[consumer] = ConsumerSnapshot(ConsumerRow(consumer), Role.LEADING, 1, self._truth.now, view)

    def catch_up(self) -> None:
        """A pass of everybody."""
        self.read_state()
        self.plan()
        for consumer in CONSUMERS:
            self.look_at_consumer(consumer)

    def plan(self) -> TrimPlan | None:
        """The pass of the queue, as far as the plan."""
        self.queue = QueueSnapshot(self.row, Role.LEADING, 1, self._truth.now, self._truth.queue_view())
        exports = {name: ExportProgress(dict(progress)) for name, progress in self._truth.exports.items()}
        if self.row.queue_agent_banned or exports.keys() != (self.row.static_export_config or {}).keys():
            return None  # such a queue is not looked at, or its exports are not known yet
        registrations, policy = self.registrations, self.row.auto_trim_config
        return plan_trims(self.queue, policy, registrations, self.consumers, exports, ORIGIN)

    def hold_young(self, plan: TrimPlan) -> TrimPlan:
        """Ask the table for the ages of its rows."""
        lifetime = plan.config.retained_lifetime_duration
        if lifetime is None:
            return plan
        limit = lifetime_limit(timestamp_of(self._truth.now), lifetime)
        ages: dict[int, RowAges] = {}
        for index in partitions_to_trim(plan):
            seen = plan.partitions[index].partition
            target = plan.partitions[index].trim.target
            assert isinstance(seen, QueuePartition)
            assert target is not None
            known = ages_at(self.ages.get(index), seen.tablet_id, limit, seen.lower_row_index)
            chunk = next_chunk(known, target)
            if chunk is not None and self.queue.row.object_id == self._truth.table.object_id:
                known = learn(known, chunk, self._find_young_row(index, chunk, limit))
            ages[index] = self.ages[index] = known
        return plan.with_ages(ages)

    def _find_young_row(self, index: int, chunk: range, limit: int) -> RowFound | None:
        seconds = self._truth.table.partitions[index].seconds
        for row_index in chunk:
            second = seconds[row_index]
            timestamp = None if second is None else timestamp_of(START + timedelta(seconds=second))
            if timestamp is None or timestamp >= limit or row_index == chunk[-1]:
                return RowFound(row_index, timestamp)
        return None

    def confirm(self, plan: TrimPlan) -> TrimPlan:
        """The last look, at everything as it is now."""
        truth = self._truth
        look = FreshLook(
            rows=[truth.row(), self.row],
            upper_row_indexes={i: one.upper for i, one in enumerate(truth.table.partitions)},
            next_row_indexes={consumer: dict(truth.offsets[consumer]) for consumer in CONSUMERS},
            exports={name: ExportProgress(dict(progress)) for name, progress in truth.exports.items()},
            mapping=None,
            replica_rows=[],
            aligned_with=[],
        )
        doubt = find_trim_doubt(self.state_instant, self.registrations, self.consumers, PASS_PERIOD, truth.now, ORIGIN)
        if doubt is not None:
            return TrimPlan(QUEUE)
        return confirm_plan(plan, self.queue.row, None, self.registrations, look, ORIGIN)


class TrimSafety(RuleBasedStateMachine):
    """Whatever happens, and whenever the agent hears of it, what is needed stays."""

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        self.truth = Truth()
        self.truth.policy = data.draw(policies)
        for _ in range(3):
            self.truth.write(data)
            self.truth.read(data)
        self.truth.second += 15
        self.knowledge = Knowledge(self.truth)
        self.knowledge.catch_up()

    @rule(data=st.data())
    def something_happens(self, data: st.DataObject) -> None:
        self.truth.change(data)

    @rule()
    def the_agent_reads_its_state(self) -> None:
        self.knowledge.read_state()

    @rule(consumer=consumers)
    def a_consumer_is_looked_at(self, consumer: CrossClusterRef) -> None:
        self.knowledge.look_at_consumer(consumer)

    @rule()
    def everybody_is_up_to_date(self) -> None:
        self.knowledge.catch_up()

    @rule(data=st.data(), fresh=st.booleans(), lasting=st.integers(0, 2))
    def the_queue_is_trimmed(self, data: st.DataObject, fresh: bool, lasting: int) -> None:
        """A pass of the queue, in which so much happens between its steps."""
        knowledge, truth = self.knowledge, self.truth
        if fresh:
            truth.banned = False
            knowledge.catch_up()
        plan = knowledge.plan()
        if plan is None or plan.error is not None:
            return
        for step in (knowledge.hold_young, knowledge.confirm):
            for _ in range(lasting):
                truth.change(data)
                if data.draw(st.booleans(), label="the agent hears of it"):
                    knowledge.read_state()
            before = plan.trims
            plan = step(plan)
            for index, trim in plan.trims.items():
                assert (trim.target or 0) <= (before[index].target or 0), "a target was raised"
        self._carry_out(plan)

    def _carry_out(self, plan: TrimPlan) -> None:
        object_id = self.knowledge.queue.row.object_id
        assert object_id is not None
        for index in partitions_to_trim(plan):
            target = plan.trims[index].target
            assert target is not None
            for consumer in vital_consumers(self.knowledge.registrations):
                assert target <= self.truth.offsets[consumer].get(index, 0), f"{consumer} has not read that"
            self.truth.trim(object_id, index, target)


TestTrimSafety = TrimSafety.TestCase
TestTrimSafety.settings = settings(max_examples=300, stateful_step_count=20)


def test_the_machine_trims_when_all_is_well() -> None:
    truth = Truth()
    truth.table.partitions[0].seconds = [900, 910, 920]
    truth.policy = {"enable": True, "retained_lifetime_duration": 5_000}
    truth.offsets[CONSUMERS[0]] = {0: 2}
    knowledge = Knowledge(truth)
    knowledge.look_at_consumer(CONSUMERS[0])
    plan = knowledge.plan()
    assert plan is not None
    plan = knowledge.confirm(knowledge.hold_young(plan))
    assert {index: trim.target for index, trim in plan.trims.items()} == {0: 2}
    truth.trim("0-0-0-1", 0, 2)
    assert truth.table.partitions[0].lower == 2
