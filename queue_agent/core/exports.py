"""Whether the progress of a queue's static exports is known; exporting itself is not supported yet."""

from __future__ import annotations

from queue_agent.core.error_info import ErrorInfo, Origin
from queue_agent.core.rows import QueueRow
from queue_agent.core.snapshots import Role


def find_exports_error(row: QueueRow, role: Role, origin: Origin) -> ErrorInfo | None:
    """Why the progress is not known; None if there are no exports at all."""
    if role is not Role.LEADING:
        return origin.error("Following queue controller can't track exports progress")
    if row.static_export_config:
        reason = origin.error("Static exports are not supported by this agent yet")
        return origin.error("Incorrect queue exports", inner_errors=[reason])
    return None


def banned_exports_error(ban: ErrorInfo, origin: Origin) -> ErrorInfo:
    """Of a queue that is banned."""
    reason = origin.error("Exports are disabled, since this queue is banned", inner_errors=[ban])
    return origin.error("Incorrect queue exports", inner_errors=[reason])
