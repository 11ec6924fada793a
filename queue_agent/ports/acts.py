"""What acts and looks at rows need: clusters as the caller sees them, and a journal."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from queue_agent.core.access.acts import ActRequest
from queue_agent.core.access.looks import Look, Sight
from queue_agent.core.access.previews import Prepared
from queue_agent.core.access.sessions import Login
from queue_agent.core.state.audit_journal import AuditRecord
from queue_agent.core.values.observed import ConsumerOffset, TableDescription, TabletInfo
from queue_agent.core.values.refs import CrossClusterRef


@dataclass(frozen=True, slots=True)
class PullLimits:
    """How much may be pulled at once."""

    row_count: int
    data_weight: int
    """Bytes."""


class ActingCluster(Protocol):
    """One cluster, with the rights of whoever asks; methods raise `ClusterError` as those of `ports.Cluster` do."""

    async def get(self, path: str) -> Any: ...

    async def get_attributes(self, path: str, names: Collection[str]) -> Mapping[str, Any]: ...

    async def get_table(self, path: str) -> TableDescription: ...

    async def get_tablet_infos(self, path: str, partition_indexes: Sequence[int]) -> Mapping[int, TabletInfo]: ...

    async def select_row_values(
        self, path: str, columns: Sequence[str], rows: Collection[tuple[int, int]]
    ) -> Mapping[str, Mapping[tuple[int, int], int]]: ...

    async def read_consumer_offsets(
        self,
        consumer_path: str,
        partition_counts: Mapping[CrossClusterRef, int],
        *,
        with_meta: bool,
        name: str = "",
    ) -> Mapping[CrossClusterRef, Mapping[int, ConsumerOffset]]: ...

    async def pull_rows(
        self, path: str, partition_index: int, offset: int, most: PullLimits
    ) -> Sequence[Mapping[Any, Any]]:
        """Rows of a queue from an offset on; all strings, keys included, are bytes."""
        ...

    async def advance_consumer(
        self, consumer: CrossClusterRef, queue: CrossClusterRef, partition_index: int, current: int, target: int
    ) -> None: ...

    async def may(self, user: str, permission: str, path: str, **details: Any) -> bool:
        """Whether a user has a permission on an object."""
        ...

    async def execute(self, command: str, parameters: Mapping[str, Any], value: Any = None) -> Any: ...


class Caller(Protocol):
    """Somebody who has logged in."""

    @property
    def user(self) -> str:
        """For people and for the audit journal."""
        ...

    @property
    def login(self) -> str:
        """How the user was found out: `token` or `header`."""
        ...

    @property
    def peer(self) -> str:
        """IP address of whoever asks."""
        ...

    @property
    def session(self) -> str:
        """What tells one session from another; no secret."""
        ...

    def user_at(self, cluster: str) -> str:
        """Name by which a cluster knows the caller; AccessDenied if it does not."""
        ...

    def clusters(self, names: Collection[str]) -> AbstractAsyncContextManager[Mapping[str, ActingCluster]]:
        """Clusters by name, with the rights of the caller and no others.

        Raises:
            AccessDenied: a cluster does not know the caller.
            ClusterError: the agent does not know the cluster.
        """
        ...


class AuditStore(Protocol):
    """Where the audit journal is kept; raises `ClusterError` like a cluster."""

    async def write(self, record: AuditRecord) -> None:
        """Put a record in the place of an earlier one with the same instant and id."""
        ...


class CallerDoor(Protocol):
    """Finds out who callers are."""

    async def identify(self, cluster: str, token: str) -> str:
        """Name of the user whose token this is.

        Raises:
            AccessDenied: the cluster does not know it, or takes any token.
            ClusterError: the cluster is not known, or does not answer.
        """
        ...

    def of_tokens(self, logins: Mapping[str, Login[str]], peer: str, session: str) -> Caller: ...

    def of_name(self, user: str, peer: str) -> Caller: ...


LoginOutcome = Literal["accepted", "refused", "limited", "unavailable"]
"""`limited`: the address has failed too often; `unavailable`: the cluster did not tell."""


class LoginObserver(Protocol):
    """Hears of tokens that people and programs give."""

    def login_ended(self, outcome: LoginOutcome) -> None: ...


class RowLooker(Protocol):
    """Finds rows."""

    async def look(self, caller: Caller, look: Look) -> Sight:
        """Find rows, with the caller's right to read.

        Raises:
            AccessDenied: the caller may not read the queue.
            ActRefused: there is no such partition, or nobody knows which rows it has.
            ClusterError: the cluster did not tell, or not in time.
        """
        ...


class Desk(Protocol):
    """Where acts are asked for; raises `ActRefused` for what is not done, and `ClusterError`."""

    async def preview(self, caller: Caller, request: ActRequest) -> tuple[str, Prepared]:
        """Say what an act would do: the token by which the caller can have it done, once, and the plan."""
        ...

    async def act(self, caller: Caller, request: ActRequest, token: str) -> tuple[Prepared, Mapping[str, str]]:
        """Do what a preview has shown, if everything is still as it was; the plan, and what went wrong in partitions.

        It is done to its end even if whoever asked does not wait for that.
        """
        ...
