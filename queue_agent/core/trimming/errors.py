"""Errors of trimming."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from queue_agent.core.state.quarantines import Quarantine
from queue_agent.core.trimming.plan import TrimPlan
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef

TRIM_FAILED = "queue_agent_queue_controller_trim_failed"
"""Category of the alert."""

TRIM_FAILED_CODE = 3036

QUARANTINE = "queue_agent_quarantine"
"""Category of the alert about quarantines."""

_ONE_SESSION_FAILED = "Error trimming 1 queue replicas"


def find_trim_error(plan: TrimPlan, failures: Mapping[int, ErrorInfo], origin: Origin) -> ErrorInfo | None:
    """What went wrong with a plan and with carrying it out; None if all is well.

    Args:
        plan: as it was made.
        failures: requests that failed, by partition index.
        origin: of errors.
    """
    if plan.error is not None:
        return plan.error
    errors = {index: partition.error for index, partition in plan.partitions.items() if partition.error is not None}
    for index, failure in failures.items():
        errors[index] = origin.error(
            f"Error occurred while executing trimming request for partition {index}", inner_errors=[failure]
        )
    if not errors:
        return None
    inner = [
        ErrorInfo(error.message, error.code, {**error.attributes, "partition_index": index}, error.inner_errors)
        for index, error in sorted(errors.items())
    ]
    error = origin.error(f"Failed to trim {len(inner)} partitions", inner_errors=inner)
    return session_error(plan.table, error, origin)


def trim_alert(error: ErrorInfo, origin: Origin) -> ErrorInfo:
    """The alert that tells of a failed trimming iteration.

    Args:
        error: what went wrong; with the alert's code it is the alert itself.
        origin: of errors.
    """
    if error.code == TRIM_FAILED_CODE:
        return error
    return origin.error("Error while trimming queue", TRIM_FAILED_CODE, inner_errors=[error])


def find_quarantine_alert(
    quarantines: Collection[Quarantine], error: ErrorInfo | None, origin: Origin
) -> ErrorInfo | None:
    """The alert that tells of quarantines, or why none of them is known; None if there is nothing to tell."""
    if error is not None:
        return error
    if not quarantines:
        return None
    inner = [
        origin.error(
            f'Rows that vital consumer "{one.consumer}" has not read are trimmed: it is in quarantine'
            if one.is_started
            else f'Vital consumer "{one.consumer}" has had notice since {encode_instant(one.announced_at)}: later,'
            " rows that it has not read are trimmed"
        )
        for one in sorted(quarantines, key=lambda one: one.consumer)
    ]
    return origin.error("Dead vital consumers are put into quarantine", inner_errors=inner)


def ages_error(index: int, limit: int, cause: ErrorInfo, origin: Origin) -> ErrorInfo:
    """Error of a partition whose rows' ages could not be read.

    Args:
        index: of the partition.
        limit: the timestamp from which on rows are young.
        cause: what the cluster answered.
        origin: of errors.
    """
    return origin.error(
        f"Error getting safe trim row count by timestamp {limit}, not trimming partition {index}", inner_errors=[cause]
    )


def join_session_errors(errors: Mapping[CrossClusterRef, ErrorInfo], origin: Origin) -> ErrorInfo | None:
    """One error for those of `find_trim_error` of several replicas; None if there are none."""
    sessions = [
        error if error.message == _ONE_SESSION_FAILED else session_error(replica, error, origin)
        for replica, error in sorted(errors.items())
    ]
    if not sessions:
        return None
    inner = [named for session in sessions for named in session.inner_errors]
    return origin.error(f"Error trimming {len(inner)} queue replicas", inner_errors=inner)


def session_error(table: CrossClusterRef, error: ErrorInfo, origin: Origin) -> ErrorInfo:
    """An error of one replica; a queue that is a plain table is its own only replica."""
    named = ErrorInfo(error.message, error.code, {**error.attributes, "replica": str(table)}, error.inner_errors)
    return origin.error(_ONE_SESSION_FAILED, inner_errors=[named])
