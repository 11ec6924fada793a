"""AgentGroup by Cypress: a node that every agent holds a shared lock on, in a transaction of its own that it pings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import structlog

from queue_agent.adapters.cluster.light_commands import LightCommand
from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.adapters.cluster.yt_errors import has_code
from queue_agent.core.group.members import GroupView
from queue_agent.errors import ClusterError, ObjectNotFound
from yt_wire import yson
from yt_wire.error import ErrorCode
from yt_wire.ypath import escape_literal

log = structlog.get_logger(__name__)

INSTANCES: Final = "instances"
MEMBERS: Final = "members"
LEADER_LOCK: Final = "leader_lock"


class CypressGroup:
    """`ports.AgentGroup`.

    Args:
        cluster: holds the state.
        root: directory of the state tables.
        stage: whose agents these are.
        address: `host:port` of this agent, by which others know it and reach it.
    """

    def __init__(self, cluster: YtCluster, root: str, stage: str, address: str) -> None:
        self._cluster = cluster
        self._address = address
        self._instances = f"{root}/{INSTANCES}"
        self._members = f"{root}/{MEMBERS}/{escape_literal(stage)}"
        self._leader_lock = f"{root}/{LEADER_LOCK}"
        self._questions = (
            LightCommand.of("list", self._instances, attributes=["banned"]),
            LightCommand.of("get", f"{self._members}/@locks"),
            LightCommand.of("get", f"{self._leader_lock}/@locks"),
        )
        self._is_prepared = False

    async def join(self, lease: float) -> str:
        """Become a member; see the port."""
        milliseconds = round(lease * 1000)
        if not self._is_prepared:
            await self._prepare(milliseconds)
            self._is_prepared = True  # a slow cluster leaves no time for that in every attempt
        try:
            return await self._enter(lease, milliseconds)
        except ObjectNotFound:
            self._is_prepared = False
            raise

    async def _enter(self, lease: float, milliseconds: int) -> str:
        agreed = await self._cluster.get(f"{self._members}/@lease")
        if agreed != milliseconds:
            raise ClusterError(
                f"Agents of a stage must have the same membership.lease: it is {milliseconds} ms here and {agreed} ms"
                f" in {self._members}/@lease, which may be changed while no agent of the stage runs"
            )
        attributes = {"title": f"Queue agent {self._address}", "host": self._address}
        answer = await self._cluster.execute("start_transaction", {"timeout": milliseconds, "attributes": attributes})
        membership = str(answer["transaction_id"])
        try:
            await self._lock(membership, self._members, mode="shared", child_key=self._address)
        except ClusterError as error:
            await self._abandon(membership)
            if has_code(error, ErrorCode.CYPRESS_LOCK_CONFLICT):
                raise ClusterError(
                    f"An agent with the address {self._address} is a member already; if it has died, its membership"
                    f" ends within {lease:g} s",
                    error.code,
                ) from error
            raise
        return membership

    async def register(self) -> None:
        """See the port."""
        instance = f"{self._instances}/{escape_literal(self._address)}"
        await self._create("map_node", instance, {})
        try:
            await self._create("orchid", f"{instance}/orchid", {"remote_addresses": {"default": self._address}})
        except ClusterError as error:  # it is for people who browse; without it all else goes well
            log.warning("orchid node not made", path=f"{instance}/orchid", error=str(error))

    async def ping(self, membership: str) -> None:
        """Prolong a membership; see the port."""
        try:
            await self._cluster.execute("ping_transaction", {"transaction_id": membership})
        except ClusterError as error:
            if has_code(error, ErrorCode.NO_SUCH_TRANSACTION):
                raise ClusterError(error.message, ErrorCode.NO_SUCH_TRANSACTION, error.details) from error
            raise

    async def leave(self, membership: str) -> None:
        """End a membership, and give back what it has locked."""
        await self._cluster.execute("abort_transaction", {"transaction_id": membership})

    async def look(self) -> GroupView:
        """Who is there now, by one request."""
        instances, members, synchronizer = await self._cluster.run_light(self._questions)
        return GroupView(
            members={
                str(lock["child_key"])
                for lock in members["value"]
                if "child_key" in lock and lock.get("state") == "acquired"
            },
            instances={str(name): is_true(yson.attributes_of(name).get("banned")) for name in instances["value"]},
            synchronizer=next(
                (
                    str(lock["transaction_id"])
                    for lock in synchronizer["value"]
                    if lock.get("mode") == "exclusive" and lock.get("state") == "acquired"
                ),
                None,
            ),
        )

    async def claim_synchronizer(self, membership: str) -> bool:
        """Try to become the one that keeps the state tables; False if another is."""
        try:
            await self._lock(membership, self._leader_lock, mode="exclusive")
        except ClusterError as error:
            if has_code(error, ErrorCode.CYPRESS_LOCK_CONFLICT):
                return False
            raise
        return True

    async def resign_synchronizer(self, membership: str) -> None:
        """Let another keep the state tables."""
        await self._cluster.execute("unlock", {"path": self._leader_lock, "transaction_id": membership})

    async def _abandon(self, membership: str) -> None:
        """Leave for a reason that is going to be told."""
        try:
            await self.leave(membership)
        except ClusterError as error:
            log.warning("transaction not aborted", transaction=membership, error=str(error))

    async def _lock(self, membership: str, path: str, **parameters: Any) -> None:
        await self._cluster.execute("lock", {"path": path, "transaction_id": membership, **parameters})

    async def _prepare(self, lease: int) -> None:
        """Make the nodes that are needed: the agent's own is there before it can be a member."""
        await self.register()
        await self._create("map_node", self._leader_lock, {})
        await self._create("map_node", self._members, {"lease": lease})

    async def _create(self, kind: str, path: str, attributes: Mapping[str, Any]) -> None:
        parameters = {"type": kind, "path": path, "attributes": attributes, "recursive": True, "ignore_existing": True}
        await self._cluster.execute("create", parameters)


def is_true(value: Any) -> bool:
    """Whether a ban is one; `yt set ... true` makes a string of it."""
    return value == "true" if isinstance(value, str) else isinstance(value, int) and value == 1


async def set_ban(cluster: YtCluster, root: str, address: str, banned: bool) -> None:
    """Let an agent lead nothing, or let it lead again; ObjectNotFound if no such agent was ever registered."""
    node = f"{root}/{INSTANCES}/{escape_literal(address)}"
    await cluster.get(f"{node}/@id")
    if banned:
        await cluster.execute("set", {"path": f"{node}/@banned"}, True)
        return
    try:
        await cluster.execute("remove", {"path": f"{node}/@banned"})
    except ObjectNotFound:
        log.debug("not banned", address=address)
