"""The transport against servers that answer as proxies do, or as they do on a bad day."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from queue_agent.adapters.cluster.yt_http import YtHttp
from queue_agent.config.clusters import ClusterConfig
from queue_agent.errors import AccessDenied, ClusterError, ClusterUnavailable, ConfigError, ObjectNotFound
from tests.component.raw_server import raw_server
from yt_wire import http, yson
from yt_wire.error import YtError

Answer = Callable[[web.Request, Mapping[str, Any]], Awaitable[web.StreamResponse]]


class Requests:
    """Hears of requests, as metrics do."""

    def __init__(self) -> None:
        self.outcomes: list[tuple[str, str, str]] = []

    def request_finished(self, cluster: str, command: str, outcome: str, seconds: float) -> None:
        assert seconds >= 0
        self.outcomes.append((cluster, command, outcome))


class Proxy:
    """An HTTP proxy that notes what it is sent and answers what it is told to, in turn."""

    def __init__(self) -> None:
        self.requests: list[web.Request] = []
        self.parameters: list[Mapping[str, Any]] = []
        self.bodies: list[bytes] = []
        self.answers: list[web.Response] = []
        self.hosts: list[str] = []
        self.address = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/hosts":
            return web.json_response(self.hosts)
        body = await request.read()
        header = request.headers.get(http.PARAMETERS)
        self.requests.append(request)
        self.bodies.append(body)
        self.parameters.append(yson.loads(body if header is None else header.encode("latin-1")))
        return self.answers.pop(0) if self.answers else ok({})


@asynccontextmanager
async def serving(proxy: Proxy, tls: ssl.SSLContext | None = None) -> AsyncIterator[Proxy]:
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", proxy.handle)
    runner = web.AppRunner(application, access_log=None, max_line_size=1 << 20, max_field_size=1 << 20)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    proxy.address = f"127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield proxy
    finally:
        await runner.cleanup()


@pytest.fixture
async def proxy() -> AsyncIterator[Proxy]:
    async with serving(Proxy()) as proxy:
        yield proxy


def ok(value: Any) -> web.Response:
    return web.Response(body=yson.dumps(value))


def failure(error: YtError, status: int = 400) -> web.Response:
    return web.Response(status=status, text=error.to_json(), headers=http.error_headers(error))


def config(address: str, **fields: Any) -> ClusterConfig:
    return ClusterConfig(proxy=address, **fields)


async def test_a_light_reading_command_is_a_get_with_its_parameters_in_a_header(proxy: Proxy) -> None:
    proxy.answers = [ok({"value": 5})]
    async with YtHttp("hume", config(proxy.address)) as client:
        assert await client.call("get", {"path": "//tmp/путь/@x"}) == {"value": 5}
    [request], [parameters] = proxy.requests, proxy.parameters
    assert (request.method, request.path) == ("GET", "/api/v4/get")
    assert parameters["path"] == "//tmp/путь/@x"
    assert (str(parameters["output_format"]), parameters["output_format"].attributes) == ("yson", {"format": "binary"})
    assert request.headers[http.HEADER_FORMAT] == "<format=text>yson"
    assert request.headers["User-Agent"].startswith("yt-queue-agent/")
    assert len(request.headers[http.CORRELATION_ID].split("-")) == 4


async def test_a_volatile_command_is_a_post_with_its_parameters_in_the_body(proxy: Proxy) -> None:
    async with YtHttp("hume", config(proxy.address)) as client:
        await client.call("trim_rows", {"path": "#1-2-3-4", "tablet_index": 0, "trimmed_row_count": 5})
    [request], [parameters] = proxy.requests, proxy.parameters
    assert (request.method, request.path) == ("POST", "/api/v4/trim_rows")
    assert request.content_type == "application/x-yt-yson-binary"
    assert parameters["trimmed_row_count"] == 5
    assert "mutation_id" not in parameters


async def test_rows_are_the_body_of_a_put(proxy: Proxy) -> None:
    rows = [{"a": yson.Uint64(5)}, {"a": None}]
    async with YtHttp("hume", config(proxy.address)) as client:
        await client.call("insert_rows", {"path": "//tmp/t"}, rows=rows)
    assert proxy.requests[0].method == "PUT"
    assert proxy.parameters[0]["input_format"].attributes == {"format": "binary"}
    assert yson.loads_rows(proxy.bodies[0]) == [{b"a": 5}, {b"a": None}]


async def test_a_body_above_a_megabyte_is_sent_whole(proxy: Proxy) -> None:
    async with YtHttp("hume", config(proxy.address)) as client:
        with pytest.raises(ClusterError):  # the test server takes no more; the body has left without a warning
            await client.call("insert_rows", {"path": "//tmp/t"}, rows=[{"a": "x" * (3 << 20)}])


async def test_rows_come_with_their_strings_decoded(proxy: Proxy) -> None:
    proxy.answers = [web.Response(body=yson.dumps_rows([{"a": "я", "$b": yson.Uint64(1)}, {"a": None, "$b": None}]))]
    async with YtHttp("hume", config(proxy.address)) as client:
        rows = await client.read_rows("select_rows", {"query": '[a], [$b] from [//tmp/путь] where [a] = "x\n"'})
    assert rows == [{"a": "я", "$b": 1}, {"a": None, "$b": None}]
    assert proxy.parameters[0]["query"] == '[a], [$b] from [//tmp/путь] where [a] = "x\n"'


async def test_an_empty_tabular_answer_has_no_rows(proxy: Proxy) -> None:
    proxy.answers = [web.Response()]
    async with YtHttp("hume", config(proxy.address)) as client:
        assert await client.read_rows("select_rows", {"query": "* from [//t]"}) == []


async def test_an_error_says_what_was_asked_of_whom(proxy: Proxy) -> None:
    error = YtError("outer", 1, {"host": "h"}, [YtError("Error resolving path //tmp/q", 500)])
    proxy.answers = [failure(error)]
    requests = Requests()
    async with YtHttp("hume", config(proxy.address), requests) as client:
        with pytest.raises(ObjectNotFound, match=r"get //tmp/q/@x on cluster hume failed") as raised:
            await client.call("get", {"path": "//tmp/q/@x"})
    assert raised.value.details == error.to_map()
    assert requests.outcomes == [("hume", "get", "not_found")]


async def test_an_error_header_wins_over_status_200(proxy: Proxy) -> None:
    proxy.answers = [web.Response(body=yson.dumps(1), headers=http.error_headers(YtError("denied", 901)))]
    async with YtHttp("hume", config(proxy.address)) as client:
        with pytest.raises(AccessDenied):
            await client.call("get", {"path": "//x"})


async def test_an_error_may_be_in_the_body_alone(proxy: Proxy) -> None:
    proxy.answers = [web.Response(status=400, text=YtError("no", 501).to_json())]
    async with YtHttp("hume", config(proxy.address)) as client:
        with pytest.raises(ClusterError) as raised:
            await client.call("get", {"path": "//x"})
    assert raised.value.code == 501


async def test_an_error_with_many_causes_fits_into_a_header(proxy: Proxy) -> None:
    error = YtError("outer", 1, inner_errors=[YtError("x" * 500, 2)] * 100)
    proxy.answers = [failure(error), failure(error)]
    async with YtHttp("hume", config(proxy.address)) as client:
        for attempt in (client.call("get", {"path": "//x"}), client.read_rows("select_rows", {"query": "*"})):
            with pytest.raises(ClusterError) as raised:
                await attempt
            assert raised.value.details is not None


@pytest.mark.parametrize(("status", "kind"), [(401, AccessDenied), (403, AccessDenied), (418, ClusterError)])
async def test_a_status_without_an_error_is_one(proxy: Proxy, status: int, kind: type[ClusterError]) -> None:
    proxy.answers = [web.Response(status=status, text="<html>", headers={http.PROXY: "hume"})]
    async with YtHttp("hume", config(proxy.address)) as client:
        with pytest.raises(kind):
            await client.call("get", {"path": "//x"})


async def test_an_answer_that_is_no_yson_is_an_error(proxy: Proxy) -> None:
    proxy.answers = [web.Response(body=b"{a=")]
    async with YtHttp("hume", config(proxy.address)) as client:
        with pytest.raises(ClusterError, match="malformed"):
            await client.call("get", {"path": "//x"})


async def test_a_light_request_that_failed_on_its_way_is_repeated_under_the_same_mutation_id(proxy: Proxy) -> None:
    proxy.answers = [web.Response(status=503, text="busy"), failure(YtError("wait", 105)), ok({"results": []})]
    requests = Requests()
    async with YtHttp("hume", config(proxy.address), requests) as client:
        assert await client.call("execute_batch", {"requests": []}) == {"results": []}
    first, *repeats = proxy.parameters
    assert "retry" not in first
    assert all(repeat["retry"] is True and repeat["mutation_id"] == first["mutation_id"] for repeat in repeats)
    assert len({request.headers[http.CORRELATION_ID] for request in proxy.requests}) == 1
    assert [outcome for _, _, outcome in requests.outcomes] == ["unavailable", "unavailable", "ok"]


async def test_repeats_end(proxy: Proxy) -> None:
    proxy.answers = [failure(YtError("wait", 105)) for _ in range(9)]
    async with YtHttp("hume", config(proxy.address, retry_count=1)) as client:
        with pytest.raises(ClusterUnavailable):
            await client.call("get", {"path": "//x"})
    assert len(proxy.requests) == 2


@pytest.mark.parametrize("command", ["insert_rows", "trim_rows", "delete_rows"])
async def test_writing_commands_are_never_repeated(proxy: Proxy, command: str) -> None:
    proxy.answers = [failure(YtError("wait", 105)) for _ in range(9)]
    async with YtHttp("hume", config(proxy.address)) as client:
        with pytest.raises(ClusterUnavailable):
            await client.call(command, {"path": "//x"})
    assert len(proxy.requests) == 1


async def test_answers_that_will_not_change_are_not_asked_for_again(proxy: Proxy) -> None:
    proxy.answers = [failure(YtError("no", 500))]
    async with YtHttp("hume", config(proxy.address)) as client:
        with pytest.raises(ObjectNotFound):
            await client.call("get", {"path": "//x"})
    assert len(proxy.requests) == 1


async def test_heavy_requests_go_to_the_proxies_the_cluster_tells_of(proxy: Proxy) -> None:
    async with serving(Proxy()) as data_proxy:
        proxy.hosts = [data_proxy.address]
        async with YtHttp("hume", config(proxy.address)) as client:
            await client.call("trim_rows", {"path": "#1"})
            await client.call("get", {"path": "//x"})
        assert [request.path for request in data_proxy.requests] == ["/api/v4/trim_rows"]
        assert [request.path for request in proxy.requests] == ["/api/v4/get"]


async def test_without_discovery_everything_goes_to_the_configured_proxy(proxy: Proxy) -> None:
    proxy.hosts = ["127.0.0.1:1"]
    async with YtHttp("hume", config(proxy.address, discover_proxies=False)) as client:
        await client.call("trim_rows", {"path": "#1"})
    assert len(proxy.requests) == 1


async def test_a_proxy_that_can_not_be_reached_is_banned_and_another_one_serves(proxy: Proxy) -> None:
    proxy.hosts = ["127.0.0.1:1"]
    requests = Requests()
    async with YtHttp("hume", config(proxy.address), requests) as client:
        await client.read_rows("select_rows", {"query": "* from [//t]"})
        await client.call("trim_rows", {"path": "#1"})
    assert [outcome for _, _, outcome in requests.outcomes] == ["unavailable", "ok", "ok"]


async def test_a_write_that_no_proxy_has_taken_goes_to_another(proxy: Proxy) -> None:
    proxy.hosts = ["127.0.0.1:1"]
    async with YtHttp("hume", config(proxy.address)) as client:
        await client.call("insert_rows", {"path": "//tmp/t"}, rows=[{"a": 1}])
    assert len(proxy.requests) == 1


async def test_a_cluster_that_is_not_there_is_unavailable() -> None:
    async with YtHttp("hume", config("127.0.0.1:1", retry_count=0)) as client:
        with pytest.raises(ClusterUnavailable, match="get //x on cluster hume"):
            await client.call("get", {"path": "//x"})
        with pytest.raises(ClusterUnavailable, match="select_rows //x on cluster hume"):
            await client.read_rows("select_rows", {"query": "*"}, subject="//x")


@pytest.mark.parametrize("command", ["get", "select_rows"])
async def test_a_silent_proxy_is_given_up_after_the_timeout(command: str) -> None:
    async def be_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with raw_server(be_silent) as address:
        silent = config(address, request_timeout=timedelta(milliseconds=50), discover_proxies=False)
        async with YtHttp("hume", silent) as client:
            with pytest.raises(ClusterUnavailable, match=r"no answer in 0\.05 s"):
                await client.call(command, {"path": "//x"})


@pytest.mark.parametrize("command", ["get", "select_rows"])
async def test_a_redirect_is_followed_with_method_and_headers(proxy: Proxy, command: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n")
    async with serving(Proxy()) as data_proxy:
        location = f"http://{data_proxy.address}/api/v4/{command}"
        proxy.answers = [web.Response(status=307, headers={"Location": location})]
        data_proxy.answers = [web.Response(body=yson.dumps({"a": 1}))]
        async with YtHttp("hume", config(proxy.address, token_file=tmp_path / "token")) as client:
            await client.call(command, {"path": "//x"})
        [request] = data_proxy.requests
        assert request.method == "GET"
        assert data_proxy.parameters[0]["path"] == "//x"
        assert request.headers["Authorization"] == "OAuth secret"


async def test_redirects_in_a_circle_end(proxy: Proxy) -> None:
    location = {"Location": "/api/v4/get"}
    proxy.answers = [web.Response(status=307, headers=location) for _ in range(9)]
    async with YtHttp("hume", config(proxy.address, retry_count=0)) as client:
        with pytest.raises(ClusterUnavailable, match="redirected"):
            await client.call("get", {"path": "//x"})


async def test_the_token_is_read_again_when_its_file_changes(proxy: Proxy, tmp_path: Path) -> None:
    token_file = tmp_path / "token"
    async with YtHttp("hume", config(proxy.address, token_file=token_file)) as client:
        with pytest.raises(ClusterError, match="Token of cluster hume"):
            await client.call("get", {"path": "//x"})
        for token in ("first", "second one"):
            token_file.write_text(token + "\n")
            await client.call("get", {"path": "//x"})
            assert proxy.requests[-1].headers["Authorization"] == f"OAuth {token}"


@pytest.mark.parametrize("address", ["ftp://hume", "http://hume:port", ""])
def test_an_address_that_is_none_is_refused_at_start(address: str) -> None:
    with pytest.raises(ConfigError, match="hume"):
        YtHttp("hume", config(address))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Key and self-signed certificate of 127.0.0.1 in one file."""
    directory = tmp_path_factory.mktemp("tls")
    key, certificate = directory / "key.pem", directory / "certificate.pem"
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    )
    subprocess.run([*command.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    certificate.write_text(certificate.read_text() + key.read_text())
    return certificate


async def test_https_is_spoken_with_authorities_of_ones_own(certificate: Path) -> None:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate)
    async with serving(Proxy(), tls) as proxy:
        url = f"https://{proxy.address}"
        async with YtHttp("hume", config(url, ca_file=certificate)) as client:
            await client.call("get", {"path": "//x"})
            await client.read_rows("select_rows", {"query": "*"})
            await client.read_rows("select_rows", {"query": "*"})
        assert len(proxy.requests) == 3
        async with YtHttp("hume", config(url, retry_count=0)) as client:
            with pytest.raises(ClusterUnavailable, match="certificate"):
                await client.call("get", {"path": "//x"})
            with pytest.raises(ClusterUnavailable, match="certificate"):
                await client.read_rows("select_rows", {"query": "*"})


def test_a_certificate_file_that_is_none_is_refused_at_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="CA file"):
        YtHttp("hume", config("https://hume", ca_file=tmp_path / "missing.pem"))
