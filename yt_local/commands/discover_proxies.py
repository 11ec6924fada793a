"""discover_proxies: where proxies are."""

from __future__ import annotations

from typing import Any, Final

from yt_local.calls.call import Call, Method, reply
from yt_local.calls.command import Body, Command, Parameters, light
from yt_local.calls.manual import Manual
from yt_local.calls.messages import request_parameters
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_wire.connection import Reply
from yt_wire.proto import api_pb2 as api

DEFAULT_ROLE: Final = "default"
"""Of all proxies: no cluster here has others."""


class _DiscoverProxies(Parameters):
    type: str = "rpc"
    role: str = DEFAULT_ROLE


async def _discover_proxies(cluster: Cluster, session: Session, parameters: _DiscoverProxies, _: Body) -> Any:
    address = {"http": cluster.http_address, "rpc": cluster.rpc_address}.get(parameters.type)
    return {"proxies": [address] if address is not None and parameters.role == DEFAULT_ROLE else []}


COMMANDS: Final[tuple[Command, ...]] = (
    light(
        "discover_proxies",
        _DiscoverProxies,
        _discover_proxies,
        Manual(
            "Addresses of proxies.",
            "`{proxies=[address; ...]}`; empty for a role or a type that no proxy has",
            ignored=("address_type", "network_name"),
            parameters={"type": "`http` or `rpc`", "role": "of the proxies; all here are of the role `default`"},
        ),
        transactions="ignored",
    ),
)


async def _rpc_discover(call: Call, request: api.TReqDiscoverProxies) -> Reply:
    found = {"type": "rpc", **request_parameters(request, {"address_type": "", "network_name": ""})}
    answer = await call.execute("discover_proxies", found)
    return reply(api.TRspDiscoverProxies(addresses=answer["proxies"]))


METHODS: Final[tuple[Method, ...]] = ()
DISCOVERY: Final = Method(api.TReqDiscoverProxies, _rpc_discover)
"""Of a service of its own, which answers whoever asks."""
