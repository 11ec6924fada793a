"""What removes rows of a queue and what keeps them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any

import pytest

from queue_agent.core.consumers.consumer_snapshots import QueueRowAnswers, build_sub_snapshot
from queue_agent.core.consumers.retention import VitalConsumer, VitalConsumers, find_retention
from queue_agent.core.exports.config import InvalidSchedule
from queue_agent.core.exports.progress import StoredProgress, TabletProgress
from queue_agent.core.exports.queue_exports import ExportState
from queue_agent.core.queues.exports import find_exports
from queue_agent.core.queues.snapshots import ConsumerPartition, ConsumerQueueView, OffsetsRead, QueueSnapshot, Role
from queue_agent.core.state.quarantines import Quarantine
from queue_agent.core.state.rows import Registration
from queue_agent.core.values.observed import ConsumerOffset
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.timestamps import timestamp_of
from queue_agent.core.values.trim_constraints import ConstraintKind, PartitionTrim, TrimConstraint
from queue_agent.core.verdicts.advice import NO_ADVICE
from queue_agent.core.verdicts.counts import NO_COUNTS
from queue_agent.core.verdicts.time_to_loss import ExportTask, Retention, VitalOffset
from queue_agent.core.verdicts.values import (
    Confidence,
    Forecast,
    PaceView,
    PartitionVerdict,
    QueueVerdict,
    Rate,
    Verdict,
)
from tests.unit.core.trimming.plans import ALICE, BOB, NOW, ORIGIN, QUEUE, mounted, snapshot_of

READER = Registration(QUEUE, BOB, vital=False)
VITAL = Registration(QUEUE, ALICE, vital=True)
RATE = Rate(5.0, 4.0, 6.0)
FINISHED = datetime(2025, 1, 23, 13, 0, 7, tzinfo=UTC)
"""Seven seconds after a tick of an hourly export; `NOW` is 13:42:21."""


def _queue(**config: Any) -> QueueSnapshot:
    queue = snapshot_of(mounted(0, 10))
    return replace(queue, row=replace(queue.row, auto_trim_config={"enable": True, **config}, object_type="table"))


def _view(offset: int, queue: QueueSnapshot | None = None) -> ConsumerQueueView:
    view = (queue or _queue()).view
    assert view is not None
    stamp = timestamp_of(NOW)
    found = {0: ConsumerOffset(0, offset, stamp, {"offset_timestamp": stamp})}
    return build_sub_snapshot(None, view, [OffsetsRead(found, 0)], QueueRowAnswers(), NOW)


def _find(
    queue: QueueSnapshot,
    vital: VitalConsumers,
    registration: Registration = READER,
    *,
    is_ours: bool = True,
    is_dated: bool = True,
) -> Retention:
    mine = _view(4).partitions[0]
    assert isinstance(mine, ConsumerPartition)
    if not is_dated:
        mine = replace(mine, next_row_commit_time=None)
    return find_retention(0, mine, queue, registration, vital, is_ours=is_ours)


def _verdict(read: Rate | None) -> QueueVerdict:
    unknown = Forecast(None, "unknown")
    whole = PartitionVerdict(
        Verdict.OK, Verdict.OK, 0.0, None, Confidence.LOW, 0, NO_COUNTS, None, unknown, unknown, read
    )
    return QueueVerdict(whole, NO_ADVICE, PaceView(None, None, 0, Confidence.LOW), {0: whole}, 0, 0)


SOMEBODY = {"v": VitalConsumer(_view(6))}


def test_rows_are_kept_by_vital_consumers_and_by_the_owners_wishes() -> None:
    vital = {
        "fast": VitalConsumer(_view(9), _verdict(RATE)),
        "slow": VitalConsumer(_view(6), replace(_verdict(RATE), partitions={})),
        "new": VitalConsumer(_view(7)),
        "narrow": VitalConsumer(replace(_view(1), partitions=())),
    }
    found = _find(_queue(retained_rows=3, retained_lifetime_duration=60_000), vital)
    assert found == Retention(
        trims=True,
        vitals=(VitalOffset("fast", 9, RATE), VitalOffset("slow", 6), VitalOffset("new", 7)),
        retained_rows=3,
        retained_lifetime=60.0,
    )
    assert found.slowest_vital == "slow"
    unknown = _find(_queue(), None)
    assert (unknown.trims, unknown.vitals, unknown.slowest_vital) == (True, None, None)
    assert _find(_queue(), SOMEBODY, VITAL).is_vital


@pytest.mark.parametrize("config", [{"enable": False}, {"enable": "perhaps"}])
def test_a_queue_whose_owner_does_not_wish_it_is_not_trimmed(config: Any) -> None:
    assert _find(_queue(**config), SOMEBODY) == Retention()
    assert _find(_queue(**config), SOMEBODY, VITAL) == Retention(is_vital=True)


def test_nothing_goes_without_vital_consumers_and_exports() -> None:
    assert _find(_queue(), {}) == Retention()


@pytest.mark.parametrize(
    ("kind", "message", "trims"),
    [
        (ConstraintKind.ERROR, "broken", False),
        (ConstraintKind.CONSUMER_AHEAD, None, False),
        (ConstraintKind.STALE_OFFSET, None, False),
        (ConstraintKind.UNPROVED_OFFSET, None, True),
        (ConstraintKind.RETAINED_LIFETIME_DURATION, "no column", False),
        (ConstraintKind.RETAINED_LIFETIME_DURATION, None, True),
        (ConstraintKind.VITAL_CONSUMER, None, True),
        (ConstraintKind.HAND_OVER, "just become leader", True),
        (ConstraintKind.GRACE, "until some time", True),
    ],
)
def test_nothing_goes_while_something_is_wrong(kind: ConstraintKind, message: str | None, trims: bool) -> None:
    held = PartitionTrim(None, TrimConstraint(kind, 0, 0, None, message))
    queue = replace(_queue(), trims={0: held})
    assert _find(queue, SOMEBODY).trims is trims
    assert _find(replace(queue, trims={1: held}), SOMEBODY).trims
    assert _find(queue, SOMEBODY, is_ours=False).trims, "somebody else may know better"


def test_the_grace_of_a_new_leader_is_known_as_long_as_it_binds() -> None:
    def trimmed(kind: ConstraintKind) -> QueueSnapshot:
        held = PartitionTrim(None, TrimConstraint(kind, 0, 0, "c", "until some time", NOW))
        return replace(_queue(), trims={0: held})

    assert _find(trimmed(ConstraintKind.GRACE), SOMEBODY).grace_end == NOW.timestamp()
    assert _find(trimmed(ConstraintKind.VITAL_CONSUMER), SOMEBODY).grace_end is None
    assert _find(replace(_queue(), trims={}), SOMEBODY).grace_end is None
    assert _find(_queue(), SOMEBODY).grace_end is None


def test_a_consumer_with_notice_keeps_its_rows_until_then_and_others_in_quarantine_keep_none() -> None:
    hour = timedelta(hours=1)
    mine = Quarantine(VITAL.consumer, "1-2-3-4", {}, NOW, NOW, hour)
    other = Quarantine(CrossClusterRef("hume", "//o"), "1-2-3-4", {}, NOW, NOW, hour)
    vital = {str(one.consumer): next(iter(SOMEBODY.values())) for one in (mine, other)}

    def find(*quarantines: Quarantine, registration: Registration = VITAL) -> Retention:
        return _find(replace(_queue(), quarantines=quarantines), vital, registration)

    assert find().released_at is None
    assert len(find().vitals or ()) == 2
    found = find(mine)
    assert found.released_at == (NOW + hour).timestamp()
    assert [one.name for one in found.vitals or ()] == [str(other.consumer)]
    assert find(replace(mine, is_started=True)).released_at == NOW.timestamp()
    assert [one.name for one in find(other).vitals or ()] == [str(VITAL.consumer), str(other.consumer)]
    assert [one.name for one in find(replace(other, is_started=True)).vitals or ()] == [str(VITAL.consumer)]
    assert find(mine, registration=replace(VITAL, vital=False)).released_at is None


def test_an_agent_that_may_not_trim_expects_others_to() -> None:
    found = _find(_queue(), SOMEBODY, is_ours=False)
    assert (found.trims, found.is_ours) == (True, False)


def _with_ttl(queue: QueueSnapshot) -> QueueSnapshot:
    assert queue.view is not None
    return replace(queue, content=replace(queue.view, data_ttl=timedelta(hours=1)))


def test_the_cluster_removes_old_rows_whoever_trims() -> None:
    assert _find(_with_ttl(_queue()), SOMEBODY).data_ttl == 3600.0
    assert _find(_with_ttl(_queue(enable=False)), SOMEBODY, VITAL) == Retention(is_vital=True, data_ttl=3600.0)
    others = _find(_with_ttl(_queue()), SOMEBODY, is_ours=False)
    assert others == Retention(data_ttl=3600.0), "a trim point that moves tells nothing of others"


def _exported(
    state: dict[str, Any] | None = None, row_count: int = 0, finished: datetime | None = FINISHED, **config: Any
) -> QueueSnapshot:
    queue = _queue()
    exports = {"hourly": {"export_directory": "//tmp/e", "export_period": 3_600_000}}
    row = replace(queue.row, static_export_config=exports)
    queue = replace(queue, row=row, exports=find_exports(row, Role.LEADING, {}, ORIGIN))
    old = queue.exports.exporters["hourly"]
    progress = StoredProgress(tablets={0: TabletProgress(row_count=row_count, tablet_id="t")})
    if finished is not None:
        progress = replace(progress, last_successful_export_task_instant=finished)
    new: ExportState = replace(old, progress=progress, **(state or {}), config=replace(old.config, **config))
    return replace(queue, exports=replace(queue.exports, exporters={"hourly": new}))


def _due(queue: QueueSnapshot, *, is_dated: bool = True) -> float | None:
    found = _find(queue, {}, is_dated=is_dated)
    assert found.trims
    assert found.exports is not None
    [export] = found.exports
    assert export.name == "hourly"
    return export.due


class _Never:
    def range_at(self, second: int) -> Any:
        raise ValueError("no tick for years")


def test_an_export_has_a_row_at_the_tick_after_it_was_written_and_its_usual_delay() -> None:
    assert _due(_exported()) == datetime(2025, 1, 23, 14, 0, 7, tzinfo=UTC).timestamp()
    assert _due(_exported(row_count=5)) == 0.0, "it is exported"


@pytest.mark.parametrize(
    "queue",
    [
        _exported({"error": ORIGIN.error("no such directory")}),
        _exported(schedule=InvalidSchedule("x", "no expression")),
        _exported(schedule=_Never()),
    ],
)
def test_an_export_that_fails_never_has_it(queue: QueueSnapshot) -> None:
    assert _due(queue) == inf


def test_an_export_without_a_past_or_a_row_without_a_time_leaves_it_open() -> None:
    assert _due(_exported(finished=None)) is None
    assert _due(_exported(), is_dated=False) is None


def test_how_far_exports_are_is_known_to_who_leads_the_queue() -> None:
    queue = _exported()
    follower = replace(queue, role=Role.FOLLOWING, exports=find_exports(queue.row, Role.FOLLOWING, {}, ORIGIN))
    assert _find(follower, {}).exports is None
    plain = replace(follower, row=replace(queue.row, static_export_config=None))
    assert _find(plain, SOMEBODY) == Retention(trims=True, vitals=(VitalOffset("v", 6),))
    broken = replace(queue, exports=replace(queue.exports, error=ORIGIN.error("misconfigured")))
    assert not _find(broken, SOMEBODY).trims


def test_an_export_is_one_of_what_keeps_rows() -> None:
    assert _find(_exported(row_count=5), SOMEBODY) == Retention(
        trims=True, vitals=(VitalOffset("v", 6),), exports=(ExportTask("hourly", 0.0),)
    )
