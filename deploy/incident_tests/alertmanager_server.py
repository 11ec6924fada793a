"""An Alertmanager for tests: the configuration of deploy/, with somebody who writes down what it sends."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import yaml
from aiohttp import web

from deploy.tests.prometheus_server import DEPLOY
from tests.ports import reserved_port


@dataclass(frozen=True, slots=True)
class Message:
    """An alert that was sent to somebody."""

    name: str
    labels: dict[str, str]
    summary: str
    description: str
    started_at: datetime
    """When the alert began to fire."""

    @property
    def subject(self) -> str:
        """The queue or account it is about, or the agent."""
        return self.labels.get("queue_path") or self.labels.get("account", "agent")


@dataclass
class Mailbox:
    """What was sent, in order; alerts that ended are left out."""

    address: str
    messages: list[Message] = field(default_factory=list)

    async def receive(self, request: web.Request) -> web.Response:
        for alert in (await request.json())["alerts"]:
            if alert["status"] == "firing":
                self.messages.append(_message(alert))
        return web.Response()

    async def inhibited(self) -> set[tuple[str, str]]:
        """Names of alerts that fire and are not sent because of others, with the queue each is about."""
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://{self.address}/api/v2/alerts?active=false&silenced=false&inhibited=true") as response,
        ):
            return {
                (one["labels"]["alertname"], one["labels"].get("queue_path", ""))
                for one in await response.json()
                if one["status"]["inhibitedBy"]
            }

    def about(self, subject: str) -> dict[str, Message]:
        """The first message of each alert about a subject."""
        return {one.name: one for one in reversed(self.messages) if one.subject == subject}


def _message(alert: dict[str, Any]) -> Message:
    labels, texts = alert["labels"], alert["annotations"]
    started_at = datetime.fromisoformat(alert["startsAt"]).astimezone(UTC)
    return Message(labels["alertname"], labels, texts["summary"], texts["description"], started_at)


@asynccontextmanager
async def alertmanager_server(folder: Path) -> AsyncIterator[Mailbox]:
    """Run an Alertmanager that sends at once, and only to a mailbox.

    Args:
        folder: empty; for its files.
    """
    mail_port = reserved_port()
    mailbox = Mailbox(f"127.0.0.1:{reserved_port()}")
    application = web.Application()
    application.add_routes([web.post("/", mailbox.receive)])
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", mail_port).start()
    config = yaml.safe_load((DEPLOY / "prometheus/alertmanager.yml").read_text())
    config["route"] |= {"receiver": "mailbox", "group_wait": "1s", "group_interval": "1s"}
    config["receivers"] = [{"name": "mailbox", "webhook_configs": [{"url": f"http://127.0.0.1:{mail_port}/"}]}]
    (folder / "alertmanager.yml").write_text(yaml.safe_dump(config))
    program = shutil.which("prometheus-alertmanager")
    assert program is not None, "Alertmanager is not installed: make check-incidents does that"
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            program,
            f"--config.file={folder / 'alertmanager.yml'}",
            f"--storage.path={folder / 'data'}",
            f"--web.listen-address={mailbox.address}",
            "--cluster.listen-address=",
            stderr=log,
        )
        try:
            async with aiohttp.ClientSession() as session, asyncio.timeout(60):
                while not await _is_ready(session, mailbox.address):
                    assert process.returncode is None, (folder / "log").read_text()
                    await asyncio.sleep(0.1)
            yield mailbox
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()
            await runner.cleanup()


async def _is_ready(session: aiohttp.ClientSession, address: str) -> bool:
    try:
        async with session.get(f"http://{address}/-/ready") as response:
            return response.status == 200
    except aiohttp.ClientError:
        return False
