"""A bucket in memory that speaks as much of S3's protocol as pyarrow's client asks for."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "bucket"


class Bucket:
    """What is in it, by key."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.address = ""

    @property
    def target(self) -> str:
        """Of exports."""
        return f"s3://key:secret@{BUCKET}/exports?endpoint_override={self.address}&scheme=http&region=test"


@contextmanager
def serving() -> Iterator[Bucket]:
    """A bucket that is served meanwhile."""
    bucket = Bucket()

    class Handler(_Handler):
        content = bucket

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    bucket.address = f"127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield bucket
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    content: Bucket
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""

    def do_HEAD(self) -> None:
        key, _ = self._target()
        content = self.content.objects.get(key, b"" if not key else None)
        self._answer(404 if content is None else 200, content or b"", ETag='"0"')

    def do_GET(self) -> None:
        key, query = self._target()
        if "list-type" in query:
            self._list(query)
        elif key not in self.content.objects:
            self._answer(404, _error("NoSuchKey"))
        else:
            content = self.content.objects[key]
            span = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            if span is None:
                self._answer(200, content, ETag='"0"')
            else:
                begin, end = int(span[1]), min(int(span[2]) + 1, len(content))
                whole = f"bytes {begin}-{end - 1}/{len(content)}"
                self._answer(206, content[begin:end], ETag='"0"', **{"Content-Range": whole})

    def do_PUT(self) -> None:
        key, query = self._target()
        body = self._body()
        tag = f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'
        if "partNumber" in query:
            self.content.uploads[query["uploadId"][0]][int(query["partNumber"][0])] = body
        elif key:
            self.content.objects[key] = body
        self._answer(200, b"", ETag=tag)

    def do_POST(self) -> None:
        key, query = self._target()
        self._body()
        if "uploads" in query:
            upload = str(len(self.content.uploads))
            self.content.uploads[upload] = {}
            answer = f"<Bucket>{BUCKET}</Bucket><Key>{escape(key)}</Key><UploadId>{upload}</UploadId>"
            self._answer(200, _xml("InitiateMultipartUploadResult", answer))
        else:
            parts = self.content.uploads.pop(query["uploadId"][0])
            self.content.objects[key] = b"".join(part for _, part in sorted(parts.items()))
            self._answer(200, _xml("CompleteMultipartUploadResult", '<ETag>"0"</ETag>'))

    def do_DELETE(self) -> None:
        key, _ = self._target()
        self.content.objects.pop(key, None)
        self._answer(204, b"")

    def _list(self, query: dict[str, list[str]]) -> None:
        prefix, delimiter = query.get("prefix", [""])[0], query.get("delimiter", [""])[0]
        found, folders = [], set()
        for key, content in sorted(self.content.objects.items()):
            if not key.startswith(prefix):
                continue
            head, cut, _ = key.removeprefix(prefix).partition(delimiter) if delimiter else (key, "", "")
            if cut:
                folders.add(f"{prefix}{head}/")
            else:
                found.append(
                    f"<Contents><Key>{escape(key)}</Key><Size>{len(content)}</Size>"
                    "<LastModified>2026-01-31T07:00:00.000Z</LastModified></Contents>"
                )
        found += [f"<CommonPrefixes><Prefix>{escape(one)}</Prefix></CommonPrefixes>" for one in sorted(folders)]
        count = f"<KeyCount>{len(found)}</KeyCount><IsTruncated>false</IsTruncated>"
        self._answer(200, _xml("ListBucketResult", count + "".join(found)))

    def _target(self) -> tuple[str, dict[str, list[str]]]:
        parts = urlsplit(self.path)
        key = unquote(parts.path).removeprefix(f"/{BUCKET}").lstrip("/")
        return key, parse_qs(parts.query, keep_blank_values=True)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b"".join(self._chunks())
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        return _unchunked(body) if "x-amz-decoded-content-length" in self.headers else body

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            continue

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Last-Modified", "Sat, 31 Jan 2026 07:00:00 GMT")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _unchunked(body: bytes) -> bytes:
    """A body without the sizes and signatures that clients put between its pieces."""
    pieces = []
    while body:
        header, _, body = body.partition(b"\r\n")
        size = int(header.partition(b";")[0], 16)
        if not size:
            break
        pieces.append(body[:size])
        body = body[size + 2 :]
    return b"".join(pieces)


def _xml(name: str, content: str) -> bytes:
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    return f'{head}<{name} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{content}</{name}>'.encode()


def _error(code: str) -> bytes:
    return f'<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>{code}</Message></Error>'.encode()
