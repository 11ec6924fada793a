"""Writing rows of the state tables so that a row which can not be written keeps no other from being written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from queue_agent.core.state.attributes import unfetched_consumer_row, unfetched_queue_row
from queue_agent.core.state.rows import ConsumerRow, MappingRow, QueueRow
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError, QueueAgentError
from queue_agent.isolation import contain
from queue_agent.ports.state import StateStore

Row = QueueRow | ConsumerRow | MappingRow

_MAX_FAILED: Final = 10
"""Objects of which not even an error can be written."""

_SHOWN: Final = 3
"""Of the rows written together, in a log line."""


@dataclass(frozen=True, slots=True)
class StateWriter:
    """Writes rows together; where that fails, in halves, until those are found that can not be written.

    A row that can not be written is replaced by one that says so, which has the revision of the object: it is tried
    again when the object's attributes change.
    """

    store: StateStore
    origin: Origin

    async def write(self, rows: Sequence[Row]) -> dict[CrossClusterRef, ErrorInfo]:
        """Write rows of any kind.

        Returns:
            The objects of which not even the error could be written.

        Raises:
            ClusterError: nothing can be written now.
        """
        failed: dict[CrossClusterRef, ErrorInfo] = {}
        waiting = [rows]
        while waiting:
            some = waiting.pop()
            error = await self._try(some)
            if error is None:
                continue
            if len(some) > 1:
                middle = len(some) // 2
                waiting += [some[middle:], some[:middle]]
                continue
            [row] = some
            info = self.origin.cluster_error(error)
            if await self._try([_without_content(row, info)]) is not None:
                failed[_ref(row)] = info
                if len(failed) >= _MAX_FAILED:
                    raise error  # of the tables, and not of a row
        return failed

    async def _try(self, rows: Sequence[Row]) -> ClusterError | None:
        """Write them all, or say why the cluster does not take them."""
        queues = [row for row in rows if isinstance(row, QueueRow)]
        consumers = [row for row in rows if isinstance(row, ConsumerRow)]
        mappings = [row for row in rows if isinstance(row, MappingRow)]
        try:
            await self.store.write_objects(queues, consumers, mappings)
        except QueueAgentError as error:
            if type(error) is not ClusterError:
                raise  # the table is not mounted, say: no row is to blame
            return error
        except TimeoutError:
            raise
        except Exception as error:  # noqa: BLE001 - contained: of a number that fits no column, say
            return contain("state_tables", ", ".join(str(_ref(row)) for row in rows[:_SHOWN]), error)
        return None


def _ref(row: Row) -> CrossClusterRef:
    match row:
        case QueueRow():
            return row.queue
        case ConsumerRow():
            return row.consumer
        case MappingRow():
            return row.table


def _without_content(row: Row, error: ErrorInfo) -> Row:
    match row:
        case QueueRow():
            return unfetched_queue_row(row.queue, error, None, row.revision)
        case ConsumerRow():
            return unfetched_consumer_row(row.consumer, error, None, row.revision)
        case MappingRow():
            return MappingRow(row.table, row.revision, row.object_type, synchronization_error=error.to_map())
