"""The latest of everything: snapshots of all objects, rows of the state tables, and how the agent's passes went."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from datetime import datetime
from itertools import count
from typing import Any, TypeVar

from queue_agent.core.consumers.multi_consumers import (
    MultiConsumerSnapshot,
    multi_consumer_partitions,
    multi_consumer_status,
)
from queue_agent.core.consumers.registrations import RegistrationStatuses, judge_registrations
from queue_agent.core.exports.queue_exports import NO_STATES, ExportStates
from queue_agent.core.group.members import GroupView
from queue_agent.core.group.placement import Placement
from queue_agent.core.group.reconcile import Assignment
from queue_agent.core.queues.snapshots import ConsumerSnapshot, PassFacts, QueueSnapshot, Role
from queue_agent.core.state.rows import ConsumerNameRow, ConsumerRow, MappingRow, QueueRow, Registration, StateRows
from queue_agent.core.status import overview
from queue_agent.core.status import published as status
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.quota import Account, Quota
from queue_agent.ports.passes import Clock
from queue_agent.ports.status import SnapshotObserver

Value = TypeVar("Value")

AGENT = "agent"
SYNCHRONIZER = "cypress_synchronizer"
SHARDING = "queue_agent_sharding_manager"


class Board:
    """What controllers write for each other and for those who look at the agent; implements `StatusSource`.

    Args:
        host: published as `queue_agent_host`.
        clock: rates are published as of now.
    """

    def __init__(self, host: str, clock: Clock) -> None:
        self._host = host
        self._clock = clock
        self._queue_rows: dict[CrossClusterRef, QueueRow] = {}
        self._consumer_rows: dict[CrossClusterRef, ConsumerRow] = {}
        self._multi_consumer_rows: dict[CrossClusterRef, ConsumerRow] = {}
        self._mappings: dict[CrossClusterRef, MappingRow] = {}
        self._consumer_names: dict[CrossClusterRef, list[ConsumerNameRow]] = {}
        self._queue_registrations: dict[CrossClusterRef, list[Registration]] = {}
        self._consumer_registrations: dict[CrossClusterRef, list[Registration]] = {}
        self._queues: dict[CrossClusterRef, QueueSnapshot] = {}
        self._consumers: dict[CrossClusterRef, ConsumerSnapshot] = {}
        self._multi_consumers: dict[CrossClusterRef, MultiConsumerSnapshot] = {}
        self._exports: dict[CrossClusterRef, ExportStates] = {}
        self._accounts: Mapping[Account, Sequence[Quota]] = {}
        self._queue_accounts: Mapping[CrossClusterRef, Account] = {}
        self._assignment = Assignment({}, {})
        self._placement = Placement("")
        self._group = GroupView((), {}, synchronizer=None)
        self._passes = {kind: PassFacts() for kind in (AGENT, SYNCHRONIZER, SHARDING)}
        self._alerts: dict[str, Mapping[str, ErrorInfo]] = {}
        self._alert_ends: dict[str, datetime] = {}
        self._observer: SnapshotObserver | None = None
        self._moments = count(1)

    def next_moment(self) -> int:
        """A number greater than all before: it orders what happens in this process, whatever clocks say."""
        return next(self._moments)

    def observe(self, observer: SnapshotObserver) -> None:
        """Have somebody hear of all that is put here from now on."""
        self._observer = observer

    def put_registrations(self, registrations: Collection[Registration]) -> None:
        """Replace all registrations; before rows, so that no queue is trimmed by a row newer than its consumers."""
        by_queue: dict[CrossClusterRef, list[Registration]] = {}
        by_consumer: dict[CrossClusterRef, list[Registration]] = {}
        for registration in registrations:
            by_queue.setdefault(registration.queue, []).append(registration)
            by_consumer.setdefault(registration.consumer, []).append(registration)
        self._queue_registrations = _keep_equal(self._queue_registrations, by_queue)
        self._consumer_registrations = _keep_equal(self._consumer_registrations, by_consumer)

    def put_rows(self, rows: StateRows) -> None:
        """Replace all rows of objects; one that says the same stays the same object."""
        self._queue_rows = _keep_equal(self._queue_rows, {row.queue: row for row in rows.queues})
        self._consumer_rows = _keep_equal(self._consumer_rows, {row.consumer: row for row in rows.consumers})
        self._mappings = _keep_equal(self._mappings, {row.table: row for row in rows.mappings or ()})
        self._consumer_names = {}
        for name in rows.consumer_names:
            self._consumer_names.setdefault(name.consumer.table, []).append(name)

    def put_multi_consumer_rows(self, rows: Collection[ConsumerRow]) -> None:
        """Replace the rows of all multi-consumers; those of the consumers in them are among the others."""
        self._multi_consumer_rows = {row.consumer: row for row in rows}

    def find_multi_consumer_row(self, ref: CrossClusterRef) -> ConsumerRow | None:
        return self._multi_consumer_rows.get(ref)

    def find_mapping(self, ref: CrossClusterRef) -> MappingRow | None:
        """What is known of the replicas of a table."""
        return self._mappings.get(ref)

    def recorded_names(self, ref: CrossClusterRef) -> Sequence[ConsumerNameRow]:
        """The names the state tables know in a multi-consumer."""
        return self._consumer_names.get(ref, ())

    def find_queue_row(self, ref: CrossClusterRef) -> QueueRow | None:
        return self._queue_rows.get(ref)

    def find_consumer_row(self, ref: CrossClusterRef) -> ConsumerRow | None:
        return self._consumer_rows.get(ref)

    def registrations_of_queue(self, ref: CrossClusterRef) -> Sequence[Registration]:
        return self._queue_registrations.get(ref, ())

    def registrations_of_consumer(self, ref: CrossClusterRef) -> Sequence[Registration]:
        return self._consumer_registrations.get(ref, ())

    def put_exports(self, queue: CrossClusterRef, states: ExportStates) -> None:
        """Replace the states of all exporters of a queue."""
        self._exports[queue] = states

    def forget_exports(self, queue: CrossClusterRef) -> None:
        """Note that a queue has no exporters here any more."""
        del self._exports[queue]

    def find_exports(self, queue: CrossClusterRef) -> ExportStates:
        """States by name of the export; the same object while nothing happens, empty without exporters."""
        return self._exports.get(queue, NO_STATES)

    def put_accounts(
        self, quotas: Mapping[Account, Sequence[Quota]], of_queues: Mapping[CrossClusterRef, Account]
    ) -> None:
        """Replace the forecasts of accounts, the first resource to be used up first, and who pays for which queue."""
        self._accounts, self._queue_accounts = quotas, of_queues

    def quotas(self) -> Mapping[Account, Sequence[Quota]]:
        """See `StatusSource`."""
        return self._accounts

    def _find_quota(self, queue: CrossClusterRef) -> Quota | None:
        """The first resource to be used up of the account that pays for a queue; None: not known."""
        account = self._queue_accounts.get(queue)
        return None if account is None else next(iter(self._accounts.get(account, ())), None)

    def put_queue(self, snapshot: QueueSnapshot) -> None:
        self._queues[snapshot.ref] = snapshot
        if self._observer is not None:
            self._observer.queue_published(snapshot)

    def put_consumer(self, snapshot: ConsumerSnapshot) -> None:
        self._consumers[snapshot.ref] = snapshot
        if self._observer is not None:
            self._observer.consumer_published(snapshot)

    def put_multi_consumer(self, snapshot: MultiConsumerSnapshot) -> None:
        self._multi_consumers[snapshot.ref] = snapshot

    def find_queue(self, ref: CrossClusterRef) -> QueueSnapshot | None:
        """Latest snapshot of a queue led, followed or in error here."""
        return self._queues.get(ref)

    @property
    def all_queues(self) -> Mapping[CrossClusterRef, QueueSnapshot]:
        """Latest snapshots, those of followed queues included."""
        return self._queues

    @property
    def known_consumers(self) -> Container[CrossClusterRef]:
        """See `StatusSource`; replaced as a whole, so that another thread may look at it."""
        return self._consumer_rows.keys()

    @property
    def all_consumers(self) -> Mapping[CrossClusterRef, ConsumerSnapshot]:
        """Latest snapshots, those of followed consumers included."""
        return self._consumers

    def put_assignment(self, assignment: Assignment) -> None:
        """Note what this agent is concerned with, and forget all other objects; their controllers must have ended."""
        self._assignment = assignment
        if self._observer is not None:
            self._observer.objects_kept(assignment.queues, assignment.consumers)
        self._queues = {ref: snapshot for ref, snapshot in self._queues.items() if ref in assignment.queues}
        self._consumers = {ref: snapshot for ref, snapshot in self._consumers.items() if ref in assignment.consumers}
        self._multi_consumers = {
            ref: snapshot for ref, snapshot in self._multi_consumers.items() if ref in assignment.multi_consumers
        }

    def put_placement(self, placement: Placement) -> None:
        """Note which objects the stage has, and who leads them; controllers of those led here must be there."""
        self._placement = placement

    @property
    def placement(self) -> Placement:
        """The objects of the stage, wherever they are led."""
        return self._placement

    def is_unprocessed(self, ref: CrossClusterRef) -> bool:
        """Whether an object is led here, and nothing has been seen of it yet."""
        snapshots = self._queues.get(ref), self._consumers.get(ref)
        return any(
            snapshot is not None and snapshot.role is Role.LEADING and snapshot.pass_index == 0
            for snapshot in snapshots
        )

    def is_served_queue(self, ref: CrossClusterRef) -> bool:
        """Whether the queue is to be served here, though it may have no snapshot yet."""
        return self._assignment.queues.get(ref, Role.FOLLOWING) is not Role.FOLLOWING

    def is_served_consumer(self, ref: CrossClusterRef) -> bool:
        """Whether the consumer is to be served here, though it may have no snapshot yet."""
        return self._assignment.consumers.get(ref, Role.FOLLOWING) is not Role.FOLLOWING

    def finish_pass(self, kind: str, pass_index: int, pass_instant: datetime, error: ErrorInfo | None) -> None:
        """Note how a pass of the agent itself (`AGENT`), its synchronizer or its sharding manager went."""
        success = self._passes[kind].last_success_instant if error else pass_instant
        self._passes[kind] = PassFacts(pass_index, pass_instant, error, success)

    def put_alerts(self, kind: str, alerts: Mapping[str, ErrorInfo]) -> None:
        """Replace the agent-wide alerts that passes of this kind have raised, by category."""
        now = self._clock.now()
        for category in self._alerts.get(kind, {}).keys() - alerts.keys():
            self._alert_ends[category] = now
        self._alerts[kind] = alerts

    def queues(self) -> Mapping[CrossClusterRef, QueueSnapshot]:
        """See `StatusSource`."""
        return {ref: snapshot for ref, snapshot in self._queues.items() if snapshot.role is not Role.FOLLOWING}

    def consumers(self) -> Mapping[CrossClusterRef, ConsumerSnapshot]:
        """See `StatusSource`."""
        return {ref: snapshot for ref, snapshot in self._consumers.items() if snapshot.role is not Role.FOLLOWING}

    def queue_status(self, ref: CrossClusterRef) -> Mapping[str, Any] | None:
        """See `StatusSource`."""
        snapshot = self._find_served_queue(ref)
        if snapshot is None:
            return None
        now, quota = self._clock.now(), self._find_quota(ref)
        return status.queue_status(snapshot, self._host, now, self._judge_registrations(snapshot), quota)

    def queue_partitions(self, ref: CrossClusterRef) -> Sequence[Mapping[str, Any]] | None:
        """See `StatusSource`."""
        snapshot = self._find_served_queue(ref)
        return None if snapshot is None else status.queue_partitions(snapshot, self._clock.now())

    def queue_node(self, ref: CrossClusterRef) -> Mapping[str, Any] | None:
        """The whole node of a queue in the agent's tree; None for one not served here."""
        snapshot = self._find_served_queue(ref)
        if snapshot is None:
            return None
        registrations, now = self._judge_registrations(snapshot), self._clock.now()
        mapping, quota = self._mappings.get(ref), self._find_quota(ref)
        return status.queue_node(snapshot, self._host, now, mapping, registrations, quota)

    def queue_overview(self, ref: CrossClusterRef) -> Mapping[str, Any] | None:
        """See `StatusSource`."""
        snapshot = self._find_served_queue(ref)
        if snapshot is None:
            return None
        registrations, now = self._judge_registrations(snapshot), self._clock.now()
        return overview.queue_overview(snapshot, registrations, now, self._find_quota(ref))

    def consumer_overview(self, ref: CrossClusterRef) -> Sequence[Mapping[str, Any]] | None:
        """See `StatusSource`."""
        snapshot = self._find_served_consumer(ref)
        return None if snapshot is None else overview.consumer_overview(snapshot, self._clock.now())

    def consumer_status(self, ref: CrossClusterRef) -> Mapping[str, Any] | None:
        """See `StatusSource`."""
        snapshot = self._find_served_consumer(ref)
        return None if snapshot is None else status.consumer_status(snapshot, self._host, self._clock.now())

    def consumer_partitions(self, ref: CrossClusterRef) -> Mapping[str, Any] | Sequence[Any] | None:
        """See `StatusSource`."""
        snapshot = self._find_served_consumer(ref)
        return None if snapshot is None else status.consumer_partitions(snapshot, self._clock.now())

    def consumer_node(self, ref: CrossClusterRef) -> Mapping[str, Any] | None:
        """The whole node of a consumer in the agent's tree; None for one not served here."""
        snapshot = self._find_served_consumer(ref)
        return (
            None
            if snapshot is None
            else status.consumer_node(snapshot, self._host, self._clock.now(), self._mappings.get(ref.table))
        )

    def multi_consumers(self) -> Mapping[CrossClusterRef, MultiConsumerSnapshot]:
        """Latest snapshots of the tables that hold several consumers."""
        return self._multi_consumers

    def multi_consumer_status(self, ref: CrossClusterRef) -> Mapping[str, Any] | None:
        """Status of a multi-consumer and of the consumers in it; None for one not served here."""
        snapshot = self._multi_consumers.get(ref)
        if snapshot is None:
            return None
        consumers = {name: self.consumer_status(ref._replace(name=name)) for name in snapshot.names}
        return multi_consumer_status(snapshot, self._host, consumers)

    def multi_consumer_partitions(self, ref: CrossClusterRef) -> Mapping[str, Any] | None:
        """Partitions of the consumers in a multi-consumer; None for one not served here."""
        snapshot = self._multi_consumers.get(ref)
        if snapshot is None:
            return None
        consumers = {name: self.consumer_partitions(ref._replace(name=name)) for name in snapshot.names}
        return multi_consumer_partitions(snapshot, consumers)

    def multi_consumer_node(self, ref: CrossClusterRef) -> Mapping[str, Any] | None:
        """The whole node of a multi-consumer in the agent's tree; None for one not served here."""
        snapshot = self._multi_consumers.get(ref)
        if snapshot is None:
            return None
        return {
            **status.object_node(snapshot, status.consumer_row(snapshot.row), self._mappings.get(ref)),
            "status": self.multi_consumer_status(ref),
            "partitions": self.multi_consumer_partitions(ref),
        }

    def is_served_multi_consumer(self, ref: CrossClusterRef) -> bool:
        """Whether the multi-consumer is to be served here, though it may have no snapshot yet."""
        return ref in self._assignment.multi_consumers

    def agent_pass(self) -> PassFacts:
        """See `StatusSource`."""
        return self._passes[AGENT]

    def synchronizer_pass(self) -> PassFacts:
        """See `StatusSource`."""
        return self._passes[SYNCHRONIZER]

    def sharding_pass(self) -> PassFacts:
        """The pass that looks who leads what."""
        return self._passes[SHARDING]

    def put_group(self, view: GroupView) -> None:
        """Replace what is known of the agents of the stage."""
        self._group = view

    @property
    def group(self) -> GroupView:
        """The agents of the stage, as they were seen last."""
        return self._group

    def alerts(self) -> Mapping[str, Any]:
        """See `StatusSource`."""
        return {category: alert.to_map() for alerts in self._alerts.values() for category, alert in alerts.items()}

    def last_alerts(self) -> Mapping[str, datetime]:
        """See `MetricsSource`."""
        now = self._clock.now()
        return self._alert_ends | {category: now for alerts in self._alerts.values() for category in alerts}

    def _judge_registrations(self, snapshot: QueueSnapshot) -> RegistrationStatuses:
        return judge_registrations(snapshot.registrations, self._consumer_rows, self._consumers)

    def _find_served_queue(self, ref: CrossClusterRef) -> QueueSnapshot | None:
        snapshot = self._queues.get(ref)
        return None if snapshot is None or snapshot.role is Role.FOLLOWING else snapshot

    def _find_served_consumer(self, ref: CrossClusterRef) -> ConsumerSnapshot | None:
        snapshot = self._consumers.get(ref)
        return None if snapshot is None or snapshot.role is Role.FOLLOWING else snapshot


def _keep_equal(
    old: Mapping[CrossClusterRef, Value], new: Mapping[CrossClusterRef, Value]
) -> dict[CrossClusterRef, Value]:
    """The new mapping, with the old value wherever both are equal."""
    return {ref: old[ref] if ref in old and old[ref] == value else value for ref, value in new.items()}
