"""The services of the proxy: whose request it is, which method answers it."""

from __future__ import annotations

from yt_local.calls.call import Call, Method
from yt_local.calls.messages import text
from yt_local.cluster import Cluster
from yt_local.commands import METHODS
from yt_local.commands.discover_proxies import DISCOVERY
from yt_local.security.permissions import UNLIMITED
from yt_local.session import Session
from yt_wire import rpc
from yt_wire.connection import Handler, Reply
from yt_wire.error import YtError
from yt_wire.proto.rpc_pb2 import TCredentialsExt
from yt_wire.rpc_server import Services


def services(cluster: Cluster) -> Services:
    """What one cluster answers."""
    api_service = {name: _handler(cluster, method) for name, method in METHODS.items()}
    return {"ApiService": api_service, "DiscoveryService": {"DiscoverProxies": _discovery(cluster)}}


def _handler(cluster: Cluster, method: Method) -> Handler:
    async def handle(request: rpc.Request) -> Reply:
        credentials = request.header.Extensions[TCredentialsExt.credentials_ext]
        user = text(request.header.user) if request.header.HasField("user") else None
        token = text(credentials.token) if credentials.HasField("token") else None
        identity = cluster.authenticator.identify_caller(user, token)
        call = Call(cluster, cluster.session_of(identity.principal), request.attachments, request.streams)
        try:
            return await method.run(call, rpc.parse(method.request_type, request.body))
        except RecursionError as error:
            raise YtError("What the request asks for is nested too deeply") from error

    return handle


def _discovery(cluster: Cluster) -> Handler:
    async def handle(request: rpc.Request) -> Reply:
        # Clients that do not know yet where to go may ask for that much, whoever they are.
        call = Call(cluster, Session(UNLIMITED), request.attachments, request.streams)
        return await DISCOVERY.run(call, rpc.parse(DISCOVERY.request_type, request.body))

    return handle
