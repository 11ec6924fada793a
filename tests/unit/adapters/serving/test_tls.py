"""HTTPS on the agent's port."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from structlog.testing import capture_logs

from queue_agent.adapters.serving.http_server import HttpServer
from queue_agent.adapters.serving.liveness import Liveness
from queue_agent.adapters.serving.tls import ServerTls
from queue_agent.app.open_ports import new_gate
from queue_agent.cli.health import check_health
from queue_agent.config.serving import ServerLimitsConfig, TlsConfig
from queue_agent.errors import ConfigError
from tests.waiting import LIMIT_SECONDS
from yt_wire.gate import Gate


@pytest.fixture(scope="module")
def issued(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two certificates with their keys."""
    folder = tmp_path_factory.mktemp("issued")
    for name in ("first", "second"):
        subject = ["-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-days", "2"]
        files = ["-keyout", str(folder / f"{name}.key"), "-out", str(folder / f"{name}.crt")]
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        subprocess.run(["openssl", "req", "-x509", "-nodes", *curve, *files, *subject], check=True, capture_output=True)
    return folder


@pytest.fixture
def config(issued: Path, tmp_path: Path) -> Iterator[TlsConfig]:
    config = TlsConfig(certificate_file=tmp_path / "tls.crt", key_file=tmp_path / "tls.key")
    replace(config, issued, "first")
    yield config


def replace(config: TlsConfig, issued: Path, name: str) -> None:
    """As a volume of Kubernetes does it: each file is another one at once."""
    for file, suffix in ((config.certificate_file, "crt"), (config.key_file, "key")):
        new = file.with_suffix(".new")
        new.write_bytes((issued / f"{name}.{suffix}").read_bytes())
        new.replace(file)


@asynccontextmanager
async def serving(config: TlsConfig, limits: ServerLimitsConfig | None = None) -> AsyncIterator[tuple[int, Gate]]:
    application = web.Application()

    async def live(request: web.Request) -> web.Response:
        return web.Response(text='{"status": "ok"}')

    application.add_routes([web.get("/health/live", live)])
    async with new_gate(limits or ServerLimitsConfig()) as gate:
        server = HttpServer(application, gate, Liveness(tuple, gate.log).answer_at_once, ServerTls(config))
        await server.start("127.0.0.1", 0)
        try:
            yield server.port, gate
        finally:
            await server.stop()


async def name_at(port: int, issued: Path) -> str:
    """Whose certificate is shown."""
    for name in ("first", "second"):
        context = ssl.create_default_context(cafile=issued / f"{name}.crt")
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.get(f"https://localhost:{port}/health/live", ssl=context) as response,
            ):
                assert response.status == 200
                return name
        except aiohttp.ClientConnectorCertificateError:
            continue
    raise AssertionError("neither certificate is shown")


async def test_certificates_are_read_again_when_they_change(config: TlsConfig, issued: Path) -> None:
    async with serving(config) as (port, _):
        assert await name_at(port, issued) == "first"
        replace(config, issued, "second")
        assert await name_at(port, issued) == "second"


async def test_a_certificate_that_is_of_no_use_leaves_the_last_one(config: TlsConfig, issued: Path) -> None:
    async with serving(config) as (port, _):
        with capture_logs() as logs:
            config.certificate_file.write_bytes((issued / "second.crt").read_bytes())  # the key has not come yet
            assert await name_at(port, issued) == "first"
            assert await name_at(port, issued) == "first"
            config.key_file.unlink()
            assert await name_at(port, issued) == "first"
        assert [line["log_level"] for line in logs if "cannot be read again" in line["event"]] == ["error"] * 2
        replace(config, issued, "second")
        assert await name_at(port, issued) == "second"


def test_an_agent_does_not_start_without_its_certificate(config: TlsConfig, issued: Path) -> None:
    config.key_file.write_bytes((issued / "second.key").read_bytes())
    with pytest.raises(ConfigError, match=r"http\.tls: certificate"):
        ServerTls(config)
    config.key_file.unlink()
    with pytest.raises(ConfigError, match=r"http\.tls: certificate"):
        ServerTls(config)


async def test_nothing_is_answered_in_plain_text(config: TlsConfig) -> None:
    async with serving(config) as (port, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n")
        assert b"HTTP" not in await reader.read()
        writer.close()


def test_old_protocols_are_refused(config: TlsConfig) -> None:
    assert ServerTls(config).context().minimum_version == ssl.TLSVersion.TLSv1_2


async def test_handshakes_that_do_not_end_are_ended(config: TlsConfig, issued: Path) -> None:
    limits = ServerLimitsConfig(
        max_connections=16, max_connections_per_address=16, message_timeout=timedelta(seconds=1)
    )
    async with serving(config, limits) as (port, gate):
        peers = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
        try:
            for peer in peers:
                peer.send(b"\x16\x03\x01")  # the beginning of a handshake
            async with asyncio.timeout(LIMIT_SECONDS):
                assert await name_at(port, issued) == "first"
                for peer in peers:
                    peer.setblocking(False)
                    try:
                        while await asyncio.get_running_loop().sock_recv(peer, 100):
                            pass
                    except ConnectionError:
                        pass
                assert gate.connection_count <= 1  # that of the client, which may not have gone yet
        finally:
            for peer in peers:
                peer.close()


async def test_the_command_for_images_asks_by_https_too(
    config: TlsConfig, issued: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(issued / "first.crt"))
    async with serving(config) as (port, _):
        assert await asyncio.to_thread(check_health, f"https://localhost:{port}", "live") == '{"status": "ok"}'
