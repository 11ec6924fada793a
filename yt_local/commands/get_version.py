"""get_version, get_supported_features: what a cluster is able to do."""

from __future__ import annotations

from typing import Any, Final

from yt_local.base.version import VERSION
from yt_local.calls.call import Method
from yt_local.calls.command import Body, Command, NoParameters, light
from yt_local.calls.manual import Manual
from yt_local.cluster import Cluster
from yt_local.cypress.settable_attributes import COMPRESSION_CODECS, ERASURE_CODECS
from yt_local.schema.column_types import SIMPLE_TYPES, v3_name
from yt_local.session import Session


async def _get_supported_features(_: Cluster, session: Session, __: NoParameters, ___: Body) -> Any:
    features = {
        "primitive_types": [v3_name(name) for name in SIMPLE_TYPES],
        "compression_codecs": sorted(COMPRESSION_CODECS),
        "erasure_codecs": sorted(ERASURE_CODECS),
        "operation_statistics_descriptions": {},
    }
    return {"features": features}


async def _get_version(_: Cluster, session: Session, __: NoParameters, ___: Body) -> Any:
    return {"version": VERSION}


COMMANDS: Final[tuple[Command, ...]] = (
    light(
        "get_version",
        NoParameters,
        _get_version,
        Manual("The version of the cluster.", '`{version="24.1.0-local"}`'),
        transactions="ignored",
    ),
    light(
        "get_supported_features",
        NoParameters,
        _get_supported_features,
        Manual("What a client may use.", "`{features={}}`"),
        transactions="ignored",
    ),
)


METHODS: Final[tuple[Method, ...]] = ()
