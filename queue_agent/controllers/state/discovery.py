"""The Cypress synchronizer: carries attributes of queues and consumers into the state tables."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import structlog

from queue_agent.config.passes import CypressSynchronizerConfig
from queue_agent.controllers.passes.clusters import Clusters, fan_out, get_cluster
from queue_agent.controllers.passes.origins import Origins, describe_pass_error
from queue_agent.controllers.status.board import SYNCHRONIZER, Board
from queue_agent.core.discovery.synchronization import (
    Answers,
    Changes,
    MappingChanges,
    StateWrites,
    find_changes,
    find_conflict,
    find_mapping_changes,
    find_orphan_names,
    find_polled_changes,
    plan_writes,
)
from queue_agent.core.state.attributes import (
    CONSUMER_ATTRIBUTES,
    QUEUE_ATTRIBUTES,
    read_revision,
    unfetched_consumer_row,
    unfetched_queue_row,
)
from queue_agent.core.state.rows import ConsumerRow, MappingRow, QueueRow, StateRows
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.observed import ObjectRevisions
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError, ClusterUnavailable, QueueAgentError, UnexpectedError
from queue_agent.isolation import contain, isolate
from queue_agent.ports.passes import Clock, PassObserver
from queue_agent.ports.state import StateStore

log = structlog.get_logger(__name__)

_CONCURRENT_FETCHES = 200

_MAX_FAILED: Final = 10
"""Objects of which not even an error can be written."""

_SHOWN: Final = 3
"""Of the rows written together, in a log line."""

Row = QueueRow | ConsumerRow | MappingRow


@dataclass(slots=True)
class _Problems:
    """What went wrong in a pass without ending it, by cluster."""

    revisions: dict[str, ErrorInfo] = field(default_factory=dict)
    attributes: dict[str, ErrorInfo] = field(default_factory=dict)
    unmapped: dict[str, ErrorInfo] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Lookup:
    """What a pass found out before it looked at any object."""

    changes: Changes
    mapping: MappingChanges | None = None
    """None: the mapping of replicated tables is not kept."""


@dataclass(frozen=True, slots=True)
class _Agreement:
    """State tables and watch lists between which there was nothing to do; the mapping of replicated tables aside."""

    rows: StateRows
    lists: Mapping[str, ObjectRevisions]

    def covers(self, rows: StateRows, lists: Mapping[str, ObjectRevisions]) -> bool:
        """Whether these are the very same objects: with very many rows even a comparison takes its time."""
        return rows is self.rows and all(revisions is self.lists.get(name) for name, revisions in lists.items())


class Synchronizer:
    """Keeps the state tables like the clusters.

    Args:
        clusters: all the agent knows, by name; one that fails does not keep the others from being served.
        config: in force until `configure` is called.
        store: the state tables.
        board: gets alerts.
        written: set after something was written, so that others need not wait to see it.
        clock, origins, observer: of the passes.
        may_write: whether the tables are this agent's to keep, as of now.
    """

    def __init__(
        self,
        clusters: Clusters,
        config: CypressSynchronizerConfig,
        store: StateStore,
        board: Board,
        written: asyncio.Event,
        clock: Clock,
        origins: Origins,
        observer: PassObserver,
        may_write: Callable[[], bool],
    ) -> None:
        self._may_write = may_write
        self._clusters = clusters
        self._config = self._config_from_now_on = config
        self._store = store
        self._board = board
        self._written = written
        self._clock = clock
        self._origins = origins
        self._observer = observer
        self._pass_instant = clock.now()
        self._agreement: _Agreement | None = None

    def configure(self, config: CypressSynchronizerConfig) -> None:
        """Work by this configuration from the next pass on."""
        self._config_from_now_on = config

    async def do_pass(self, pass_index: int) -> None:
        """Compare tables and clusters once, and write what differs."""
        self._config = self._config_from_now_on
        self._pass_instant = self._clock.now()
        polling = self._config.policy == "polling"
        if polling and self._config.write_replicated_table_mapping:
            raise QueueAgentError("Cypress synchronizer cannot work with replicated objects in polling mode")
        origin = self._origins.make(self._pass_instant)
        rows = await self._store.read()
        problems = _Problems()
        lookup = await (self._poll if polling else self._watch)(rows, origin, problems)
        if lookup is not None:
            await self._write(await self._plan(rows, lookup, origin, problems), origin, problems)
        self._board.put_alerts(SYNCHRONIZER, _alerts(problems, polling, origin))

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        """Put on the board how the pass went; tell the observer."""
        failure = None
        if error is not None:
            origin = self._origins.make(self._pass_instant)
            failure = describe_pass_error(error, origin)
            alert = origin.error("Error performing Cypress synchronizer pass", 3002, inner_errors=[failure])
            self._board.put_alerts(SYNCHRONIZER, {"cypress_synchronizer_pass_failed": alert})
        self._board.finish_pass(SYNCHRONIZER, pass_index, self._pass_instant, failure)
        self._observer.pass_finished(SYNCHRONIZER, pass_index, seconds, error)

    async def _poll(self, rows: StateRows, origin: Origin, problems: _Problems) -> _Lookup:
        """Policy `polling`: ask for the revision of every object in the tables."""
        refs = {*(row.queue for row in rows.queues), *(row.consumer for row in rows.consumers)}
        answers = await self._ask(refs, ("attribute_revision",), problems.revisions, origin)
        revisions = {
            ref: answer if isinstance(answer, ErrorInfo) else read_revision(answer, origin)
            for ref, answer in answers.items()
        }
        return _Lookup(find_polled_changes(revisions, rows))

    async def _watch(self, rows: StateRows, origin: Origin, problems: _Problems) -> _Lookup | None:
        """Policy `watching`: compare the tables with the clusters' lists of queues and consumers.

        None: they agreed, and neither has changed since.
        """
        lists = await self._read_watch_lists(origin, problems)
        if not self._config.write_replicated_table_mapping:
            if self._agreement is not None and self._agreement.covers(rows, lists):
                return None
            changes = find_changes(lists, rows)
            agree = not changes.any and not find_orphan_names(rows)
            self._agreement = _Agreement(rows, lists) if agree else None
            return _Lookup(changes)
        changes = find_changes(lists, rows)
        if rows.mappings is None:
            raise ClusterError("The replicated table mapping cannot be read")
        mapping = find_mapping_changes(lists, rows, changes)
        for ref in mapping.unmapped:
            problems.unmapped[ref.cluster] = origin.error(
                f'No replicated table mapping row is known for object "{ref}"', attributes={"path": ref.path}
            )
        return _Lookup(changes, mapping)

    async def _read_watch_lists(self, origin: Origin, problems: _Problems) -> dict[str, ObjectRevisions]:
        """Those of the clusters that have a usable one, by cluster name."""
        watched = self._clusters if self._config.clusters is None else self._config.clusters

        async def read(name: str) -> ObjectRevisions:
            return await get_cluster(self._clusters, name).get_object_revisions()

        lists: dict[str, ObjectRevisions] = {}
        for name, answer in (await fan_out(read, watched, limit=max(len(watched), 1))).items():
            if isinstance(answer, ClusterError):
                problems.revisions[name] = origin.cluster_error(answer)
                log.warning("object revisions not fetched", cluster=name, error=str(answer))
                continue
            conflict = find_conflict(answer)
            if conflict is None:
                lists[name] = answer
            else:
                problems.revisions[name] = origin.error(
                    f"Set of queues and consumers must not intersect, but they do (ObjectPath: {conflict})"
                )
        return lists

    async def _plan(self, rows: StateRows, lookup: _Lookup, origin: Origin, problems: _Problems) -> StateWrites:
        """Fetch the attributes that are needed, and make rows of them."""
        changes, mapping = lookup.changes, lookup.mapping
        queues = {*changes.queues_to_fetch, *(mapping.queues_to_look_at if mapping else ())}
        consumers = {*changes.consumers_to_fetch, *(mapping.consumers_to_look_at if mapping else ())}
        return plan_writes(
            rows,
            changes,
            await self._ask(queues, QUEUE_ATTRIBUTES, problems.attributes, origin),
            await self._ask(consumers, CONSUMER_ATTRIBUTES, problems.attributes, origin),
            self._config.chaos_replicated_table_queue_agent_stage,
            mapping,
            origin,
            lambda ref, work: _isolated(ref, work, origin),
        )

    async def _write(self, writes: StateWrites, origin: Origin, problems: _Problems) -> None:
        if not writes.counts:
            return
        if not self._may_write():
            raise QueueAgentError("Cannot write the state tables: another agent may have taken them over")
        await self._store.delete_objects(writes.gone_queues, writes.gone_consumers, writes.gone_mappings)
        await self._store.delete_consumer_names(writes.gone_names)
        failed = await StateWriter(self._store, origin).write([*writes.queues, *writes.consumers, *writes.mappings])
        for ref, error in failed.items():
            problems.attributes[ref.cluster] = error
        self._written.set()
        log.info("state tables written", **writes.counts)

    async def _ask(
        self, refs: Collection[CrossClusterRef], names: Collection[str], silent: dict[str, ErrorInfo], origin: Origin
    ) -> Answers:
        """Attributes of the objects whose cluster answered, be it by an error; errors of the others go to `silent`."""

        async def ask(ref: CrossClusterRef) -> Mapping[str, Any]:
            return await get_cluster(self._clusters, ref.cluster).get_attributes(ref.path, names)

        answers: dict[CrossClusterRef, Mapping[str, Any] | ErrorInfo] = {}
        for ref, answer in (await fan_out(ask, sorted(refs), limit=_CONCURRENT_FETCHES)).items():
            if not isinstance(answer, ClusterError):
                answers[ref] = answer
            elif isinstance(answer, ClusterUnavailable) or ref.cluster not in self._clusters:
                silent[ref.cluster] = origin.cluster_error(answer)
            else:
                answers[ref] = origin.cluster_error(answer)
        return answers


def _isolated(ref: CrossClusterRef, work: Callable[[], Any], origin: Origin) -> Any:
    result = isolate("discovery", ref, work)
    return origin.cluster_error(result) if isinstance(result, UnexpectedError) else result


def _alerts(problems: _Problems, polling: bool, origin: Origin) -> Mapping[str, ErrorInfo]:
    objects = "object revisions" if polling else "queue agent object revisions"
    verb = "fetching" if polling else "retrieving"
    found = (
        (
            "cypress_synchronizer_unable_to_fetch_object_revisions",
            3000,
            f"Error {verb} {objects} from clusters",
            problems.revisions,
        ),
        (
            "cypress_synchronizer_unable_to_fetch_attributes",
            3001,
            "Error fetching attributes from clusters",
            problems.attributes,
        ),
        (
            "cypress_synchronizer_missing_replicated_table_mapping_objects",
            3004,
            "Objects of replicated types are missing in the replicated table mapping",
            problems.unmapped,
        ),
    )
    return {
        category: origin.error(message, code, inner_errors=_tagged(errors))
        for category, code, message, errors in found
        if errors
    }


def _tagged(errors: Mapping[str, ErrorInfo]) -> list[ErrorInfo]:
    return [
        ErrorInfo(error.message, error.code, {**error.attributes, "cluster": cluster}, error.inner_errors)
        for cluster, error in sorted(errors.items())
    ]


@dataclass(frozen=True, slots=True)
class StateWriter:
    """Writes rows together; where that fails, in halves, until those are found that cannot be written.

    A row that cannot be written is replaced by one that says so, which has the revision of the object: it is tried
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
