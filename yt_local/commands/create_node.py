"""create: nodes and objects."""

from __future__ import annotations

from typing import Any, Final

from pydantic import Field

from yt_local.calls.call import Call, Method, guid, reply
from yt_local.calls.command import Body, Command, PathParameter, Transactional, volatile
from yt_local.calls.manual import EXISTS, HAS_ANOTHER_LOCK, LONG_NAME, LONG_STRING, OVER_LIMITS, Manual
from yt_local.calls.messages import request_parameters
from yt_local.calls.wire_types import CREATABLE
from yt_local.cluster import Cluster
from yt_local.cypress.nodes import check_external
from yt_local.cypress.system_objects import CREATABLE_OBJECTS, create_system_object
from yt_local.identity.objects import OBJECT_TYPES
from yt_local.queues.marked_tables import MARKED_TABLES, create_marked_table
from yt_local.session import Session
from yt_local.store.replicated_types import TABLE_REPLICA
from yt_wire.connection import Reply
from yt_wire.error import YtError
from yt_wire.proto import api_pb2 as api
from yt_wire.proto.core_pb2 import TGuid


class _Create(Transactional):
    type: str
    path: PathParameter | None = None
    attributes: dict[str, Any] = Field(default_factory=dict)
    recursive: bool = False
    ignore_existing: bool = False
    ignore_type_mismatch: bool = False
    lock_existing: bool = False
    force: bool = False


async def _create(cluster: Cluster, session: Session, parameters: _Create, _: Body) -> Any:
    if parameters.path is None and parameters.type in OBJECT_TYPES:
        object_id = cluster.security.create(
            session.access, parameters.type, parameters.attributes, ignore_existing=parameters.ignore_existing
        )
        return {"object_id": object_id}
    if parameters.path is None and parameters.type in CREATABLE_OBJECTS:
        with cluster.state.change():
            object_id = create_system_object(
                cluster.state,
                session.access,
                CREATABLE_OBJECTS[parameters.type],
                parameters.attributes,
                ignore_existing=parameters.ignore_existing,
            )
        return {"object_id": object_id}
    if parameters.type == TABLE_REPLICA:
        return {"object_id": cluster.replicas.create(session.access, parameters.attributes)}
    if parameters.path is None:
        raise YtError(f'Cannot create an object of type "{parameters.type}" without a path')
    check_external(session.access, parameters.attributes)
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


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "create",
        _Create,
        _create,
        Manual(
            "A node at a path, or an object without one (`user`, `group`, `account`, `table_replica`, "
            "`tablet_cell_bundle`, `tablet_cell`, `domestic_medium`).",
            "`{node_id=id}` with a path, `{object_id=id}` without.",
            {
                1: "a type that is unknown; attributes that contradict each other or the type; a schema that is none",
                402: HAS_ANOTHER_LOCK,
                500: "the parent is missing and `recursive` is not given; no such tablet cell bundle",
                501: EXISTS,
                503: LONG_STRING,
                505: LONG_NAME,
                719: "no such medium",
                901: "neither a superuser nor somebody who may create this",
                902: OVER_LIMITS,
                905: "no such account",
            },
            refused="Types that only a real cluster has: `journal`, `rack`, `scheduler_pool`, ...",
            differs="`queue_consumer` and `queue_producer` make tables with their schemas and mark, and "
            "mount them, at once. A `chaos_replicated_table` is a node with attributes; it has no rows.",
            parameters={
                "attributes": "attributes of what is made; `external` may be false, for there is one cell of masters",
                "ignore_type_mismatch": "with `ignore_existing`, even if what is there has another type",
            },
        ),
        transactions="taken",
    ),
)


async def _rpc_create(call: Call, request: api.TReqCreateNode) -> Reply:
    return reply(api.TRspCreateNode(node_id=await _created(call, request)))


async def _rpc_create_object(call: Call, request: api.TReqCreateObject) -> Reply:
    return reply(api.TRspCreateObject(object_id=await _created(call, request)))


async def _created(call: Call, request: api.TReqCreateNode | api.TReqCreateObject) -> TGuid:
    name = CREATABLE.get(request.type)
    if name is None:
        raise YtError(f"Cannot create an object of unknown type {request.type}")
    answer = await call.execute("create", {**request_parameters(request), "type": name})
    (created_id,) = answer.values()  # of a node or an object, by the type more than by the method
    return guid(created_id)


METHODS: Final[tuple[Method, ...]] = (
    Method(api.TReqCreateNode, _rpc_create),
    Method(api.TReqCreateObject, _rpc_create_object),
)
