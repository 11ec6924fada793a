"""transfer_account_resources: limits of one account become another's."""

from __future__ import annotations

from typing import Any, Final

from yt_local.calls.call import NOTHING, Call, Method
from yt_local.calls.command import Body, Command, Parameters, volatile
from yt_local.calls.manual import Manual
from yt_local.calls.messages import request_parameters
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_wire.connection import Reply
from yt_wire.proto import api_pb2 as api


class _Transfer(Parameters):
    source_account: str
    destination_account: str
    resource_delta: dict[str, Any]


async def _transfer(cluster: Cluster, session: Session, parameters: _Transfer, _: Body) -> Any:
    cluster.security.transfer(
        session.access, parameters.source_account, parameters.destination_account, parameters.resource_delta
    )
    return {}


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "transfer_account_resources",
        _Transfer,
        _transfer,
        Manual(
            "Takes limits from an account and gives them to another, and likewise from and to the accounts above them, "
            "up to the first that both have.",
            errors={
                1: "an account has less than that; limits of a parent or of children do not allow it",
                901: "no permission `write` on one of the accounts",
                905: "no such account",
            },
            parameters={
                "source_account": "whose limits become smaller",
                "destination_account": "whose limits become larger",
                "resource_delta": "how much, in the shape of `@resource_limits`; what is missing is 0",
            },
        ),
        transactions="ignored",
    ),
)


async def _rpc_transfer(call: Call, request: api.TReqTransferAccountResources) -> Reply:
    names = {"src_account": "source_account", "dst_account": "destination_account"}
    await call.execute("transfer_account_resources", request_parameters(request, names))
    return NOTHING


METHODS: Final[tuple[Method, ...]] = (Method(api.TReqTransferAccountResources, _rpc_transfer),)
