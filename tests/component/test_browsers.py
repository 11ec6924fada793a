"""What pages can have a browser do to a cluster: nothing, unless they are its own or allowed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import ClientError, ClientSession, ClientTimeout

from tests.waiting import LIMIT_SECONDS
from yt_local.base.faults import Scope
from yt_local.proxy.http.browsers import AllowedBrowsers
from yt_local.runner import LocalClusters
from yt_local.security.permissions import UNLIMITED

CREATE = '{path="//tmp/written"; type=map_node}'  # without a known type a body is YSON
ALLOWED_PAGE = "http://localhost:3000"


@asynccontextmanager
async def asked(browsers: AllowedBrowsers | None = None) -> AsyncIterator[tuple[LocalClusters, ClientSession]]:
    options: dict[str, Any] = {} if browsers is None else {"browsers": browsers}
    async with LocalClusters({"a": 0}, test_controls=True, **options) as clusters, ClientSession() as session:
        yield clusters, session


def has_written(clusters: LocalClusters) -> bool:
    return clusters.cluster("a").cypress.exists(UNLIMITED, "//tmp/written")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example", "Content-Type": "text/plain"},
        {"Origin": "http://127.0.0.1:1", "Content-Type": "text/plain"},  # another server on this machine
        {"Origin": "null", "Content-Type": "text/plain"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Host": "evil.example"},  # a name that its owner had resolved to the cluster's address
        {"Host": "evil.example:80", "Origin": "http://evil.example:80"},
        {"Host": "127.0.0.1.evil.example"},
    ],
)
@pytest.mark.parametrize("path", ["/api/v4/create", "/test/off", "/test/clock", "/auth/whoami", "/hosts", "/ping"])
async def test_pages_of_others_get_nothing_done_and_learn_nothing(path: str, headers: Mapping[str, str]) -> None:
    bodies = {"/test/off": '{"seconds": 60}', "/test/clock": '{"advance": 3600}'}
    async with asked() as (clusters, session):
        url = f"http://{clusters.addresses['a']}{path}"
        before = clusters.cluster("a").state.clock.seconds()
        async with session.post(url, data=bodies.get(path, CREATE), headers=headers) as answer:
            assert answer.status == 403
            assert (await answer.json())["code"] == 901
            assert "Access-Control-Allow-Origin" not in answer.headers
        async with session.options(url, headers={**headers, "Access-Control-Request-Method": "POST"}) as answer:
            assert answer.status == 403
        assert not has_written(clusters)
        assert clusters.cluster("a").state.clock.seconds() < before + 600
        async with session.get(f"http://{clusters.addresses['a']}/ping") as answer:
            assert answer.status == 200


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST"])
async def test_clients_and_the_cluster_s_own_pages_are_served(name: str) -> None:
    async with asked() as (clusters, session):
        host = f"{name}:{clusters.addresses['a'].rpartition(':')[2]}"
        url = f"http://{clusters.addresses['a']}/api/v4/create"
        for headers in (
            {"Host": host},
            {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"},
            {"Host": host, "Sec-Fetch-Site": "none"},
        ):
            async with session.post(url, data=CREATE, headers=headers) as answer:
                assert answer.status in (200, 400), headers  # done, or done before
        assert has_written(clusters)


async def test_a_name_and_a_page_may_be_allowed() -> None:
    async with asked(AllowedBrowsers({"clusters.test"}, {ALLOWED_PAGE})) as (clusters, session):
        url = f"http://{clusters.addresses['a']}/api/v4/create"
        headers = {"Host": "clusters.test:8001", "Origin": ALLOWED_PAGE, "Sec-Fetch-Site": "cross-site"}
        async with session.options(url, headers={**headers, "Access-Control-Request-Method": "POST"}) as answer:
            assert answer.status == 200
            assert answer.headers["Access-Control-Allow-Origin"] == ALLOWED_PAGE
            assert "X-YT-Parameters" in answer.headers["Access-Control-Allow-Headers"]
        async with session.post(url, data=CREATE, headers=headers) as answer:
            assert answer.status == 200
            assert answer.headers["Access-Control-Allow-Origin"] == ALLOWED_PAGE
            assert "X-YT-Error" in answer.headers["Access-Control-Expose-Headers"]
        async with session.post(url, data=CREATE, headers={**headers, "Origin": "http://localhost:3001"}) as answer:
            assert answer.status == 403


async def test_a_refused_request_ends_its_connection() -> None:
    """What stands in its body could be read as the next request."""
    async with asked() as (clusters, _):
        host, port = clusters.addresses["a"].split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        hidden = f"POST /api/v4/create HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(CREATE)}\r\n\r\n{CREATE}"
        writer.write(f"POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: {len(hidden)}\r\n\r\n{hidden}".encode())
        answer = await asyncio.wait_for(reader.read(), LIMIT_SECONDS)
        assert answer.startswith(b"HTTP/1.1 403 ")
        assert answer.count(b"HTTP/1.1") == 1
        assert not has_written(clusters)
        writer.close()


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_http_at_the_port_of_the_rpc_proxy_does_nothing(method: str) -> None:
    async with asked() as (clusters, session):
        url = f"http://{clusters.rpc_addresses['a']}/api/v4/create"
        with pytest.raises(ClientError):  # the connection is closed without an answer
            async with session.request(method, url, data=CREATE, timeout=ClientTimeout(LIMIT_SECONDS)):
                pass
        assert clusters.cluster("a").requests.find(Scope(frozenset(), "")) == []
        assert not has_written(clusters)
