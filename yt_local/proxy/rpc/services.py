"""The services of the proxy: whose request it is, which method answers it."""

from __future__ import annotations

from typing import Final

from yt_local.cluster import Cluster
from yt_local.proxy.rpc import access, cypress, queues, rows, streams, tablets, transactions
from yt_local.proxy.rpc.call import Call, Method, reply
from yt_local.proxy.rpc.parameters import parameters, text
from yt_local.security.permissions import UNLIMITED
from yt_local.session import Session
from yt_wire import rpc
from yt_wire.connection import Handler, Reply
from yt_wire.error import YtError
from yt_wire.proto import api_pb2 as api
from yt_wire.proto.rpc_pb2 import TCredentialsExt
from yt_wire.rpc_server import Services

_FORMER_NAMES: Final = {"PullQueueConsumer": "PullConsumer", "AdvanceQueueConsumer": "AdvanceConsumer"}
"""By which clients still call methods."""


def _by_name() -> dict[str, Method]:
    methods = {
        method.request_type.DESCRIPTOR.name.removeprefix("TReq"): method
        for module in (cypress, transactions, tablets, rows, queues, streams, access)
        for method in module.METHODS
    }
    return {**methods, **{former: methods[name] for name, former in _FORMER_NAMES.items()}}


API_METHODS: Final = _by_name()
"""Methods of `ApiService`."""


def services(cluster: Cluster) -> Services:
    """What one cluster answers."""
    api_service = {name: _handler(cluster, method) for name, method in API_METHODS.items()}
    return {"ApiService": api_service, "DiscoveryService": {"DiscoverProxies": _discovery(cluster)}}


def _handler(cluster: Cluster, method: Method) -> Handler:
    async def handle(request: rpc.Request) -> Reply:
        credentials = request.header.Extensions[TCredentialsExt.credentials_ext]
        user = text(request.header.user) if request.header.HasField("user") else None
        token = text(credentials.token) if credentials.HasField("token") else None
        identity = cluster.authenticator.identify_caller(user, token)
        call = Call(cluster, cluster.session_of(identity.user), request.attachments, request.streams)
        try:
            return await method.run(call, rpc.parse(method.request_type, request.body))
        except RecursionError as error:
            raise YtError("What the request asks for is nested too deeply") from error

    return handle


def _discovery(cluster: Cluster) -> Handler:
    async def handle(request: rpc.Request) -> Reply:
        # Clients that do not know yet where to go may ask for that much, whoever they are.
        message = rpc.parse(api.TReqDiscoverProxies, request.body)
        call = Call(cluster, Session(UNLIMITED), request.attachments, request.streams)
        found = {"type": "rpc", **parameters(message, {"address_type": "", "network_name": ""})}
        answer = await call.execute("discover_proxies", found)
        return reply(api.TRspDiscoverProxies(addresses=answer["proxies"]))

    return handle
