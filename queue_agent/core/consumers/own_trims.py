"""What trims by agents of this stage mean for one consumer."""

from __future__ import annotations

from collections.abc import Sequence

from queue_agent.core.state.trim_journal import TrimRecord
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.ledger import Trim
from queue_agent.core.verdicts.values import LossCause


def trims_of(records: Sequence[TrimRecord], consumer: CrossClusterRef) -> Sequence[Trim]:
    """Records as the ledger of a consumer takes them, in the same order.

    A consumer that is not among the losers of a trim had committed all of its rows.
    """
    return [_to_trim(record, consumer) for record in records]


def _to_trim(record: TrimRecord, consumer: CrossClusterRef) -> Trim:
    start, to = record.lower_row_index, record.trimmed_row_count
    if record.losers is None:
        return Trim(to, None, start=start)
    loser = next((one for one in record.losers if one.consumer == consumer), None)
    if loser is None:
        return Trim(to, to, start=start)
    cause = LossCause.VITAL_TRIMMING if loser.vital_trimming else LossCause.EXPORT_TRIMMING
    return Trim(to, loser.offset, cause, loser.subject, loser.data_weight, start)
