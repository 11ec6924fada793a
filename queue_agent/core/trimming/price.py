"""What trimming says a vital consumer costs: the same plan with and without it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from queue_agent.core.queues.snapshots import ConsumerPartition, ConsumerQueueView, QueuePartition, QueueView
from queue_agent.core.trimming.bounds import TrimBounds, decide_trim
from queue_agent.core.trimming.plan import PartitionPlan, TrimPlan
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind
from queue_agent.core.verdicts.price import Price
from queue_agent.core.verdicts.values import Seconds

_DAY = timedelta(days=1).total_seconds()

_OF_CONSUMERS = frozenset({ConstraintKind.VITAL_CONSUMER, ConstraintKind.NOTHING_READ})


def find_price(
    plan: TrimPlan,
    consumer: CrossClusterRef,
    view: ConsumerQueueView,
    silent: Seconds,
    dead_after: timedelta,
    silent_others: Collection[CrossClusterRef] = (),
) -> Price | None:
    """The price of a consumer, None if it holds no rows.

    Args:
        plan: of the whole queue.
        consumer: a vital one, with rows to read.
        view: its position, compared with the queue.
        silent: for how long it has not read.
        dead_after: from then on it is dead.
        silent_others: vital consumers that do not read either; they would hide each other if each were judged alone.
    """
    assert view.compared is not None, "a position made of whole snapshots"
    queue = view.compared.queue
    held = {index: rows for index, one in plan.partitions.items() if (rows := held_rows(one, consumer, silent_others))}
    if not held:
        return None
    weights = [_weigh(index, rows, queue, view) for index, rows in held.items()]
    ages = [_age(view.partitions[index], view.seen_at.timestamp()) for index in held if index < len(view.partitions)]
    known_ages = [age for age in ages if age is not None]
    bytes_written = (
        queue.write_data_weight.served(view.seen_at)["1d"] if queue.has_cumulative_data_weight_column else None
    )
    return Price(
        held_rows=sum(held.values()),
        held_bytes=None if None in weights else sum(weight for weight in weights if weight is not None),
        growth_rows_per_day=round(queue.write_row_count.served(view.seen_at)["1d"] * _DAY),
        growth_bytes_per_day=None if bytes_written is None else round(bytes_written * _DAY),
        oldest_row_age=max(known_ages, default=None),
        silent=silent,
        is_dead=silent >= dead_after.total_seconds(),
        also_held_by=sorted(
            str(other)
            for other in silent_others
            if any(held_rows(plan.partitions[index], other, [consumer, *silent_others]) for index in held)
        ),
    )


def held_rows(plan: PartitionPlan, consumer: CrossClusterRef, silent_others: Collection[CrossClusterRef] = ()) -> int:
    """Rows of one partition that would go if a consumer and the others had read everything.

    Those that the consumer itself has read do not count.
    """
    partition = plan.partition
    if not isinstance(partition, QueuePartition):
        return 0
    name = str(consumer)
    own = [one for one in plan.bounds if one.subject == name and one.kind in _OF_CONSUMERS]
    if not own:
        return 0
    lower, upper = partition.lower_row_index, partition.upper_row_index
    names = {name, *map(str, silent_others)}
    rest = [one for one in plan.bounds if one.subject not in names or one.kind not in _OF_CONSUMERS]
    # As if it had read everything: it still is a consumer, without which nothing may be trimmed.
    read = TrimBounds(ConstraintKind.VITAL_CONSUMER, wanted=upper, subject=name)
    without = decide_trim(lower, upper, [*rest, read]).target or lower
    alone = decide_trim(lower, upper, [*rest, *own]).target or lower
    return without - alone


def _weigh(index: int, rows: int, queue: QueueView, view: ConsumerQueueView) -> int | None:
    """Bytes of held rows: they weigh as much as all unread rows do on average."""
    partition = queue.partitions[index]
    mine = view.partitions[index] if index < len(view.partitions) else None
    assert isinstance(partition, QueuePartition), "of others it is not known that they hold rows"
    if not isinstance(mine, ConsumerPartition):
        return None
    weight, count = mine.unread_data_weight, mine.unread_row_count
    if weight is None or mine.next_row_index < partition.lower_row_index:
        # What the first row weighs is not known: the row before it is gone.
        weight, count = partition.available_data_weight, partition.available_row_count - 1
    return None if weight is None or count <= 0 else weight * rows // count


def _age(mine: object, now: Seconds) -> Seconds | None:
    if not isinstance(mine, ConsumerPartition) or mine.next_row_commit_time is None:
        return None
    return max(0.0, now - mine.next_row_commit_time.timestamp())
