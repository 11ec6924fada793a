"""What there is to say of the static exports a queue asks for, and of those it cannot have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from queue_agent.core.exports.config import DuplicateDirectories, ExportConfig, parse_exports
from queue_agent.core.exports.queue_exports import NO_EXPORTS, ExportState, ExportStates, QueueExports
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.state.rows import QueueRow
from queue_agent.core.values.error_info import ErrorInfo, Origin

EXPORT_FAILED: Final = "queue_agent_queue_controller_static_export_failed"
"""Category of an alert."""

EXPORT_FAILED_CODE: Final = 3035

EXPORT_MISCONFIGURED: Final = "queue_agent_queue_controller_static_export_misconfiguration"
"""Category of an alert."""

EXPORT_MISCONFIGURED_CODE: Final = 3037

EXPORT_RECOUNTED: Final = "queue_agent_queue_controller_static_export_recounted"
"""Category of an alert, our own."""

_REPLICAS_TYPE: Final = "table"


def find_config_error(row: QueueRow, origin: Origin) -> ErrorInfo | None:
    """Why the exports a queue asks for cannot be made; None if they can, or there are none."""
    if not row.static_export_config:
        return None
    if row.object_type is None:
        return origin.error('Cannot check "static_export_config", because object type is not known')
    if row.object_type != _REPLICAS_TYPE:
        return origin.error(f'Attribute "static_export_config" can only be set on replicas, not {row.object_type}')
    try:
        parse_exports(row.static_export_config)
    except DuplicateDirectories as error:
        inner = [origin.error(f"Duplicate directory in config (Value: {directory})") for directory in error.directories]
        return origin.error("Static export config check failed", inner_errors=inner)
    except ValueError as error:
        return origin.error("Static export config check failed", inner_errors=[origin.error(str(error))])
    return None


def find_exports(row: QueueRow, role: Role, states: ExportStates, origin: Origin) -> QueueExports:
    """What to say of the exports a queue asks for.

    Args:
        row: of the queue.
        role: of its controller; only the one that leads knows of exports.
        states: as far as there are exporters; those of other directories than the row names do not count, nor those
            of a queue that had its name before.
        origin: of errors.
    """
    if role is not Role.LEADING:
        return QueueExports(origin.error("Following queue controller can't track exports progress"))
    if not row.static_export_config:
        return NO_EXPORTS
    error = find_config_error(row, origin)
    if error is not None:
        alert = origin.error(
            "Failed to update exports due to misconfiguration", EXPORT_MISCONFIGURED_CODE, inner_errors=[error]
        )
        return QueueExports(_incorrect(error, origin), alerts={EXPORT_MISCONFIGURED: alert})
    exporters = {
        name: _find_state(states.get(name), config, row) or ExportState(config)
        for name, config in parse_exports(row.static_export_config).items()
    }
    return QueueExports(exporters=exporters, alerts=_alerts(exporters, origin))


def banned_exports(ban: ErrorInfo, origin: Origin) -> QueueExports:
    """Of a queue that is banned."""
    return QueueExports(
        _incorrect(origin.error("Exports are disabled, since this queue is banned", inner_errors=[ban]), origin)
    )


def _find_state(state: ExportState | None, config: ExportConfig, row: QueueRow) -> ExportState | None:
    """The state of an export, if it is of this queue and goes to this directory."""
    if state is None or state.config.directory != config.directory or state.queue_id not in (None, row.object_id):
        return None
    return state


def _recounted_alert(recounted: Mapping[str, Sequence[int]], origin: Origin) -> ErrorInfo:
    inner = [
        origin.error(
            f'Export "{name}" cannot continue its progress of partitions {", ".join(map(str, indexes))}',
            attributes={"export_name": name, "partition_indexes": list(indexes)},
        )
        for name, indexes in sorted(recounted.items())
    ]
    return origin.error(
        "The queue was resharded, or its export progress was edited: exported rows may be in its tables twice, none is"
        " missing",
        inner_errors=inner,
    )


def _alerts(exporters: ExportStates, origin: Origin) -> Mapping[str, ErrorInfo]:
    recounted = {name: state.recounted for name, state in exporters.items() if state.recounted}
    alerts = {EXPORT_RECOUNTED: _recounted_alert(recounted, origin)} if recounted else {}
    failed = {name: state.error for name, state in exporters.items() if state.error is not None}
    if not failed:
        return alerts
    inner = [
        ErrorInfo(error.message, error.code, {**error.attributes, "export_name": name}, error.inner_errors)
        for name, error in sorted(failed.items())
    ]
    return alerts | {
        EXPORT_FAILED: origin.error("Failed to perform static export for queue", EXPORT_FAILED_CODE, inner_errors=inner)
    }


def _incorrect(reason: ErrorInfo, origin: Origin) -> ErrorInfo:
    return origin.error("Incorrect queue exports", inner_errors=[reason])
