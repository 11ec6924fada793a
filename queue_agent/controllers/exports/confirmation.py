"""The last look at static exports before a queue is trimmed: how far they are by their directories, not by memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from queue_agent.controllers.exports.task import ExportTask, find_progress
from queue_agent.controllers.passes.clusters import fan_out
from queue_agent.controllers.status.context import ControllerContext
from queue_agent.core.exports.config import ExportConfig, parse_exports
from queue_agent.core.exports.progress import NOTHING_EXPORTED, ExportProgress
from queue_agent.core.queues.exports import find_config_error
from queue_agent.core.state.rows import QueueRow
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError

_CONCURRENT_EXPORTS = 16

ExportKey = tuple[CrossClusterRef, str]
"""A table that is exported, and the name of the export."""


async def read_exports_again(
    context: ControllerContext, rows: Collection[QueueRow], origin: Origin
) -> Mapping[ExportKey, ExportProgress | ErrorInfo]:
    """Read the progress of all exports of some tables from the cluster.

    Args:
        context: what to work with.
        rows: of the tables.
        origin: of errors.

    Returns:
        For each export its progress, or why it is not known.

    Raises:
        ClusterError: what a table wants exported makes no sense.
    """
    configs: dict[ExportKey, ExportConfig] = {}
    for row in rows:
        error = find_config_error(row, origin)
        if error is not None:
            raise ClusterError(error.message)
        configs |= {(row.queue, name): one for name, one in parse_exports(row.static_export_config).items()}

    async def read(key: ExportKey) -> ExportProgress | ErrorInfo:
        return await _read(context, *key, configs[key], origin)

    answers = await fan_out(read, configs, limit=_CONCURRENT_EXPORTS)
    return {
        key: origin.cluster_error(answer) if isinstance(answer, ClusterError) else answer
        for key, answer in answers.items()
    }


async def _read(
    context: ControllerContext, table: CrossClusterRef, name: str, config: ExportConfig, origin: Origin
) -> ExportProgress | ErrorInfo:
    cluster = context.export_clusters.get(table.cluster)
    if cluster is None:
        return origin.error(f'Cluster "{table.cluster}" is not known to this queue agent')
    task = ExportTask.of(table, name, config, context.config.queue_exporter, origin)
    state = context.board.find_exports(table).get(name)
    known = NOTHING_EXPORTED if state is None else state.progress
    found = await find_progress(task, cluster.looking(), known)
    if isinstance(found, ErrorInfo):
        return found
    if state is None or state.directory_id is None:
        return origin.error(f"Directory {config.directory} has not been read yet")
    if state.directory_id != found.directory_id:
        return origin.error(
            f"Directory {config.directory} is {found.directory_id}, and was {state.directory_id}: tables that were"
            " exported may be gone. Trimming goes on after the next export task"
        )
    return found.progress.reached(dict(enumerate(found.tablet_ids)))
