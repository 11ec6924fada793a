"""The console's pages over HTTP: files in memory, and the headers that confine what pages may do."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aiohttp import web

from queue_agent.console import STATIC

SECURITY_HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "font-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""Scripts and styles from files of the console alone: text of others cannot become either."""

_PAGE: Final = "index.html"
_CACHING: Final = "no-cache"  # browsers ask each time, and mostly hear 304: an updated agent has updated pages at once
_TYPES: Final = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


async def confine(request: web.Request, response: web.StreamResponse) -> None:
    """Give an answer the headers: browsers take JSON with names of strangers in it for nothing else."""
    for name, value in SECURITY_HEADERS.items():
        response.headers.setdefault(name, value)


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    compressed: bytes
    type: str
    tag: str

    def answer(self, request: web.Request) -> web.Response:
        # The page is one document at many addresses. Compressed and plain are two representations, with a tag each.
        takes_gzip = "gzip" in request.headers.get("Accept-Encoding", "")
        tag = f'"{self.tag}-gzip"' if takes_gzip else f'"{self.tag}"'
        headers = {"ETag": tag, "Cache-Control": _CACHING, "Vary": "Accept-Encoding"}
        if tag in request.headers.get("If-None-Match", ""):
            return web.Response(status=304, headers=headers)
        headers["Content-Type"] = self.type
        if takes_gzip:
            headers["Content-Encoding"] = "gzip"
        return web.Response(body=self.compressed if takes_gzip else self.content, headers=headers)


class ConsolePages:
    """Holds the files of the console, about 200 kB, as they were when the agent started.

    Args:
        folder: where they are.
    """

    def __init__(self, folder: Path = STATIC) -> None:
        files = [file for file in sorted(folder.rglob("*")) if file.is_file() and "." in file.name]
        self._files = {file.relative_to(folder).as_posix(): _read(file) for file in files}

    def routes(self) -> Sequence[web.AbstractRouteDef]:
        """The page at all addresses of views, and its files below `/static/`."""
        return [
            web.get("/", self._page),
            web.get("/docs", self._page),
            web.get("/ui", self._page),
            web.get("/ui/{view:.*}", self._page),
            web.get("/static/{name:.+}", self._file),
        ]

    async def _page(self, request: web.Request) -> web.Response:
        return self._files[_PAGE].answer(request)

    async def _file(self, request: web.Request) -> web.Response:
        file = self._files.get(request.match_info["name"])
        if file is None:
            raise web.HTTPNotFound
        return file.answer(request)


def _read(file: Path) -> _File:
    content = file.read_bytes()
    kind = _TYPES.get(file.suffix, "text/plain")
    if kind.startswith("text/"):
        kind += "; charset=utf-8"
    return _File(content, gzip.compress(content, 9, mtime=0), kind, hashlib.sha256(content).hexdigest()[:20])
