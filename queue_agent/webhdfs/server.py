"""The WebHDFS protocol: REST operations in, file operations on Cypress out."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import socket
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from types import TracebackType
from typing import Any, Final

import structlog
from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from queue_agent.errors import AccessDenied, ClusterError, ClusterUnavailable, OutcomeUnknown
from queue_agent.webhdfs.files import (
    CypressFiles,
    DirectoryNotEmpty,
    FileError,
    FileStatus,
    MissingPath,
    NotADirectory,
    PathTaken,
    UnknownUpload,
)
from queue_agent.webhdfs.paths import BadPath, clean_path, decode_path, decode_text
from yt_wire.http_guard import find_refusal

log = structlog.get_logger(__name__)

PREFIX: Final = "/webhdfs/v1"
DEFAULT_PORT: Final = 9870
"""Of a Hadoop name node that speaks WebHDFS."""

_BLOCK_SIZE: Final = 128 << 20
_DATA: Final = "data"
"""Query parameter of the addresses to which `CREATE` and `OPEN` send their clients."""

_BYTES: Final = "application/octet-stream"

_FILE_ERRORS: Final[Mapping[type[FileError], tuple[int, str]]] = {
    MissingPath: (404, "java.io.FileNotFoundException"),
    PathTaken: (403, "org.apache.hadoop.fs.FileAlreadyExistsException"),
    NotADirectory: (403, "org.apache.hadoop.fs.ParentNotDirectoryException"),
    DirectoryNotEmpty: (403, "org.apache.hadoop.fs.PathIsNotEmptyDirectoryException"),
    UnknownUpload: (503, "java.io.IOException"),
}

_MAX_LINE_BYTES: Final = 1 << 16
"""A request that renames holds two paths, each character of which may take nine bytes."""

_MAX_DIGITS: Final = 18
"""Of a number of bytes."""

_SHOWN_CHARACTERS: Final = 200


_Operation = Callable[[web.Request, CypressFiles, str], Awaitable[web.StreamResponse]]


class BadRequest(Exception):
    """A request that is not of the protocol, or of a part of it that is not served."""


class WebHdfsServer:
    """Serves until it is left; an async context manager.

    Args:
        mounts: file systems by name, without slashes: that of `pythia` is at `webhdfs://host:port/SECRET/pythia`, that
            of the empty string at `webhdfs://host:port/SECRET`.
        listener: the socket to listen on.
        secret: all paths begin with it. Stock clients tell the protocol nothing else that strangers do not know.
        hosts: names in lower case by which clients call this machine, see `find_refusal`.
    """

    def __init__(
        self, mounts: Mapping[str, CypressFiles], listener: socket.socket, *, secret: str, hosts: Collection[str]
    ) -> None:
        if not secret:
            raise ValueError("a WebHDFS server needs a secret: whoever reaches it acts in the name of its token")
        self._mounts = mounts
        self._listener = listener
        self._secret = secret
        self._hosts = hosts
        self._operations: Mapping[tuple[str, str], _Operation] = {
            ("GET", "GETFILESTATUS"): self._get_file_status,
            ("GET", "LISTSTATUS"): self._list_status,
            ("GET", "GETFILEBLOCKLOCATIONS"): self._get_block_locations,
            ("GET", "OPEN"): self._open,
            ("PUT", "CREATE"): self._create,
            ("PUT", "MKDIRS"): self._make_directory,
            ("PUT", "RENAME"): self._rename,
            ("DELETE", "DELETE"): self._delete,
        }
        application = web.Application(middlewares=[_errors_as_remote_exceptions, self._refuse_web_pages])
        application.router.add_route("*", PREFIX + r"{path:(/[\s\S]*)?}", self._serve)
        application.on_response_prepare.append(_drop_content_type)
        self._runner = web.AppRunner(application)
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> WebHdfsServer:
        await self._runner.setup()
        assert self._runner.server is not None, "the runner has been set up"
        loop = asyncio.get_running_loop()
        connection = partial(
            _Connection,
            self._runner.server,
            loop=loop,
            access_log=None,  # type: ignore[arg-type] # it turns the log off; addresses hold the secret
            logger=logging.getLogger(__name__),
            max_line_size=_MAX_LINE_BYTES,
        )
        self._server = await loop.create_server(connection, sock=self._listener)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        await self._runner.cleanup()

    @web.middleware
    async def _refuse_web_pages(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        refusal = find_refusal(request.headers.items(), hosts=self._hosts, origins=())
        if refusal is not None:
            return _remote_exception(403, "org.apache.hadoop.security.AccessControlException", refusal)
        return await handler(request)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        decode_text(request.rel_url.raw_query_string)  # what is wrong with it would pass into names in silence
        operation = request.query.get("op", "").upper()
        path = decode_path(request.rel_url.raw_path.removeprefix(PREFIX) or "/")
        if (request.method, operation) == ("GET", "GETHOMEDIRECTORY"):
            # Clients ask for it at the root of the server, whatever prefix they were given.
            return _json_response({"Path": f"/user/{request.query.get('user.name', 'unknown')}"})
        serve = self._operations.get((request.method, operation))
        if serve is None:
            raise BadRequest(f"{request.method} with op={operation[:_SHOWN_CHARACTERS] or 'nothing'} is not served")
        files, inner_path = self._resolve(path)
        return await serve(request, files, inner_path)

    def _resolve(self, path: str) -> tuple[CypressFiles, str]:
        """The file system a path lies in, and the path there."""
        secret, _, inner_path = path.lstrip("/").partition("/")
        if hmac.compare_digest(secret.encode(), self._secret.encode()):
            for name, files in self._mounts.items():
                if not name:
                    return files, f"/{inner_path}"
                first, _, rest = inner_path.partition("/")
                if first == name:
                    return files, f"/{rest}"
        raise MissingPath("Nothing is served at this path. Paths begin with the secret of this server")

    async def _get_file_status(self, request: web.Request, files: CypressFiles, path: str) -> web.StreamResponse:
        return _json_response({"FileStatus": _document(await files.get_status(path))})

    async def _list_status(self, request: web.Request, files: CypressFiles, path: str) -> web.StreamResponse:
        statuses = [_document(status) for status in await files.list_statuses(path)]
        return _json_response({"FileStatuses": {"FileStatus": statuses}})

    async def _get_block_locations(self, request: web.Request, files: CypressFiles, path: str) -> web.StreamResponse:
        length = (await files.get_status(path)).length
        blocks = [_block(offset, min(_BLOCK_SIZE, length - offset)) for offset in range(0, length, _BLOCK_SIZE)]
        return _json_response({"BlockLocations": {"BlockLocation": blocks}})

    async def _open(self, request: web.Request, files: CypressFiles, path: str) -> web.StreamResponse:
        status = await files.get_status(path)
        if status.is_directory:
            raise MissingPath(f"{path} is a directory")
        if _DATA not in request.query:
            return _redirect(request)
        offset = _number(request, "offset") or 0
        if offset > status.length:
            raise BadRequest(f"offset {offset} is beyond the end of {path}, {status.length}")
        length = _number(request, "length")
        count = status.length - offset if length is None else min(length, status.length - offset)
        response = web.StreamResponse(headers={"Content-Type": _BYTES, "Content-Length": str(count)})
        # A failure of the first piece can still become an error; later ones break the answer off.
        pieces = files.read(path, offset, count)
        first = await anext(pieces, b"")
        await response.prepare(request)
        try:
            await response.write(first)
            async for piece in pieces:
                await response.write(piece)
        except (ClusterError, FileError) as error:
            log.warning("read broke off", error=str(error))
            if request.transport is not None:
                request.transport.abort()
            raise ConnectionAbortedError("the answer could not be completed") from error
        await response.write_eof()
        return response

    async def _create(self, request: web.Request, files: CypressFiles, path: str) -> web.StreamResponse:
        if _DATA not in request.query:
            return _redirect(request)
        await files.write(path, request.content.iter_any(), overwrite=_flag(request, "overwrite"))
        location = f"webhdfs://{request.host}{request.rel_url.raw_path.removeprefix(PREFIX)}"
        return web.Response(status=201, headers={"Location": location})

    async def _make_directory(self, request: web.Request, files: CypressFiles, path: str) -> web.StreamResponse:
        await files.make_directory(path)
        return _json_response({"boolean": True})

    async def _rename(self, request: web.Request, files: CypressFiles, path: str) -> web.StreamResponse:
        target_files, target = self._resolve(clean_path(request.query.get("destination", "")))
        if target_files is not files:
            raise BadRequest("destination is in another file system")
        return _json_response({"boolean": await files.move(path, target)})

    async def _delete(self, request: web.Request, files: CypressFiles, path: str) -> web.StreamResponse:
        if path == "/":
            return _json_response({"boolean": False})
        return _json_response({"boolean": await files.remove(path, recursive=_flag(request, "recursive"))})


def _redirect(request: web.Request) -> web.Response:
    """Send the client on to where the data goes or comes from: the same address with a mark."""
    # Something before this server may speak TLS; a client that lies here misleads itself alone.
    scheme = "https" if request.headers.get("X-Forwarded-Proto", request.scheme) == "https" else "http"
    address = f"{scheme}://{request.host}{request.rel_url.update_query({_DATA: 'true'})}"
    if _flag(request, "noredirect"):
        return _json_response({"Location": address})
    return web.Response(status=307, headers={"Location": address})


def _document(status: FileStatus) -> dict[str, Any]:
    return {
        "pathSuffix": status.name,
        "type": "DIRECTORY" if status.is_directory else "FILE",
        "length": status.length,
        "modificationTime": status.modification_ms,
        "accessTime": status.access_ms,
        "owner": status.owner,
        "group": status.owner,
        "permission": "755" if status.is_directory else "644",
        "replication": 0 if status.is_directory else 1,
        "blockSize": 0 if status.is_directory else _BLOCK_SIZE,
        "childrenNum": status.children_count,
        "fileId": 0,
        "storagePolicy": 0,
    }


def _block(offset: int, length: int) -> dict[str, Any]:
    return {
        "offset": offset,
        "length": length,
        "corrupt": False,
        "hosts": ["localhost"],
        "names": ["localhost:0"],
        "cachedHosts": [],
        "storageTypes": ["DISK"],
        "topologyPaths": ["/default-rack/localhost:0"],
    }


def _flag(request: web.Request, name: str) -> bool:
    return request.query.get(name, "false").lower() == "true"


def _number(request: web.Request, name: str) -> int | None:
    text = request.query.get(name)
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > _MAX_DIGITS:
        raise BadRequest(f"{name} is no number of bytes: {text[:_SHOWN_CHARACTERS]!r}")
    return int(text)


def _json_response(document: Any, status: int = 200) -> web.Response:
    return web.Response(body=json.dumps(document).encode(), status=status)


async def _drop_content_type(request: web.Request, response: web.StreamResponse) -> None:
    # Hadoop's client in the PySpark wheel lacks the class that would parse it, and fails with ClassNotFoundException.
    if isinstance(response, web.Response):
        response.headers.pop("Content-Type", None)


@web.middleware
async def _errors_as_remote_exceptions(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    try:
        return await handler(request)
    except FileError as error:
        status, kind = _FILE_ERRORS[type(error)]
        return _remote_exception(status, kind, str(error))
    except BadPath as error:
        return _remote_exception(400, "org.apache.hadoop.fs.InvalidPathException", str(error))
    except BadRequest as error:
        return _remote_exception(400, "java.lang.IllegalArgumentException", str(error))
    except web.HTTPException as error:
        return _remote_exception(error.status, "java.lang.IllegalArgumentException", error.reason)
    except AccessDenied as error:
        return _remote_exception(403, "org.apache.hadoop.security.AccessControlException", error.message)
    except OutcomeUnknown as error:
        # Not one that invites clients to repeat the request.
        log.warning("outcome not known", operation=request.query.get("op"), error=error.message)
        return _remote_exception(503, "java.io.IOException", error.message)
    except ClusterUnavailable as error:
        log.warning("cluster does not answer", operation=request.query.get("op"), error=error.message)
        return _remote_exception(503, "org.apache.hadoop.ipc.RetriableException", error.message)
    except ClusterError as error:
        log.warning("request failed", operation=request.query.get("op"), error=error.message)
        return _remote_exception(403, "java.io.IOException", error.message)
    except ConnectionError:
        raise  # nobody is left to answer
    except Exception:  # a bug: clients get an error of their protocol, too
        log.exception("request crashed", operation=request.query.get("op"))
        return _remote_exception(500, "java.lang.RuntimeException", "Internal error of the WebHDFS server, see its log")


class _Connection(RequestHandler):
    """Answers what is no HTTP as it answers everything else, and logs no traceback for it."""

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        words = ascii(message or str(exc))[1:_SHOWN_CHARACTERS]
        kind = "java.lang.IllegalArgumentException" if status < 500 else "java.lang.RuntimeException"
        response = _remote_exception(status, kind, f"Malformed HTTP request: {words}")
        response.force_close()
        return response


def _remote_exception(status: int, kind: str, message: str) -> web.Response:
    document = {"exception": kind.rpartition(".")[2], "javaClassName": kind, "message": message}
    return _json_response({"RemoteException": document}, status)
