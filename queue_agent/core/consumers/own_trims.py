"""What trims by agents of this stage mean for one consumer."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from queue_agent.core.state.trim_journal import TrimRecord
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.ledger import Trim
from queue_agent.core.verdicts.values import LossCause


def trims_of(
    records: Iterable[TrimRecord],
    queue: CrossClusterRef,
    consumer: CrossClusterRef,
    tablets: Collection[str],
    resharded_since: datetime | None,
) -> list[Trim]:
    """Records of a partition as the ledger of a consumer takes them, in order of time.

    Rows of a tablet that is no more had the same indexes; tablets of a replica have ids of their own. The start of a
    partition only grows, so it is a better order than instants by the clocks of several agents. A consumer that is
    not among the losers of a trim had committed all of its rows, or had not begun.

    Args:
        records: in any order.
        queue: whose partition it is.
        consumer: whose ledger.
        tablets: ids of those that hold, or held, the rows of the partition.
        resharded_since: there may have been others since then, that nobody has seen; None: there were none.
    """
    known = [
        one
        for one in records
        if one.tablet_id in {None, *tablets}
        or one.queue != queue
        or (resharded_since is not None and one.instant >= resharded_since)
    ]
    ordered = sorted(known, key=lambda one: (one.lower_row_index, one.instant))
    return [_to_trim(record, consumer) for record in ordered]


def _to_trim(record: TrimRecord, consumer: CrossClusterRef) -> Trim:
    start, to = record.lower_row_index, record.trimmed_row_count
    if record.losers is None:
        return Trim(start, to, None)
    loser = next((one for one in record.losers if one.consumer == consumer), None)
    if loser is None:
        return Trim(start, to, to, is_harmless=True)
    if loser.is_quarantined:
        cause = LossCause.QUARANTINE
    else:
        cause = LossCause.VITAL_TRIMMING if loser.vital_trimming else LossCause.EXPORT_TRIMMING
    return Trim(start, to, loser.offset, cause, loser.subject, loser.data_weight)
