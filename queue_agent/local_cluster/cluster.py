"""One local cluster, put together."""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from queue_agent.local_cluster.agent_status import AgentStatus
from queue_agent.local_cluster.attributes import Attributes
from queue_agent.local_cluster.authentication import Authenticator
from queue_agent.local_cluster.bootstrap import create_system_nodes
from queue_agent.local_cluster.clock import Clock
from queue_agent.local_cluster.content_attributes import find_chunk_object
from queue_agent.local_cluster.cypress import Cypress
from queue_agent.local_cluster.directory import ClusterDirectory
from queue_agent.local_cluster.documents import get_inside
from queue_agent.local_cluster.faults import Faults
from queue_agent.local_cluster.housekeeping import Housekeeping
from queue_agent.local_cluster.mutations import Mutations
from queue_agent.local_cluster.orchid_gateway import OrchidGateway
from queue_agent.local_cluster.permissions import UNLIMITED, Permissions
from queue_agent.local_cluster.producers import Producers
from queue_agent.local_cluster.queues import Queues
from queue_agent.local_cluster.registrations import Registrations
from queue_agent.local_cluster.request_log import RequestLog
from queue_agent.local_cluster.resolver import Resolver
from queue_agent.local_cluster.row_locks import LockHistory
from queue_agent.local_cluster.security import Security
from queue_agent.local_cluster.state import ClusterState
from queue_agent.local_cluster.storage import Storage
from queue_agent.local_cluster.subjects import Subjects
from queue_agent.local_cluster.table_writer import TableWriter
from queue_agent.local_cluster.tables import DynamicTables
from queue_agent.local_cluster.tablet_transactions import TabletTransactions
from queue_agent.local_cluster.tablets import Tablets
from queue_agent.local_cluster.tokens import Tokens
from queue_agent.wire.error import YtError

if TYPE_CHECKING:
    from queue_agent.local_cluster.commands.command import Body, Command

_FIRST_CELL_TAG = 1001


class Cluster:
    """A cluster with its tree, its tables and its commands.

    Args:
        name: as other clusters call it.
        address: `host:port` of its HTTP proxy.
        file: where its state is kept; None for memory.
        commands: what it can be asked to do.
        directory: the clusters it knows; it adds itself.
        gateway: its way to queue agents.
        clock: its time.
        require_token: whether requests without a valid token are refused.

    It acts as root, unless it comes from `acting_as`.
    """

    def __init__(
        self,
        name: str,
        address: str,
        file: Path | None,
        commands: Mapping[str, Command],
        directory: ClusterDirectory,
        gateway: OrchidGateway,
        clock: Clock,
        *,
        require_token: bool = False,
    ) -> None:
        self.name = name
        self.http_address = address
        self.access = UNLIMITED
        self.commands = commands
        self.faults = Faults(commands)
        self.requests = RequestLog()
        self._storage = Storage(file)
        self.state = ClusterState(self._storage, clock, _FIRST_CELL_TAG + len(list(directory)))
        self.resolver = Resolver(self.state, lambda object_id: find_chunk_object(self.state, self.resolver, object_id))
        self._attributes = Attributes(self.state, self.resolver)
        self.tablets = Tablets(self.state, self.resolver)
        self.cypress = Cypress(self.state, self.resolver, self._attributes, self.tablets)
        self.tables = DynamicTables(self.state, self.resolver)
        history = LockHistory()
        self.writer = TableWriter(self.state, self.tables, history, random.Random())
        self.tablet_transactions = TabletTransactions(self.state, self.writer, history)
        self.registrations = Registrations(name, self.resolver, directory)
        self.queues = Queues(name, self.registrations, directory)
        self.producers = Producers(name, self.resolver, self.tables, self.writer)
        self._agent_status = AgentStatus(name, self.cypress, self.resolver, self._attributes, gateway)
        self._mutations = Mutations(clock)
        self.permissions = Permissions(self.state, self.resolver)
        self.subjects = Subjects(self.state)
        self.security = Security(self.state, self._attributes)
        self.tokens = Tokens(self.state, self.resolver, self.cypress)
        self.authenticator = Authenticator(self.tokens, self.subjects, require_token=require_token)
        self.housekeeping = Housekeeping(self.state)
        directory.add(self)
        create_system_nodes(self.state, self.cypress, self.tablets, self.security, name, address)

    def close(self) -> None:
        self._storage.close()

    def acting_as(self, user: str) -> Cluster:
        """The same cluster, doing what this user may do.

        Raises:
            YtError: 900 if there is no such user.
        """
        if user == self.access.user:
            return self
        view = copy.copy(self)
        view.access = access = self.permissions.access(user)
        view.tablets = self.tablets.acting_as(access)
        view.cypress = self.cypress.acting_as(access)
        view.tables = self.tables.acting_as(access)
        view.writer = self.writer.acting_as(access)
        view.registrations = self.registrations.acting_as(access)
        view.queues = self.queues.acting_as(access)
        view.producers = self.producers.acting_as(access)
        view.security = self.security.acting_as(access)
        view.tokens = self.tokens.acting_as(access)
        return view

    def command(self, name: str) -> Command:
        """A command by its name; YtError if there is none."""
        command = self.commands.get(name)
        if command is None:
            raise YtError(f'Unknown command "{name}"')
        return command

    async def execute(self, command: Command, parameters: Mapping[str, Any], body: Body) -> Any:
        """Run a command; one that is repeated with its mutation id gets the answer of its first time."""
        await self.faults.before(command.name, parameters)
        self.housekeeping.look()
        mutation_id = parameters.get("mutation_id")
        if mutation_id is None or not command.changes:
            return await command.execute(self, parameters, body)
        if not isinstance(mutation_id, str):
            raise YtError(f"Error reading parameter /mutation_id: it must be a string, got {mutation_id!r}")
        mutation_id = f"{self.access.user} {mutation_id}"  # nobody is given the answer of somebody else
        if (known := self._mutations.find(mutation_id)) is not None:
            return known
        answer = await command.execute(self, parameters, body)
        self._mutations.remember(mutation_id, answer)
        return answer

    async def get(self, path: str, names: Sequence[str] | None, max_size: int | None = None) -> Any:
        """Value at a path, as `Cypress.get`, asking a queue agent for the attributes that are its own."""
        target = self.resolver.resolve(path)
        if target.attribute and not target.missing:
            name, *keys = target.attribute
            agent_attribute = self._attributes.agent_attribute(target.node, name)
            if agent_attribute:
                self.access.check(target.node, "read")
                value = await self._agent_status.get(target.node, agent_attribute)
                return get_inside(value, keys, f"{self.resolver.path_of(target.node)}/@{name}")
        return self.cypress.get(path, names, max_size)
