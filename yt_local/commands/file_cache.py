"""get_file_from_cache, put_file_to_cache: files by their MD5."""

from __future__ import annotations

from typing import Any, Final

from yt_local.calls.call import Call, Method, reply
from yt_local.calls.command import Body, Command, PathParameter, Transactional, volatile
from yt_local.calls.manual import Manual
from yt_local.calls.messages import request_parameters
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_local.tables.static.files import FileCache
from yt_wire.connection import Reply
from yt_wire.proto import api_pb2 as api


class _GetFromCache(Transactional):
    md5: str
    cache_path: PathParameter


class _PutToCache(_GetFromCache):
    path: PathParameter


async def _get_file_from_cache(cluster: Cluster, session: Session, parameters: _GetFromCache, _: Body) -> Any:
    return FileCache(cluster.view(session.transaction_id), session.access, parameters.cache_path).find(parameters.md5)


async def _put_file_to_cache(cluster: Cluster, session: Session, parameters: _PutToCache, _: Body) -> Any:
    with cluster.state.change():
        cache = FileCache(cluster.view(session.transaction_id), session.access, parameters.cache_path)
        return cache.put(parameters.path, parameters.md5)


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "get_file_from_cache",
        _GetFromCache,
        _get_file_from_cache,
        Manual("Where the file with an MD5 is in a cache.", '`"//path"`, or `""` if it is not there'),
        transactions="taken",
    ),
    volatile(
        "put_file_to_cache",
        _PutToCache,
        _put_file_to_cache,
        Manual(
            "Copies a file into a cache.",
            '`"//path"` in the cache',
            {1: "no file; no MD5, or another one", 500: "no such node", 901: "the cache may not be used by the user"},
            ignored=("preserve_expiration_timeout",),
        ),
        transactions="taken",
    ),
)


async def _rpc_get_from_cache(call: Call, request: api.TReqGetFileFromCache) -> Reply:
    path = await call.execute("get_file_from_cache", request_parameters(request))
    return reply(api.TRspGetFileFromCache(result=api.TGetFileFromCacheResult(path=path or "")))


async def _rpc_put_to_cache(call: Call, request: api.TReqPutFileToCache) -> Reply:
    path = await call.execute("put_file_to_cache", request_parameters(request))
    return reply(api.TRspPutFileToCache(result=api.TPutFileToCacheResult(path=path)))


METHODS: Final[tuple[Method, ...]] = (
    Method(api.TReqGetFileFromCache, _rpc_get_from_cache),
    Method(api.TReqPutFileToCache, _rpc_put_to_cache),
)
