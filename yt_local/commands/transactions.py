"""Commands that begin, keep and end transactions, of masters and of tablets."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

from yt_local.base.ids import TABLET_TRANSACTION_TYPES
from yt_local.cluster import Cluster
from yt_local.commands.command import (
    Body,
    Command,
    Parameters,
    Prerequisites,
    TransactionId,
    unsigned,
    volatile,
)
from yt_local.session import Session
from yt_local.tables.dynamic.tablet_transaction import Atomicity
from yt_local.tables.dynamic.tablet_transactions import DEFAULT_TIMEOUT
from yt_wire.error import YtError
from yt_wire.guid import Guid


def _instant(value: Any) -> Any:
    """An instant as clients write them, ISO 8601 or milliseconds since the epoch; None if none is given."""
    if isinstance(value, str):
        moment = datetime.fromisoformat(value)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return datetime.fromtimestamp(value / 1000, UTC)
        except (OverflowError, OSError) as error:
            raise ValueError("not an instant") from error
    return value


class _Start(Parameters):
    type: Literal["master", "tablet"] = "master"
    timeout: Annotated[int, Field(gt=0, lt=2**53)] | None = None
    deadline: Annotated[datetime | None, BeforeValidator(_instant)] = None
    transaction_id: TransactionId = None
    prerequisite_transaction_ids: list[str] = Field(default_factory=list)
    atomicity: Atomicity = "full"
    attributes: dict[str, Any] | None = None


class _Transaction(Parameters):
    transaction_id: TransactionId = None

    @property
    def required_id(self) -> str:
        if self.transaction_id is None:
            raise YtError("Transaction id is required")
        return self.transaction_id


class _Ping(_Transaction):
    ping_ancestor_transactions: bool = False


class _Commit(Prerequisites, _Transaction):
    def check(self, cluster: Cluster, session: Session) -> None:
        """As for others; without its prerequisites the transaction is over."""
        try:
            super().check(cluster, session)
        except YtError:
            _end(cluster, session, self.required_id)
            raise


async def _start(cluster: Cluster, session: Session, parameters: _Start, _: Body) -> Any:
    deadline = None if parameters.deadline is None else parameters.deadline.timestamp()
    if parameters.type == "master":
        transaction_id = cluster.transactions.start(
            DEFAULT_TIMEOUT if parameters.timeout is None else parameters.timeout,
            deadline=deadline,
            parent_id=parameters.transaction_id,
            prerequisite_ids=parameters.prerequisite_transaction_ids,
            attributes=parameters.attributes,
            owner=session.access.user,
        ).id
        return {"transaction_id": transaction_id}
    if parameters.transaction_id is not None:
        raise YtError("Tablet transaction cannot have a parent")
    if parameters.prerequisite_transaction_ids:
        raise YtError("Tablet transaction cannot have prerequisites")
    transaction = cluster.tablet_transactions.start(
        DEFAULT_TIMEOUT if parameters.timeout is None else parameters.timeout,
        deadline,
        parameters.atomicity,
    )
    return {"transaction_id": transaction.id}


async def _ping(cluster: Cluster, session: Session, parameters: _Ping, _: Body) -> Any:
    if parameters.transaction_id is None:
        return {}
    if _is_of_tablets(parameters.transaction_id):
        cluster.tablet_transactions.get(parameters.transaction_id)
    else:
        cluster.transactions.ping(parameters.transaction_id, ancestors=parameters.ping_ancestor_transactions)
    return {}


async def _commit(cluster: Cluster, session: Session, parameters: _Commit, _: Body) -> Any:
    if _is_of_tablets(parameters.required_id):
        timestamp = cluster.tablet_transactions.commit(parameters.required_id)
    else:
        _check_owner(cluster, session, parameters.required_id)
        timestamp = cluster.transactions.commit(parameters.required_id)
    return {"primary_commit_timestamp": unsigned(timestamp), "commit_timestamps": {}}


async def _abort(cluster: Cluster, session: Session, parameters: _Transaction, _: Body) -> Any:
    _end(cluster, session, parameters.required_id)
    return {}


def _end(cluster: Cluster, session: Session, transaction_id: str) -> None:
    if _is_of_tablets(transaction_id):
        cluster.tablet_transactions.abort(transaction_id)
    else:
        _check_owner(cluster, session, transaction_id)
        cluster.transactions.abort(transaction_id)


def _check_owner(cluster: Cluster, session: Session, transaction_id: str) -> None:
    """YtError 11000 if there is no such master transaction, 901 if the user may not end it."""
    transaction = cluster.state.versions.transaction(transaction_id)
    session.access.check(cluster.state.node(transaction.id), "write")


def _is_of_tablets(transaction_id: str) -> bool:
    return Guid.parse(transaction_id).object_type in TABLET_TRANSACTION_TYPES


COMMANDS: Final[tuple[Command, ...]] = (
    volatile("start_transaction", _Start, _start, transactions="taken"),
    volatile("ping_transaction", _Ping, _ping, transactions="taken", changes=False),
    volatile("commit_transaction", _Commit, _commit, transactions="taken"),
    volatile("abort_transaction", _Transaction, _abort, transactions="taken"),
)
