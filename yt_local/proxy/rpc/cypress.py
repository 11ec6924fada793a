"""Methods on the Cypress tree."""

from __future__ import annotations

from typing import Any, Final

from yt_local.commands.command import Body
from yt_local.proxy.rpc.call import NOTHING, Call, Method, guid, reply
from yt_local.proxy.rpc.parameters import decoded, parameters, text
from yt_local.proxy.rpc.wire_types import CREATABLE, LOCK_MODES
from yt_wire import yson
from yt_wire.connection import Reply
from yt_wire.error import YtError
from yt_wire.proto import api_pb2 as api
from yt_wire.proto.core_pb2 import TGuid

_SOURCE_AND_DESTINATION: Final = {"src_path": "source_path", "dst_path": "destination_path"}
_TARGET_AND_LINK: Final = {"src_path": "target_path", "dst_path": "link_path"}


async def _get(call: Call, request: api.TReqGetNode) -> Reply:
    answer = await call.execute("get", _read_parameters(request))
    return reply(api.TRspGetNode(value=yson.dumps(answer["value"])))


async def _list(call: Call, request: api.TReqListNode) -> Reply:
    answer = await call.execute("list", _read_parameters(request))
    return reply(api.TRspListNode(value=yson.dumps(answer["value"])))


def _read_parameters(request: api.TReqGetNode | api.TReqListNode) -> dict[str, Any]:
    found = parameters(request, {"options": ""})
    # Clients that want no attributes ask the older field for all of them; others name the same ones in both.
    names = [text(name) for name in request.legacy_attributes.keys]
    names += [decoded(name) for name in request.attributes.keys]
    if names:
        found["attributes"] = list(dict.fromkeys(names))
    return found


async def _exists(call: Call, request: api.TReqExistsNode) -> Reply:
    answer = await call.execute("exists", parameters(request))
    return reply(api.TRspExistsNode(exists=answer["value"]))


async def _create(call: Call, request: api.TReqCreateNode) -> Reply:
    return reply(api.TRspCreateNode(node_id=await _created(call, request)))


async def _create_object(call: Call, request: api.TReqCreateObject) -> Reply:
    return reply(api.TRspCreateObject(object_id=await _created(call, request)))


async def _created(call: Call, request: api.TReqCreateNode | api.TReqCreateObject) -> TGuid:
    name = CREATABLE.get(request.type)
    if name is None:
        raise YtError(f"Cannot create an object of unknown type {request.type}")
    answer = await call.execute("create", {**parameters(request), "type": name})
    (created_id,) = answer.values()  # of a node or an object, by the type more than by the method
    return guid(created_id)


async def _set(call: Call, request: api.TReqSetNode) -> Reply:
    await call.execute("set", parameters(request, {"value": ""}), Body(value=yson.loads(request.value)))
    return NOTHING


async def _multiset_attributes(call: Call, request: api.TReqMultisetAttributesNode) -> Reply:
    values = {text(item.attribute): yson.loads(item.value) for item in request.subrequests}
    await call.execute("multiset_attributes", parameters(request), Body(value=values))
    return NOTHING


async def _remove(call: Call, request: api.TReqRemoveNode) -> Reply:
    await call.execute("remove", parameters(request))
    return NOTHING


async def _copy(call: Call, request: api.TReqCopyNode) -> Reply:
    answer = await call.execute("copy", parameters(request, _SOURCE_AND_DESTINATION))
    return reply(api.TRspCopyNode(node_id=guid(answer["node_id"])))


async def _move(call: Call, request: api.TReqMoveNode) -> Reply:
    answer = await call.execute("move", parameters(request, _SOURCE_AND_DESTINATION))
    return reply(api.TRspMoveNode(node_id=guid(answer["node_id"])))


async def _link(call: Call, request: api.TReqLinkNode) -> Reply:
    answer = await call.execute("link", parameters(request, _TARGET_AND_LINK))
    return reply(api.TRspLinkNode(node_id=guid(answer["node_id"])))


async def _lock(call: Call, request: api.TReqLockNode) -> Reply:
    mode = LOCK_MODES.get(request.mode)
    if mode is None:
        raise YtError(f"Unknown lock mode {request.mode}")
    answer = await call.execute("lock", {**parameters(request), "mode": mode})
    return reply(
        api.TRspLockNode(node_id=guid(answer["node_id"]), lock_id=guid(answer["lock_id"]), revision=answer["revision"])
    )


async def _unlock(call: Call, request: api.TReqUnlockNode) -> Reply:
    await call.execute("unlock", parameters(request))
    return NOTHING


async def _concatenate(call: Call, request: api.TReqConcatenateNodes) -> Reply:
    names = {"src_paths": "source_paths", "dst_path": "destination_path"}
    await call.execute("concatenate", parameters(request, names))
    return NOTHING


async def _get_from_cache(call: Call, request: api.TReqGetFileFromCache) -> Reply:
    path = await call.execute("get_file_from_cache", parameters(request))
    return reply(api.TRspGetFileFromCache(result=api.TGetFileFromCacheResult(path=path or "")))


async def _put_to_cache(call: Call, request: api.TReqPutFileToCache) -> Reply:
    path = await call.execute("put_file_to_cache", parameters(request))
    return reply(api.TRspPutFileToCache(result=api.TPutFileToCacheResult(path=path)))


METHODS: Final = (
    Method(api.TReqGetNode, _get),
    Method(api.TReqListNode, _list),
    Method(api.TReqExistsNode, _exists),
    Method(api.TReqCreateNode, _create),
    Method(api.TReqCreateObject, _create_object),
    Method(api.TReqSetNode, _set),
    Method(api.TReqMultisetAttributesNode, _multiset_attributes),
    Method(api.TReqRemoveNode, _remove),
    Method(api.TReqCopyNode, _copy),
    Method(api.TReqMoveNode, _move),
    Method(api.TReqLinkNode, _link),
    Method(api.TReqLockNode, _lock),
    Method(api.TReqUnlockNode, _unlock),
    Method(api.TReqConcatenateNodes, _concatenate),
    Method(api.TReqGetFileFromCache, _get_from_cache),
    Method(api.TReqPutFileToCache, _put_to_cache),
)
