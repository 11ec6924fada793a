"""One local cluster, put together."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from yt_local.base.clock import Clock
from yt_local.base.faults import Faults
from yt_local.base.mutations import Mutations
from yt_local.base.request_log import RequestLog
from yt_local.base.turns import Turns
from yt_local.bootstrap import create_first_nodes
from yt_local.cypress.agent_attributes import AGENT_ATTRIBUTES, find_agent_attribute
from yt_local.cypress.documents import get_inside
from yt_local.cypress.expiration import Expiration
from yt_local.cypress.master_transactions import MasterTransactions
from yt_local.cypress.subtrees import Subtrees
from yt_local.cypress.transaction_view import TransactionView
from yt_local.cypress.value_nodes import convert_earlier_lists
from yt_local.housekeeping import Housekeeping
from yt_local.identity.authentication import Authenticator
from yt_local.identity.objects import Security
from yt_local.identity.tokens import Tokens
from yt_local.queues.agent_status import AgentStatus
from yt_local.queues.orchid_gateway import OrchidGateway
from yt_local.queues.orchid_nodes import OrchidNodes, leads_elsewhere
from yt_local.queues.producers import Producers
from yt_local.queues.queues import Queues
from yt_local.queues.registrations import Registrations
from yt_local.rows.row_locks import LockHistory
from yt_local.security.acl import Principal
from yt_local.security.permissions import Access
from yt_local.security.subjects import Subjects
from yt_local.session import Session
from yt_local.store.state import ClusterState
from yt_local.store.storage import Storage
from yt_local.tables.dynamic.table_writer import TableWriter
from yt_local.tables.dynamic.tables import DynamicTables
from yt_local.tables.dynamic.tablet_transactions import TabletTransactions
from yt_local.tables.replication.directory import ClusterDirectory
from yt_local.tables.replication.replication import Replication
from yt_local.tables.replication.replicator import Replicator
from yt_local.tables.replication.table_replicas import TableReplicas
from yt_local.tables.view import TableView
from yt_wire import yson
from yt_wire.error import ErrorCode, YtError

_FIRST_CELL_TAG = 1001


class RunnableCommand(Protocol):
    """A command, as far as a cluster has to do with it."""

    @property
    def name(self) -> str: ...

    @property
    def input_type(self) -> str: ...

    @property
    def output_type(self) -> str: ...

    @property
    def takes_pieces(self) -> bool: ...

    @property
    def changes(self) -> bool:
        """Whether a repeat must not be done again."""
        ...

    async def execute(self, cluster: Cluster, session: Session, parameters: Mapping[str, Any], body: Any) -> Any:
        """Check the parameters and run."""
        ...


class Cluster:
    """A cluster with its tree, its tables and its commands.

    Args:
        name: as other clusters call it.
        address: `host:port` of its HTTP proxy.
        rpc_address: `host:port` of its RPC proxy.
        file: where its state is kept; None for memory.
        commands: what it can be asked to do.
        directory: the clusters it knows; it adds itself.
        gateway: its way to queue agents.
        clock: its time.
        require_token: whether requests without a valid token are refused.
    """

    def __init__(
        self,
        name: str,
        address: str,
        rpc_address: str,
        file: Path | None,
        commands: Mapping[str, RunnableCommand],
        directory: ClusterDirectory,
        gateway: OrchidGateway,
        clock: Clock,
        *,
        require_token: bool = False,
    ) -> None:
        self.name = name
        self.http_address = address
        self.rpc_address = rpc_address
        self.commands = commands
        self.faults = Faults(commands)
        self.requests = RequestLog()
        self.turns = Turns()
        self._storage = Storage(file)
        self.state = ClusterState(self._storage, clock, _FIRST_CELL_TAG + len(list(directory)))
        self.replication = Replication(self.state, directory)
        self._view = TableView(self.state, self.replication)
        self.resolver = self._view.resolver
        self.tablets = self._view.tablets
        self.cypress = self._view.cypress
        self.transactions = MasterTransactions(self.state)
        self.tables = DynamicTables(self.state, self.resolver, self.replication)
        history = LockHistory()
        self.writer = TableWriter(
            self.state, self.tables, self.replication, self._view.attributes.limits, history, random.Random()
        )
        self.replicas = TableReplicas(self.state, self.resolver)
        self.tablet_transactions = TabletTransactions(self.state, self.writer, history)
        self.registrations = Registrations(name, self.resolver, directory)
        self.queues = Queues(name, self.registrations, directory)
        self.producers = Producers(name, self.resolver, self.tables, self.writer)
        self.replicator = Replicator(self.state, self.replication, self.replicas, directory)
        self._agent_status = AgentStatus(name, self.cypress, self.resolver, self._view.attributes, gateway)
        self._orchids = OrchidNodes(gateway)
        self._mutations = Mutations(clock)
        self.permissions = self._view.permissions
        self.subjects = Subjects(self.state)
        self.security = Security(self.state, self._view.attributes)
        self.tokens = Tokens(self.state, self.resolver, self.cypress)
        self.authenticator = Authenticator(self.tokens, self.subjects, require_token=require_token)
        self.expiration = Expiration(self.state, Subtrees(self.state, self.resolver, self.tablets))
        self.housekeeping = Housekeeping(self.state, self.transactions, self.tablet_transactions, self.expiration)
        directory.add(self)
        convert_earlier_lists(self.state, self.transactions, self.cypress.value_nodes)
        create_first_nodes(self.state, self.cypress, self.tablets, self.security, name, address)

    @property
    def is_off(self) -> bool:
        """Whether it answers nobody now: a test has turned it off."""
        return self.faults.is_off

    def close(self) -> None:
        self._storage.close()

    def session_of(self, principal: Principal, transaction_id: str | None = None) -> Session:
        """A session of this user; YtError 11000 if there is no such transaction."""
        return Session(Access(principal, self.view(transaction_id).permissions), transaction_id)

    @contextmanager
    def change_within_limits(self) -> Iterator[None]:
        """Around a change of tables; YtError 902 if an account came over its limits by it, and nothing is changed."""
        with self.state.change(), self._view.attributes.limits.kept():
            yield

    def view(self, transaction_id: str | None) -> TableView:
        """The tree as a master transaction sees it, or as it is outside of all; YtError 11000 if it is not there."""
        if transaction_id is None:
            return self._view
        self.state.versions.transaction(transaction_id)
        return TableView(TransactionView(self.state, transaction_id), self.replication)

    def check_revision(self, path: str, revision: int, transaction_id: str | None) -> None:
        """YtError 1000 unless the node a transaction sees at a path is, as it has been committed, of this revision."""
        try:
            found = self.state.node(self.view(transaction_id).resolver.node(path).id).revision
        except YtError as error:
            raise YtError(
                f"Prerequisite check failed: failed to resolve path {path}",
                ErrorCode.PREREQUISITE_CHECK_FAILED,
                inner_errors=[error],
            ) from error
        if found != revision:
            raise YtError(
                f"Prerequisite check failed: node {path} revision mismatch: expected {revision:x}, found {found:x}",
                ErrorCode.PREREQUISITE_CHECK_FAILED,
            )

    def command(self, name: str) -> RunnableCommand:
        """A command by its name; YtError if there is none."""
        command = self.commands.get(name)
        if command is None:
            raise YtError(f'Unknown command "{name}"')
        return command

    async def execute(
        self, session: Session, command: RunnableCommand, parameters: Mapping[str, Any], body: Any
    ) -> Any:
        """Run a command; one that is repeated with its mutation id gets the answer of its first time."""
        await self.faults.before(command.name, parameters)
        self.housekeeping.look()
        mutation_id = parameters.get("mutation_id")
        if mutation_id is None or not command.changes:
            return await command.execute(self, session, parameters, body)
        if not isinstance(mutation_id, str):
            raise YtError(f"Error reading parameter /mutation_id: it must be a string, got {yson.shown(mutation_id)}")
        # Nobody is given the answer of somebody else, or of another command.
        mutation_id = f"{session.access.user} {command.name} {mutation_id}"
        if (known := self._mutations.find(mutation_id)) is not None:
            return known
        answer = await command.execute(self, session, parameters, body)
        self._mutations.remember(mutation_id, answer)
        return answer

    async def get(
        self, session: Session, view: TableView, path: str, names: Sequence[str] | None, max_size: int | None = None
    ) -> Any:
        """Value at a path, as `Cypress.get`, asking a queue agent for the attributes that are its own."""
        target = view.resolver.resolve(path)
        if target.attribute and not target.missing:
            name, *keys = target.attribute
            agent_attribute = find_agent_attribute(target.node, name)
            if agent_attribute:
                session.access.check(target.node, "read")
                value = await self._agent_status.get(target.node, agent_attribute)
                return get_inside(value, keys, f"{view.resolver.path_of(target.node)}/@{name}")
        if leads_elsewhere(target):
            session.access.check(target.node, "read")
            return await self._orchids.get(target)
        return await self._completed(view.cypress.get(session.access, path, names, max_size), names)

    async def list(
        self, session: Session, view: TableView, path: str, names: Sequence[str] | None, max_size: int | None = None
    ) -> Any:
        """Names at a path, as `Cypress.list`, asking the server behind an orchid node for those below it."""
        target = view.resolver.resolve(path)
        if leads_elsewhere(target):
            session.access.check(target.node, "read")
            return await self._orchids.list(target)
        return await self._completed(view.cypress.list(session.access, path, names, max_size), names)

    async def _completed(self, answer: Any, names: Sequence[str] | None) -> Any:
        """An answer with the named attributes, once agents have been asked for those that are theirs."""
        if names and not AGENT_ATTRIBUTES.keys().isdisjoint(names):
            return await self._agent_status.completed(answer)
        return answer

    async def exists(self, session: Session, view: TableView, path: str) -> bool:
        """As `Cypress.exists`, asking the server behind an orchid node for what is below it."""
        try:
            target = view.resolver.existing(path)
        except YtError as error:
            if error.code != ErrorCode.RESOLVE:
                raise
            return False
        if target.inside and leads_elsewhere(target):
            session.access.check(target.node, "read")
            return await self._orchids.exists(target)
        return view.cypress.exists(session.access, path)
