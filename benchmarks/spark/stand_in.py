"""Stands in for a cluster that answers at once: its rows are prepared, so that their reader is what is measured."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from aiohttp import web

from yt_wire import yson

COLUMNS: Final = {"user": "int64", "name": "string", "data": "string", "$timestamp": "uint64"}
PARTITIONS: Final = 8
CLUSTER: Final = "stand-in"

_OBJECT_ID: Final = "1-2-3-4"

_MULTIPLIER: Final = 0x9E3779B97F4A7C15
"""Spreads row numbers over 64 bits."""

_COMMANDS: Final = {
    "get": ("null", "structured", False, False),
    "get_tablet_infos": ("null", "structured", True, False),
    "pull_queue": ("null", "tabular", False, True),
}


def value_of(name: str, row_index: int) -> Any:
    """The value of a column: an event as services log them; a row has about 120 bytes."""
    mixed = row_index * _MULTIPLIER % 2**64
    match name:
        case "user":
            return mixed >> 40
        case "name":
            return f"user-{row_index % 1000}"
        case "data":
            return f'{{"session":"{mixed:016x}","url":"/catalog/item/{mixed % 999_983}","ms":{mixed >> 52},"ok":true}}'
    return yson.Uint64((1_900_000_000 << 30) + row_index)


class _StandIn:
    def __init__(self, row_count: int) -> None:
        self._row_count = row_count
        self._address = ""
        lines, rows = [], []
        for index in range(row_count):
            values = {name: value_of(name, index) for name in COLUMNS}
            lines.append(("\t".join(map(str, [index, *values.values()])) + "\n").encode())
            row = {"$tablet_index": 0, "$row_index": index, **values}
            rows.append(yson.dumps_rows([row]))
        self._prepared = {"schemaful_dsv": lines, "yson": rows}

    async def serve(self, request: web.Request) -> web.Response:
        name = request.match_info["command"]
        parameters = {}
        if "X-YT-Parameters" in request.headers:
            parameters = yson.loads(request.headers["X-YT-Parameters"].encode("latin-1"))
        if name == "pull_queue":
            rows = self._prepared[str(parameters["output_format"])]
            begin = int(parameters["offset"])
            return web.Response(body=b"".join(rows[begin : begin + int(parameters.get("max_row_count", 1000))]))
        if name == "get_tablet_infos":
            tablet = {"total_row_count": self._row_count, "trimmed_row_count": 0}
            return _answer({"tablets": [tablet] * PARTITIONS})
        if parameters["path"].startswith("//sys/client_config"):
            error = {"code": 500, "message": "Error resolving path", "attributes": {}, "inner_errors": []}
            headers = {"X-YT-Error": json.dumps(error), "X-YT-Response-Code": "500"}
            return web.json_response(error, status=400, headers=headers)
        if parameters["path"] == "//sys/@cluster_name":
            return _answer(CLUSTER)
        if parameters["path"].endswith("/@id"):
            return _answer(_OBJECT_ID)
        schema = [{"name": name, "type": type_name} for name, type_name in COLUMNS.items()]
        return _answer(
            {"id": _OBJECT_ID, "schema": schema, "dynamic": True, "tablet_count": PARTITIONS, "type": "table"}
        )

    async def commands(self, request: web.Request) -> web.Response:
        keys = ("name", "input_type", "output_type", "is_volatile", "is_heavy")
        return web.json_response([dict(zip(keys, (name, *flags), strict=True)) for name, flags in _COMMANDS.items()])

    async def hosts(self, request: web.Request) -> web.Response:
        return web.json_response([request.host])


def _answer(value: Any) -> web.Response:
    return web.Response(body=yson.dumps(value, "text"))


@contextmanager
def stand_in(row_count: int) -> Iterator[str]:
    """Its address, in a process of its own; every partition has so many rows."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.spark.stand_in", str(row_count)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


async def _application(row_count: int) -> web.Application:
    stand_in = _StandIn(row_count)
    application = web.Application()
    application.router.add_get("/api/v4", stand_in.commands)
    application.router.add_get("/hosts", stand_in.hosts)
    application.router.add_route("*", "/api/v4/{command}", stand_in.serve)
    return application


def main() -> None:
    """Serve until terminated; the first line says where."""
    import socket

    listener = socket.create_server(("127.0.0.1", 0))

    def announce(text: str) -> None:
        del text
        print(f"127.0.0.1:{listener.getsockname()[1]}", flush=True)

    web.run_app(_application(int(sys.argv[1])), sock=listener, print=announce)


if __name__ == "__main__":
    main()
