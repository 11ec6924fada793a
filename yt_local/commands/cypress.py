"""Commands on the Cypress tree."""

from __future__ import annotations

from typing import Any, Final

from pydantic import Field

from yt_local.cluster import Cluster
from yt_local.commands.command import (
    AttributeFilter,
    Body,
    Command,
    PathParameter,
    Transactional,
    light,
    unsigned,
    volatile,
)
from yt_local.cypress.subtrees import CopyOptions
from yt_local.identity.objects import OBJECT_TYPES
from yt_local.queues.marked_tables import MARKED_TABLES, create_marked_table
from yt_local.session import Session
from yt_local.store.locks import LockMode, LockRequest
from yt_local.store.model import Node
from yt_local.store.replicated_types import TABLE_REPLICA
from yt_local.store.transaction_objects import is_versioned
from yt_wire.error import ErrorCode, YtError


class _Read(Transactional):
    path: PathParameter
    attributes: AttributeFilter = None
    max_size: int | None = Field(default=None, ge=0)
    return_only_value: bool = False


class _Path(Transactional):
    path: PathParameter


class _SetAttributes(_Path):
    force: bool = False


class _Create(Transactional):
    type: str
    path: PathParameter | None = None
    attributes: dict[str, Any] = Field(default_factory=dict)
    recursive: bool = False
    ignore_existing: bool = False
    ignore_type_mismatch: bool = False
    lock_existing: bool = False
    force: bool = False


class _Set(Transactional):
    path: PathParameter
    recursive: bool = False
    force: bool = False


class _Remove(Transactional):
    path: PathParameter
    recursive: bool = False
    force: bool = False


class _Copy(Transactional):
    source_path: PathParameter
    destination_path: PathParameter
    recursive: bool = False
    force: bool = False
    ignore_existing: bool = False
    lock_existing: bool = False
    preserve_account: bool = False
    preserve_owner: bool = False
    preserve_acl: bool = False
    preserve_creation_time: bool | None = None
    preserve_modification_time: bool = False
    preserve_expiration_time: bool = False
    preserve_expiration_timeout: bool = False


class _Link(Transactional):
    target_path: PathParameter
    link_path: PathParameter
    recursive: bool = False
    force: bool = False
    ignore_existing: bool = False
    lock_existing: bool = False


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


async def _get(cluster: Cluster, session: Session, parameters: _Read, _: Body) -> Any:
    view = cluster.view(session.transaction_id)
    value = await cluster.get(session, view, parameters.path, parameters.attributes, parameters.max_size)
    return value if parameters.return_only_value else {"value": value}


async def _list(cluster: Cluster, session: Session, parameters: _Read, _: Body) -> Any:
    view = cluster.view(session.transaction_id)
    names = await cluster.list(session, view, parameters.path, parameters.attributes, parameters.max_size)
    return names if parameters.return_only_value else {"value": names}


async def _exists(cluster: Cluster, session: Session, parameters: _Path, _: Body) -> Any:
    return {"value": await cluster.exists(session, cluster.view(session.transaction_id), parameters.path)}


async def _create(cluster: Cluster, session: Session, parameters: _Create, _: Body) -> Any:
    if parameters.path is None and parameters.type in OBJECT_TYPES:
        object_id = cluster.security.create(
            session.access, parameters.type, parameters.attributes, ignore_existing=parameters.ignore_existing
        )
        return {"object_id": object_id}
    if parameters.type == TABLE_REPLICA:
        return {"object_id": cluster.replicas.create(session.access, parameters.attributes)}
    if parameters.path is None:
        raise YtError(f'Cannot create an object of type "{parameters.type}" without a path')
    options = {
        "recursive": parameters.recursive,
        "ignore_existing": parameters.ignore_existing,
        "lock_existing": parameters.lock_existing,
        "force": parameters.force,
    }
    view = cluster.view(session.transaction_id)
    if parameters.type in MARKED_TABLES:
        node_id = create_marked_table(
            view.state,
            view.cypress,
            view.tablets,
            session.access,
            parameters.path,
            parameters.type,
            parameters.attributes,
            **options,
        )
        return {"node_id": node_id}
    node_id = view.cypress.create(
        session.access,
        parameters.path,
        parameters.type,
        parameters.attributes,
        ignore_type_mismatch=parameters.ignore_type_mismatch,
        **options,
    )
    return {"node_id": node_id}


async def _set(cluster: Cluster, session: Session, parameters: _Set, body: Body) -> Any:
    cypress = cluster.view(session.transaction_id).cypress
    cypress.set(session.access, parameters.path, body.value, recursive=parameters.recursive, force=parameters.force)
    return {}


async def _multiset_attributes(cluster: Cluster, session: Session, parameters: _SetAttributes, body: Body) -> Any:
    if not isinstance(body.value, dict):
        raise YtError("multiset_attributes needs a map of attributes")
    cypress = cluster.view(session.transaction_id).cypress
    cypress.multiset_attributes(session.access, parameters.path, body.value, force=parameters.force)
    return {}


async def _remove(cluster: Cluster, session: Session, parameters: _Remove, _: Body) -> Any:
    cypress = cluster.view(session.transaction_id).cypress
    cypress.remove(session.access, parameters.path, recursive=parameters.recursive, force=parameters.force)
    return {}


async def _copy(cluster: Cluster, session: Session, parameters: _Copy, _: Body) -> Any:
    return _copied(cluster, session, parameters, move=False)


async def _move(cluster: Cluster, session: Session, parameters: _Copy, _: Body) -> Any:
    return _copied(cluster, session, parameters, move=True)


def _copied(cluster: Cluster, session: Session, parameters: _Copy, *, move: bool) -> Any:
    kept = {
        "account": parameters.preserve_account,
        "owner": parameters.preserve_owner,
        "acl": parameters.preserve_acl or move,
        "inherit_acl": parameters.preserve_acl or move,
        "creation_time": move if parameters.preserve_creation_time is None else parameters.preserve_creation_time,
        "modification_time": parameters.preserve_modification_time,
        "expiration_time": parameters.preserve_expiration_time,
        "expiration_timeout": parameters.preserve_expiration_timeout,
    }
    options = CopyOptions(
        recursive=parameters.recursive,
        force=parameters.force,
        ignore_existing=parameters.ignore_existing,
        lock_existing=parameters.lock_existing,
        keep={name for name, wanted in kept.items() if wanted},
    )
    cypress = cluster.view(session.transaction_id).cypress
    return {
        "node_id": cypress.copy(session.access, parameters.source_path, parameters.destination_path, options, move=move)
    }


async def _link(cluster: Cluster, session: Session, parameters: _Link, _: Body) -> Any:
    node_id = cluster.view(session.transaction_id).cypress.link(
        session.access,
        parameters.target_path,
        parameters.link_path,
        recursive=parameters.recursive,
        force=parameters.force,
        ignore_existing=parameters.ignore_existing,
        lock_existing=parameters.lock_existing,
    )
    return {"node_id": node_id}


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
    light("get", _Read, _get, transactions="taken"),
    light("list", _Read, _list, transactions="taken"),
    light("exists", _Path, _exists, transactions="taken"),
    volatile("create", _Create, _create, transactions="taken"),
    volatile("set", _Set, _set, input_type="structured", transactions="taken"),
    volatile(
        "multiset_attributes", _SetAttributes, _multiset_attributes, input_type="structured", transactions="taken"
    ),
    volatile("remove", _Remove, _remove, transactions="taken"),
    volatile("copy", _Copy, _copy, transactions="taken"),
    volatile("move", _Copy, _move, transactions="taken"),
    volatile("link", _Link, _link, transactions="taken"),
    volatile("lock", _Lock, _lock, transactions="taken"),
    volatile("unlock", _Path, _unlock, transactions="taken"),
)
