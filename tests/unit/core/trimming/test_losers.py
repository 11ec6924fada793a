"""Who loses rows by a trim, by what was read right before it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import pytest

from queue_agent.core.exports.progress import ExportProgress
from queue_agent.core.queues.snapshots import (
    ConsumerQueueView,
    ConsumerSnapshot,
    FailedConsumerPartition,
    QueuePartition,
)
from queue_agent.core.state.rows import Registration
from queue_agent.core.state.trim_journal import Loser
from queue_agent.core.trimming.bounds import TrimBounds
from queue_agent.core.trimming.losers import Suspects, Witnessed, find_losers, find_suspects, rows_to_weigh
from queue_agent.core.trimming.plan import PartitionPlan, TrimPlan
from queue_agent.core.values.rates import Counters
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind
from tests.unit.core.trimming.plans import (
    ALICE,
    BOB,
    BROKEN,
    NOW,
    QUEUE,
    TABLET,
    consumer,
    judged,
    mounted,
    plan,
    position,
    snapshot_of,
)

CAROL = CrossClusterRef("hume", "//tmp/carol")
LISTENING = Registration(QUEUE, BOB, vital=False)
VIEW = snapshot_of(mounted(3, 20), mounted(3, 20)).view


def planned(*offsets: int, lower: int = 3, exports: Mapping[str, ExportProgress] | None = None) -> TrimPlan:
    """By what Alice, who is vital, has read."""
    queue = snapshot_of(*[mounted(lower, 20)] * len(offsets))
    return plan(queue, {ALICE: position(queue, *offsets)}, exports=exports)


def suspects_of(*offsets: int, registration: Registration = LISTENING, targets: tuple[int, ...] = (8, 9)) -> Suspects:
    """By what the agent knew of Bob."""
    queue = snapshot_of(*[mounted(3, 20)] * len(targets))
    known = {BOB: consumer(BOB, position(queue, *offsets))}
    return find_suspects(planned(*targets), [registration], known, queue.view)


def test_those_are_asked_that_seem_to_be_behind_a_target() -> None:
    assert suspects_of(8, 9).indexes == {}
    assert suspects_of(8, 7).indexes == {BOB: [1]}
    assert suspects_of(7, 8).indexes == {BOB: [0, 1]}
    assert suspects_of(7, 8, targets=(8, 3)).indexes == {BOB: [0]}, "partition 1 is not trimmed"


def test_vital_consumers_and_other_partitions_lose_nothing() -> None:
    assert suspects_of(7, 7, registration=replace(LISTENING, vital=True)).indexes == {}
    assert suspects_of(7, 7, registration=replace(LISTENING, partitions=(1,))).indexes == {BOB: [1]}
    assert suspects_of(7, 7, registration=replace(LISTENING, partitions=())).indexes == {BOB: [0, 1]}


def test_a_consumer_without_an_offset_is_asked_for_it_may_have_begun_since() -> None:
    queue = snapshot_of(mounted(3, 20), mounted(3, 20))
    silent = {BOB: consumer(BOB, position(queue))}
    suspects = find_suspects(planned(8, 9), [LISTENING], silent, queue.view)
    assert suspects.indexes == {BOB: [0, 1]}
    assert find_losers(one(8), 0, suspects, Witnessed({BOB: {}}), ()) == [], "whoever has not begun loses nothing"
    assert find_losers(one(8), 0, suspects, Witnessed({BOB: {0: 0}}), ()) == [Loser(BOB, 0, None, True, str(ALICE))]


def test_who_could_not_be_read_is_suspected_and_not_asked() -> None:
    broken = {BOB: consumer(BOB, BROKEN)}
    assert find_suspects(planned(8, 9), [LISTENING], broken, VIEW) == Suspects({BOB: [0, 1]}, [BOB], {BOB: [0, 1]})


def test_who_was_not_read_yet_is_asked() -> None:
    """After a restart of the agent."""
    asked = Suspects({BOB: [0, 1]}, [], {BOB: [0, 1]})
    assert find_suspects(planned(8, 9), [LISTENING], {}, VIEW) == asked
    new = {BOB: replace(consumer(BOB, BROKEN), pass_index=0)}
    assert find_suspects(planned(8, 9), [LISTENING], new, VIEW) == asked
    assert named_by(asked, {0: 20, 1: 7}) == [
        [Loser(BOB, 20, None, True, str(ALICE))],
        [Loser(BOB, 7, None, True, str(ALICE))],
    ], "its offset may be one of other rows"


@pytest.mark.parametrize("consumers", [{}, {BOB: consumer(BOB, BROKEN)}])
def test_nobody_is_asked_for_partitions_that_are_not_trimmed(
    consumers: Mapping[CrossClusterRef, ConsumerSnapshot],
) -> None:
    elsewhere = replace(LISTENING, partitions=(2,))
    assert find_suspects(planned(8, 9), [elsewhere], consumers, VIEW) == Suspects({}, [])


@pytest.mark.parametrize("tablets", [{0: TABLET, 1: None}, {0: TABLET, 1: "of other rows"}, {0: TABLET}])
def test_whose_offset_may_be_one_of_other_rows_is_asked(tablets: Mapping[int, str | None]) -> None:
    queue = snapshot_of(mounted(3, 20), mounted(3, 20))
    known = judged(consumer(BOB, position(queue, 20, 20)), tablets)
    suspects = find_suspects(planned(8, 9), [LISTENING], {BOB: known}, queue.view)
    assert suspects == Suspects({BOB: [1]}, [], {BOB: [1]})
    assert named_by(suspects, {0: 20, 1: 20}) == [[], [Loser(BOB, 20, None, True, str(ALICE))]]
    assert named_by(suspects, {0: 20}) == [[], []], "it has not begun"


def named_by(suspects: Suspects, offsets: Mapping[int, int]) -> list[list[Loser]]:
    """Losers by partition."""
    partitions = planned(8, 9).partitions
    return [[*find_losers(partitions[i], i, suspects, Witnessed({BOB: offsets}), ())] for i in (0, 1)]


def test_who_was_not_judged_yet_is_asked() -> None:
    queue = snapshot_of(mounted(3, 20), mounted(3, 20))
    new = replace(consumer(BOB, position(queue, 20, 20)), verdicts={})
    assert find_suspects(planned(8, 9), [LISTENING], {BOB: new}, queue.view).indexes == {BOB: [0, 1]}


def test_tablets_of_a_replica_make_no_consumer_of_the_queue_doubtful() -> None:
    known = {BOB: consumer(BOB, position(snapshot_of(mounted(3, 20), mounted(3, 20)), 20, 20))}
    of_queue = planned(8, 9)
    partitions = {
        index: replace(one, partition=replace(one.partition, tablet_id="of the replica"))
        for index, one in of_queue.partitions.items()
        if isinstance(one.partition, QueuePartition)
    }
    replica = replace(of_queue, partitions=partitions, replica=CrossClusterRef("hume", "//replica"))
    assert find_suspects(replica, [LISTENING], known, VIEW) == Suspects({}, [])


def test_while_tablets_of_the_queue_are_not_known_all_are_asked() -> None:
    known = {BOB: consumer(BOB, position(snapshot_of(mounted(3, 20), mounted(3, 20)), 20, 20))}
    assert find_suspects(planned(8, 9), [LISTENING], known, None).indexes == {BOB: [0, 1]}


def test_partitions_that_could_not_be_read_or_came_just_now() -> None:
    queue = snapshot_of(mounted(3, 20))
    short = position(queue, 5)
    assert isinstance(short, ConsumerQueueView)
    known = {BOB: judged(consumer(BOB, short), {0: TABLET, 1: TABLET})}
    assert find_suspects(planned(8, 9), [LISTENING], known, VIEW).indexes == {BOB: [0, 1]}
    failed = replace(short, partitions=[FailedConsumerPartition(BROKEN, 0, NOW, Counters())])
    assert find_suspects(planned(8), [LISTENING], {BOB: consumer(BOB, failed)}, VIEW).indexes == {BOB: [0]}


def one(*offsets: int, lower: int = 3) -> PartitionPlan:
    return planned(*offsets, lower=lower).partitions[0]


def losers(
    offset: int | None,
    weights: Mapping[tuple[int, int], int] | None = None,
    target: int = 8,
    quarantined: Collection[CrossClusterRef] = (),
) -> list[Loser]:
    seen = Witnessed({BOB: None if offset is None else {0: offset}}, weights or {})
    return list(find_losers(one(target), 0, Suspects({BOB: [0], CAROL: [1]}), seen, quarantined))


def test_a_loser_is_who_had_not_committed_all_rows_right_before() -> None:
    assert losers(8) == []
    assert losers(7) == [Loser(BOB, 7, None, True, str(ALICE))]
    assert losers(None) == [Loser(BOB, None, None, True, str(ALICE))]


def test_a_consumer_in_quarantine_would_have_held_the_rows() -> None:
    for offset in (7, None):
        [loser] = losers(offset, quarantined=[BOB])
        assert loser.is_quarantined
        assert not losers(offset, quarantined=[ALICE])[0].is_quarantined


def test_weights_are_those_of_the_unread_rows() -> None:
    through = {(0, row): 10 * (row + 1) for row in range(3, 8)}
    assert losers(5, through) == [Loser(BOB, 5, 30, True, str(ALICE))]
    assert losers(2, through) == [Loser(BOB, 2, 50, True, str(ALICE))], "the first row counts as much as the others"
    assert losers(3, through, target=4) == [Loser(BOB, 3, None, True, str(ALICE))], "of one row nothing is known"
    assert losers(5, {(0, 7): 80}) == [Loser(BOB, 5, None, True, str(ALICE))]
    assert losers(5, {(0, 4): 50, (0, 7): 49}) == [Loser(BOB, 5, None, True, str(ALICE))]
    assert losers(5, {(0, 4): 50}) == [Loser(BOB, 5, None, True, str(ALICE))]


def test_two_rows_tell_the_weight_of_all_between() -> None:
    suspects = Suspects({BOB: [0, 1], CAROL: [0]})
    found = rows_to_weigh(planned(8, 3), suspects, {BOB: {0: 5, 1: 0}, CAROL: {0: 2}})
    assert found == {(0, 4), (0, 7), (0, 3)}
    assert rows_to_weigh(planned(8, 3), suspects, {BOB: None, CAROL: {0: 8}}) == set()


def test_the_cause_is_whoever_passed_the_rows_last() -> None:
    exported = {"daily": ExportProgress(row_counts={0: 6})}
    [loser] = find_losers(
        planned(9, exports=exported).partitions[0], 0, Suspects({BOB: [0]}), Witnessed({BOB: {0: 4}}), ()
    )
    assert (loser.vital_trimming, loser.subject) == (False, "daily")
    retained = replace(one(8), bounds=[TrimBounds(ConstraintKind.RETAINED_ROWS, wanted=8)])
    assert find_losers(retained, 0, Suspects({BOB: [0]}), Witnessed({BOB: {0: 4}}), ()) == [Loser(BOB, 4)]
    nobody = replace(one(8), bounds=[replace(one(8).bounds[0], subject=None)])
    assert find_losers(nobody, 0, Suspects({BOB: [0]}), Witnessed({BOB: {0: 4}}), ())[0].subject is None
