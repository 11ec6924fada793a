"""Commands on the Cypress tree."""

from __future__ import annotations

from typing import Any, Final

from pydantic import Field

from queue_agent.local_cluster.cluster import Cluster
from queue_agent.local_cluster.commands.command import (
    AttributeFilter,
    Body,
    Command,
    Parameters,
    PathParameter,
    light,
    volatile,
)
from queue_agent.local_cluster.marked_tables import MARKED_TABLES, create_marked_table
from queue_agent.local_cluster.security import OBJECT_TYPES
from queue_agent.local_cluster.subtrees import CopyOptions
from queue_agent.wire.error import YtError


class _Read(Parameters):
    path: PathParameter
    attributes: AttributeFilter = None
    max_size: int | None = Field(default=None, ge=0)
    return_only_value: bool = False


class _Path(Parameters):
    path: PathParameter


class _SetAttributes(_Path):
    force: bool = False


class _Create(Parameters):
    type: str
    path: PathParameter | None = None
    attributes: dict[str, Any] = Field(default_factory=dict)
    recursive: bool = False
    ignore_existing: bool = False
    ignore_type_mismatch: bool = False
    force: bool = False


class _Set(Parameters):
    path: PathParameter
    recursive: bool = False
    force: bool = False


class _Remove(Parameters):
    path: PathParameter
    recursive: bool = False
    force: bool = False


class _Copy(Parameters):
    source_path: PathParameter
    destination_path: PathParameter
    recursive: bool = False
    force: bool = False
    ignore_existing: bool = False
    preserve_account: bool = False
    preserve_owner: bool = False
    preserve_acl: bool = False
    preserve_creation_time: bool | None = None
    preserve_modification_time: bool = False
    preserve_expiration_time: bool = False
    preserve_expiration_timeout: bool = False


class _Link(Parameters):
    target_path: PathParameter
    link_path: PathParameter
    recursive: bool = False
    force: bool = False
    ignore_existing: bool = False


async def _get(cluster: Cluster, parameters: _Read, _: Body) -> Any:
    value = await cluster.get(parameters.path, parameters.attributes, parameters.max_size)
    return value if parameters.return_only_value else {"value": value}


async def _list(cluster: Cluster, parameters: _Read, _: Body) -> Any:
    names = cluster.cypress.list(parameters.path, parameters.attributes, parameters.max_size)
    return names if parameters.return_only_value else {"value": names}


async def _exists(cluster: Cluster, parameters: _Path, _: Body) -> Any:
    return {"value": cluster.cypress.exists(parameters.path)}


async def _create(cluster: Cluster, parameters: _Create, _: Body) -> Any:
    if parameters.path is None and parameters.type in OBJECT_TYPES:
        object_id = cluster.security.create(
            parameters.type, parameters.attributes, ignore_existing=parameters.ignore_existing
        )
        return {"object_id": object_id}
    if parameters.path is None:
        raise YtError(f'Cannot create an object of type "{parameters.type}" without a path')
    options = {
        "recursive": parameters.recursive,
        "ignore_existing": parameters.ignore_existing,
        "force": parameters.force,
    }
    if parameters.type in MARKED_TABLES:
        node_id = create_marked_table(
            cluster.state,
            cluster.cypress,
            cluster.tablets,
            parameters.path,
            parameters.type,
            parameters.attributes,
            **options,
        )
        return {"node_id": node_id}
    node_id = cluster.cypress.create(
        parameters.path,
        parameters.type,
        parameters.attributes,
        ignore_type_mismatch=parameters.ignore_type_mismatch,
        **options,
    )
    return {"node_id": node_id}


async def _set(cluster: Cluster, parameters: _Set, body: Body) -> Any:
    cluster.cypress.set(parameters.path, body.value, recursive=parameters.recursive, force=parameters.force)
    return {}


async def _multiset_attributes(cluster: Cluster, parameters: _SetAttributes, body: Body) -> Any:
    if not isinstance(body.value, dict):
        raise YtError("multiset_attributes needs a map of attributes")
    cluster.cypress.multiset_attributes(parameters.path, body.value, force=parameters.force)
    return {}


async def _remove(cluster: Cluster, parameters: _Remove, _: Body) -> Any:
    cluster.cypress.remove(parameters.path, recursive=parameters.recursive, force=parameters.force)
    return {}


async def _copy(cluster: Cluster, parameters: _Copy, _: Body) -> Any:
    return _copied(cluster, parameters, move=False)


async def _move(cluster: Cluster, parameters: _Copy, _: Body) -> Any:
    return _copied(cluster, parameters, move=True)


def _copied(cluster: Cluster, parameters: _Copy, *, move: bool) -> Any:
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
        keep={name for name, wanted in kept.items() if wanted},
    )
    return {"node_id": cluster.cypress.copy(parameters.source_path, parameters.destination_path, options, move=move)}


async def _link(cluster: Cluster, parameters: _Link, _: Body) -> Any:
    node_id = cluster.cypress.link(
        parameters.target_path,
        parameters.link_path,
        recursive=parameters.recursive,
        force=parameters.force,
        ignore_existing=parameters.ignore_existing,
    )
    return {"node_id": node_id}


COMMANDS: Final[tuple[Command, ...]] = (
    light("get", _Read, _get),
    light("list", _Read, _list),
    light("exists", _Path, _exists),
    volatile("create", _Create, _create),
    volatile("set", _Set, _set, input_type="structured"),
    volatile("multiset_attributes", _SetAttributes, _multiset_attributes, input_type="structured"),
    volatile("remove", _Remove, _remove),
    volatile("copy", _Copy, _copy),
    volatile("move", _Copy, _move),
    volatile("link", _Link, _link),
)
