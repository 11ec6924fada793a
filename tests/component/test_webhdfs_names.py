"""Names that nobody should be able to give a file, and requests that are hardly HTTP: refused in words of WebHDFS."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from urllib.parse import quote, unquote_to_bytes

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from queue_agent.webhdfs.files import PIECE_SIZE
from queue_agent.webhdfs.paths import MAX_NAME_BYTES, MAX_PATH_CHARACTERS, BadPath, clean_path, decode_path
from tests.component.webhdfs_client import ROOT, SECRET, Client, serving
from tests.waiting import LIMIT_SECONDS
from yt_local.testing import LocalCluster

OPERATIONS = (
    ("GET", "GETFILESTATUS"),
    ("GET", "LISTSTATUS"),
    ("GET", "GETFILEBLOCKLOCATIONS"),
    ("GET", "OPEN"),
    ("GET", "OPEN&data=true"),
    ("PUT", "CREATE"),
    ("PUT", "CREATE&data=true"),
    ("PUT", "MKDIRS"),
    ("PUT", f"RENAME&destination=/{SECRET}/other"),
    ("DELETE", "DELETE&recursive=true"),
)

HOSTILE = {
    "a NUL": "%00",
    "a NUL inside": "a%00b",
    "a control character": "%01",
    "a line end": "a%0d%0aSet-Cookie:%20a=b",
    "delete": "%7f",
    "a control character beyond ASCII": "%c2%85",
    "no hexadecimal digits": "%zz",
    "half an escape": "a%4",
    "a bare percent": "%",
    "no UTF-8": "%ff",
    "UTF-8 that breaks off": "%e2%82",
    "a surrogate": "%ed%a0%80",
    "an overlong slash": "%c0%af",
    "a long name": "x" * (MAX_NAME_BYTES + 1),
    "a long name of a few letters": "%d1%8f" * (MAX_NAME_BYTES // 2 + 1),
    "a long path": "x/" * (MAX_PATH_CHARACTERS // 2 + 1),
}


@pytest.fixture
async def client(yt_cluster: LocalCluster) -> AsyncIterator[Client]:
    yt_cluster.client.create("map_node", ROOT, recursive=True)
    async with serving(yt_cluster) as client:
        yield client


async def send(origin: str, method: str, target: str, host: str = "localhost") -> tuple[int, dict[str, str]]:
    """Send a target as it is; status, and the remote exception if there is one, which is all there may be then."""
    address, _, port = origin.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(address, int(port))
    try:
        head = f"{method} {target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        writer.write(head.encode("latin-1"))
        async with asyncio.timeout(LIMIT_SECONDS):
            answer = await reader.read()
    finally:
        writer.transport.abort()
    status = int(answer.split(b" ", 2)[1])
    if status < 400:
        return status, {}
    exception: dict[str, str] = json.loads(answer.partition(b"\r\n\r\n")[2])["RemoteException"]
    assert set(exception) == {"exception", "javaClassName", "message"}
    assert len(exception["message"]) < 1000
    return status, exception


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
async def test_a_name_no_file_can_have_is_refused_by_every_operation(
    client: Client, yt_cluster: LocalCluster, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    yt_cluster.forget_requests()
    with capture_logs() as logs:
        for method, operation in OPERATIONS:
            status, exception = await send(client.origin, method, f"/webhdfs/v1/{SECRET}/{name}?op={operation}")
            assert (status, exception.get("exception")) == (400, "InvalidPathException"), operation
        destination = f"op=RENAME&destination=/{SECRET}/{name}"
        status, exception = await send(client.origin, "PUT", f"/webhdfs/v1/{SECRET}/file?{destination}")
        assert (status, exception.get("exception")) == (400, "InvalidPathException")
    assert yt_cluster.requests() == []
    assert logs == []
    assert caplog.records == []


@pytest.mark.parametrize(
    "target",
    [
        "/" + "x" * 100_000,
        "/webhdfs/v1/\xff?op=OPEN",
        "/webhdfs/v1/a b?op=OPEN",
        "*",
        "http://",
        "/webhdfs/v2/",
        "/%00",
    ],
    ids=lambda target: ascii(target[:20]),
)
async def test_what_is_no_request_of_the_protocol_is_refused_in_its_words(
    client: Client, caplog: pytest.LogCaptureFixture, target: str
) -> None:
    status, exception = await send(client.origin, "GET", target)
    assert 400 <= status < 500
    assert exception["javaClassName"].startswith("java.")
    assert caplog.records == []


async def test_the_root_can_not_be_removed_under_another_name(client: Client) -> None:
    await client.create("/file", b"1")
    for name in ("", "/", "//", "/.", "/..", "/%2e%2e", "/a/..", "/%2e/%2e%2e/"):
        target = f"/webhdfs/v1/{SECRET}{name}?op=DELETE&recursive=true"
        await send(client.origin, "DELETE", target)
    assert await client.names("/") == ["file"]


async def test_the_address_of_a_new_file_is_encoded(client: Client) -> None:
    address = f"{client.origin}/webhdfs/v1/{SECRET}/{quote('имя & 100%')}"
    async with (
        aiohttp.ClientSession() as session,
        session.put(address, params={"op": "CREATE", "data": "true"}) as response,
    ):
        assert response.status == 201
        assert unquote_to_bytes(response.headers["Location"]).decode().endswith(f"/{SECRET}/имя & 100%")
    assert await client.names("/") == ["имя & 100%"]


NAMES = st.one_of(
    st.text(max_size=20),
    st.text(alphabet="./%\\@&*[]{}<>#?+ \x00\n\x7f\u2028\ufffe\U0001f600", max_size=10),
    st.text(alphabet="xя", min_size=1).map(lambda text: text * 3000),
)


@given(name=NAMES, encoded=st.booleans())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_name_is_kept_as_it_is_or_refused(name: str, *, encoded: bool) -> None:
    """What a path is taken for is what was sent, and is then found under this name alone."""
    path = f"/{name}"
    try:
        taken = decode_path(quote(path)) if encoded else clean_path(path)
    except BadPath as error:
        assert str(error).isprintable()
        assert len(str(error)) < 500
        bad = any(ord(character) < 32 or 127 <= ord(character) < 160 for character in name)
        assert bad or len(name) > 1000
        return
    assert taken.startswith("/")
    assert not {".", ".."} & set(taken.split("/"))
    assert clean_path(taken) == taken
    if not {"", ".", ".."} & set(name.split("/")):
        assert taken == path


@given(raw=st.binary(max_size=30))
def test_bytes_are_utf_8_or_refused(raw: bytes) -> None:
    encoded = "/" + "".join(f"%{byte:02x}" for byte in raw)
    try:
        expected = "/" + raw.decode()
    except UnicodeDecodeError:
        with pytest.raises(BadPath, match="UTF-8"):
            decode_path(encoded)
        return
    try:
        assert decode_path(encoded) == clean_path(expected)
    except BadPath:
        with pytest.raises(BadPath):
            clean_path(expected)


async def test_names_that_cypress_gives_a_meaning_are_names(client: Client) -> None:
    """Every operation, over a real cluster, with names that can be had but look odd."""
    for name in (
        "a&b",
        "@id",
        "*",
        "[0]",
        "{x}",
        "<a=b>c",
        "#1-2-3-4",
        "a\\b",
        "\u2028",
        "\U0001f600",
        "x" * 4096,
        "a+b c",
    ):
        at = f"/{quote(name)}"
        prefix = f"/webhdfs/v1/{SECRET}"
        assert (await send(client.origin, "PUT", f"{prefix}{at}?op=CREATE&data=true"))[0] == 201, name
        assert await client.names("/") == [name]
        destination = quote(f"/{SECRET}/moved {name[:50]}")
        assert (await send(client.origin, "PUT", f"{prefix}{at}?op=RENAME&destination={destination}"))[0] == 200
        assert await client.names("/") == [f"moved {name[:50]}"], name
        at = f"/{quote(f'moved {name[:50]}')}"
        assert (await send(client.origin, "DELETE", f"{prefix}{at}?op=DELETE"))[0] == 200
    assert await client.names("/") == []


async def test_a_read_that_fails_on_its_way_breaks_off_and_adds_nothing(
    client: Client, yt_cluster: LocalCluster
) -> None:
    yt_cluster.client.create("file", f"{ROOT}/large")
    yt_cluster.client.write_file(f"{ROOT}/large", b"x" * (PIECE_SIZE + 1000))
    _, location = await client.ask("GET", "/large", "OPEN")
    async with aiohttp.ClientSession() as session, session.get(location) as response:
        read = await response.content.readexactly(1000)
        with yt_cluster.faults.refuse("read_file"), pytest.raises(aiohttp.ClientPayloadError):
            while piece := await response.content.readany():
                read += piece
    assert set(read) == {ord("x")}
