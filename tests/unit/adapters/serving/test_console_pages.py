from __future__ import annotations

import gzip
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import aiohttp
import pytest
from aiohttp import web

from queue_agent.adapters.serving.console_pages import SECURITY_HEADERS, ConsolePages, confine
from queue_agent.console import STATIC

FIRST_LOAD_LIMIT: Final = 300_000
SCRIPTS: Final = sorted((STATIC / "js").rglob("*.js"))


@pytest.fixture
async def origin() -> AsyncIterator[str]:
    application = web.Application()
    application.on_response_prepare.append(confine)
    application.add_routes(ConsolePages().routes())
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert site._server is not None
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.mark.parametrize("path", ["/", "/docs", "/ui", "/ui/queue?cluster=a&path=//q", "/ui/no/such%2Fview"])
async def test_the_page_is_at_the_address_of_every_view(origin: str, path: str) -> None:
    async with aiohttp.ClientSession() as session, session.get(origin + path) as response:
        assert (response.status, response.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
        assert await response.read() == (STATIC / "index.html").read_bytes()
        assert {name: response.headers[name] for name in SECURITY_HEADERS} == dict(SECURITY_HEADERS)


async def test_a_file_comes_once_and_compressed(origin: str) -> None:
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        url = f"{origin}/static/js/main.js"
        async with session.get(url, headers={"Accept-Encoding": "gzip"}) as response:
            assert response.headers["Content-Type"] == "text/javascript; charset=utf-8"
            assert gzip.decompress(await response.read()) == (STATIC / "js" / "main.js").read_bytes()
            tag = response.headers["ETag"]
        again = {"Accept-Encoding": "gzip", "If-None-Match": tag}
        async with session.get(url, headers=again) as response:
            assert (response.status, await response.read()) == (304, b"")
            assert response.headers["Content-Security-Policy"] == SECURITY_HEADERS["Content-Security-Policy"]
        # The plain file is another representation.
        async with session.get(url, headers={"Accept-Encoding": "identity", "If-None-Match": tag}) as response:
            assert (response.status, await response.read()) == (200, (STATIC / "js" / "main.js").read_bytes())


@pytest.mark.parametrize(
    "name", ["nothing.js", "../__init__.py", "..%2f__init__.py", "%2e%2e/%2e%2e/errors.py", "vendor/made-of", "js"]
)
async def test_nothing_else_is_served(origin: str, name: str) -> None:
    async with aiohttp.ClientSession() as session, session.get(f"{origin}/static/{name}") as response:
        assert response.status == 404


async def test_all_files_that_the_page_needs_are_there_and_small(origin: str) -> None:
    page = (STATIC / "index.html").read_text()
    wanted = {*re.findall(r'(?:src|href)="(/static/[^"]+)"', page)}
    for script in SCRIPTS:
        for name in re.findall(r'^import .* from "(.+)";$', script.read_text(), re.MULTILINE):
            wanted.add("/static/" + (script.parent / name).resolve().relative_to(STATIC).as_posix())
    total = 0
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        for path in ["/", *sorted(wanted)]:
            async with session.get(origin + path, headers={"Accept-Encoding": "gzip"}) as response:
                assert response.status == 200, path
                total += len(await response.read())
    assert total < FIRST_LOAD_LIMIT
    assert {f"/static/{file.relative_to(STATIC).as_posix()}" for file in SCRIPTS} <= wanted


def test_the_page_has_no_script_or_style_of_its_own() -> None:
    page = (STATIC / "index.html").read_text()
    assert not re.search(r"<style|style=|\son\w+=|<script>|javascript:|https?://", page)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda file: file.name)
def test_scripts_make_no_code_or_markup_of_text(script: Path) -> None:
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "https://"):
        assert word not in script.read_text()
