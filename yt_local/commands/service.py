"""Commands about the cluster itself."""

from __future__ import annotations

from typing import Any, Final

from yt_local.base.version import VERSION
from yt_local.cluster import Cluster
from yt_local.commands.command import (
    Body,
    Command,
    Parameters,
    RichPathParameter,
    light,
    unsigned,
)
from yt_local.cypress.settable_attributes import COMPRESSION_CODECS, ERASURE_CODECS
from yt_local.schema.column_types import SIMPLE_TYPES, v3_name
from yt_local.session import Session
from yt_local.tables.static.read_ranges import selection_attributes
from yt_wire import yson

DEFAULT_ROLE: Final = "default"
"""Of all proxies: no cluster here has others."""


class _None(Parameters):
    pass


class _DiscoverProxies(Parameters):
    type: str = "rpc"
    role: str = DEFAULT_ROLE


class _ParsePath(Parameters):
    path: RichPathParameter


async def _generate_timestamp(cluster: Cluster, session: Session, _: _None, __: Body) -> Any:
    with cluster.state.change():
        return {"timestamp": unsigned(cluster.state.timestamps.next())}


async def _discover_proxies(cluster: Cluster, session: Session, parameters: _DiscoverProxies, _: Body) -> Any:
    address = {"http": cluster.http_address, "rpc": cluster.rpc_address}.get(parameters.type)
    return {"proxies": [address] if address is not None and parameters.role == DEFAULT_ROLE else []}


async def _parse_ypath(_: Cluster, session: Session, parameters: _ParsePath, __: Body) -> Any:
    path = parameters.path
    attributes = {**path.attributes, **selection_attributes(path)}
    return {"path": yson.with_attributes(path.bare, attributes) if attributes else path.bare}


async def _get_supported_features(_: Cluster, session: Session, __: _None, ___: Body) -> Any:
    features = {
        "primitive_types": [v3_name(name) for name in SIMPLE_TYPES],
        "compression_codecs": sorted(COMPRESSION_CODECS),
        "erasure_codecs": sorted(ERASURE_CODECS),
        "operation_statistics_descriptions": {},
    }
    return {"features": features}


async def _get_version(_: Cluster, session: Session, __: _None, ___: Body) -> Any:
    return {"version": VERSION}


COMMANDS: Final[tuple[Command, ...]] = (
    light("generate_timestamp", _None, _generate_timestamp, transactions="ignored"),
    light("discover_proxies", _DiscoverProxies, _discover_proxies, transactions="ignored"),
    light("parse_ypath", _ParsePath, _parse_ypath, transactions="ignored"),
    light("get_version", _None, _get_version, transactions="ignored"),
    light("get_supported_features", _None, _get_supported_features, transactions="ignored"),
)
