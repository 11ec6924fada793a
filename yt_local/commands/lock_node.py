"""lock, unlock: locks of master transactions."""

from __future__ import annotations

from typing import Any, Final

from yt_local.calls.call import NOTHING, Call, Method, guid, reply
from yt_local.calls.command import Body, Command, PathParameter, Transactional, unsigned, volatile
from yt_local.calls.manual import HAS_ANOTHER_LOCK, LEADS_NOWHERE, Manual
from yt_local.calls.messages import request_parameters
from yt_local.calls.wire_types import LOCK_MODES
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_local.store.locks import LockMode, LockRequest
from yt_local.store.model import Node
from yt_local.store.transaction_objects import is_versioned
from yt_wire.connection import Reply
from yt_wire.error import ErrorCode, YtError
from yt_wire.proto import api_pb2 as api


class _Path(Transactional):
    path: PathParameter


class _Lock(_Path):
    mode: LockMode = LockMode.EXCLUSIVE
    waitable: bool = False
    child_key: str | None = None
    attribute_key: str | None = None

    @property
    def request(self) -> LockRequest:
        if self.child_key is not None and self.attribute_key is not None:
            raise YtError('Cannot specify both "child_key" and "attribute_key"')
        for name, key in (("child_key", self.child_key), ("attribute_key", self.attribute_key)):
            if key is not None and self.mode is not LockMode.SHARED:
                raise YtError(f'"{name}" can only be specified for shared locks')
        if self.child_key is not None:
            return LockRequest.of_child(self.child_key)
        if self.attribute_key is not None:
            return LockRequest.of_attribute(self.attribute_key)
        return LockRequest(self.mode)


async def _lock(cluster: Cluster, session: Session, parameters: _Lock, _: Body) -> Any:
    request = parameters.request
    transaction_id, node = _to_lock(
        cluster, session, parameters, "read" if parameters.mode is LockMode.SNAPSHOT else "write"
    )
    result = cluster.transactions.lock(transaction_id, node, request, waitable=parameters.waitable)
    return {"lock_id": result.lock.id, "node_id": node.id, "revision": unsigned(result.revision)}


async def _unlock(cluster: Cluster, session: Session, parameters: _Path, _: Body) -> Any:
    transaction_id, node = _to_lock(cluster, session, parameters, "read")
    cluster.transactions.unlock(transaction_id, node)
    return {}


def _to_lock(cluster: Cluster, session: Session, parameters: _Path, permission: str) -> tuple[str, Node]:
    """The transaction a lock is for, and the node; YtError unless the user has the permission there."""
    if parameters.transaction_id is None:
        raise YtError("A valid master transaction is required")
    view = cluster.view(session.transaction_id)
    target = view.resolver.existing(parameters.path)
    if target.attribute is not None or target.inside:
        raise YtError(f"Method is not supported: {parameters.path} is no node to lock", ErrorCode.NO_SUCH_METHOD)
    if not is_versioned(target.node.type):
        raise YtError(f'Cannot lock objects of type "{target.node.type}"')
    session.access.check(target.node, permission)
    return parameters.transaction_id, target.node


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "lock",
        _Lock,
        _lock,
        Manual(
            "A lock of the transaction on a node.",
            "`{lock_id=id; node_id=id; revision=uint64}`; `node_id` leads to the version that a snapshot lock keeps.",
            {
                1: "no transaction; `child_key` and `attribute_key` together, or with a mode other than `shared`",
                402: f"{HAS_ANOTHER_LOCK}, and the lock is not `waitable`",
                500: LEADS_NOWHERE,
            },
            differs="Snapshot locks of dynamic tables keep the node, not its rows.",
            parameters={
                "mode": "the mode",
                "waitable": "the lock may come later",
                "child_key": "of a shared lock: that child alone",
                "attribute_key": "of a shared lock: that attribute alone",
            },
        ),
        transactions="taken",
    ),
    volatile(
        "unlock",
        _Path,
        _unlock,
        Manual(
            "Gives back the transaction's explicit locks on a node.",
            errors={1: "no transaction; the transaction has changed the node", 500: LEADS_NOWHERE},
        ),
        transactions="taken",
    ),
)


async def _rpc_lock(call: Call, request: api.TReqLockNode) -> Reply:
    mode = LOCK_MODES.get(request.mode)
    if mode is None:
        raise YtError(f"Unknown lock mode {request.mode}")
    answer = await call.execute("lock", {**request_parameters(request), "mode": mode})
    return reply(
        api.TRspLockNode(node_id=guid(answer["node_id"]), lock_id=guid(answer["lock_id"]), revision=answer["revision"])
    )


async def _rpc_unlock(call: Call, request: api.TReqUnlockNode) -> Reply:
    await call.execute("unlock", request_parameters(request))
    return NOTHING


METHODS: Final[tuple[Method, ...]] = (
    Method(api.TReqLockNode, _rpc_lock),
    Method(api.TReqUnlockNode, _rpc_unlock),
)
