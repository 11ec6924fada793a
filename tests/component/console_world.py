"""A cluster that asks for tokens, people with and without rights, and an agent whose console they use."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp
from yarl import URL

from tests.component.running_agent import RunningAgent, User, running_agent
from yt_local.runner import LocalClusters

ROOT_TOKEN: Final = "roots-token-00000000"
ANN_TOKEN: Final = "anns-token-1111111111"
BOB_TOKEN: Final = "bobs-token-2222222222"
QUEUE: Final = "//home/queue"
CONSUMER: Final = "//home/consumer"
PAIR: Final = {"cluster": "pythia", "path": CONSUMER, "queue_cluster": "pythia", "queue_path": QUEUE}
OF_QUEUE: Final = {"cluster": "pythia", "path": QUEUE}
ACTS: Final = (
    "reset", "acknowledge", "protect", "register", "unregister", "mount", "unmount", "pause-trimming",
    "resume-trimming", "ban", "unban",
)  # fmt: skip
ALLOWED: Final[Mapping[str, Any]] = {"login": "token", "rows": True, "acts": ACTS}


@dataclass
class Browser:
    """One person's browser: keeps cookies, and the token of its session against requests of strange pages.

    Args:
        origin: of the agent.
        session: has no cookies of its own.
    """

    origin: str
    session: aiohttp.ClientSession
    headers: dict[str, str] = field(default_factory=dict)
    csrf: str | None = None
    cookie: str = ""
    set_cookie: str = ""

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Status and document of an answer."""
        sent = {**self.headers, **({"Cookie": self.cookie} if self.cookie else {})}
        if self.csrf is not None:
            sent["X-CSRF-Token"] = self.csrf
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        url = URL(self.origin + path, encoded=True)
        async with self.session.request(method, url, json=body, headers=sent) as response:
            if "Set-Cookie" in response.headers:
                self.set_cookie = response.headers["Set-Cookie"]
                self.cookie = self.set_cookie.partition(";")[0]
            return response.status, await response.json()

    async def log_in(self, token: str, cluster: str = "pythia", **headers: str) -> tuple[int, Any]:
        status, document = await self.ask("POST", "/api/v1/session", {"token": token, "cluster": cluster}, **headers)
        if status == 200:
            self.csrf = document["csrf"]
        return status, document

    async def preview(self, act: str, body: Mapping[str, Any]) -> tuple[int, Any]:
        return await self.ask("POST", f"/api/v1/acts/{act}", {**body, "dry_run": True})

    async def confirm(self, act: str, body: Mapping[str, Any], preview: str) -> tuple[int, Any]:
        return await self.ask("POST", f"/api/v1/acts/{act}", {**body, "dry_run": False, "preview": preview})

    async def carry_out(self, act: str, body: Mapping[str, Any]) -> tuple[int, Any]:
        """Preview and act, as the dialog does."""
        status, document = await self.preview(act, body)
        return (status, document) if status != 200 else await self.confirm(act, body, document["preview"])


@dataclass
class ConsoleWorld:
    """All of it."""

    agent: RunningAgent
    root: User
    """Of the cluster."""

    session: aiohttp.ClientSession
    """Without credentials."""

    def browser(self, **headers: str) -> Browser:
        return Browser(self.agent.origin, self.session, {name.replace("_", "-"): one for name, one in headers.items()})

    async def ann(self) -> Browser:
        """Ann may do anything below //home."""
        return await self._known(ANN_TOKEN)

    async def bob(self) -> Browser:
        """Bob may read, and no more; he has nothing to do with secrets."""
        return await self._known(BOB_TOKEN)

    async def offsets(self) -> list[int]:
        rows = await select(self.root, f"[offset] from [{CONSUMER}] order by partition_index limit 9")
        return [row["offset"] for row in rows]

    async def journal(self) -> list[Mapping[str, Any]]:
        """The audit journal as it is on the cluster, the oldest act first."""
        columns = "[user], login, peer, act, subject, outcome, error, [instant], finished, [plan]"
        return await select(self.root, f"{columns} from [//sys/queue_agents/audit_journal] limit 100")

    async def _known(self, token: str) -> Browser:
        browser = self.browser()
        assert (await browser.log_in(token))[0] == 200
        return browser


async def select(user: User, query: str) -> list[Mapping[str, Any]]:
    """Rows of a query as JSON."""
    async with user._session.post(
        user._origin + "select_rows",
        json={"query": query, "output_format": "json"},
    ) as response:
        text = await response.text()
        assert response.status == 200, text
        return [json.loads(line) for line in text.splitlines()]


@asynccontextmanager
async def console_world(
    tmp_path: Path, console: Mapping[str, Any] = ALLOWED, **options: Any
) -> AsyncIterator[ConsoleWorld]:
    """A queue of two partitions with ten rows each; the vital consumer has read five of each."""
    token_file = tmp_path / "token"
    token_file.write_text(ROOT_TOKEN + "\n")
    tokens = {ROOT_TOKEN: "root"}
    async with (
        LocalClusters({"pythia": 0}, tokens=tokens, require_token=True) as clusters,
        aiohttp.ClientSession(headers={"Authorization": f"OAuth {ROOT_TOKEN}"}) as roots,
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
    ):
        address = clusters.addresses["pythia"]
        root = User(roots, "pythia", address)
        for name, token in (("ann", ANN_TOKEN), ("bob", BOB_TOKEN)):
            await root.run("create", type="user", attributes={"name": name})
            clusters.cluster("pythia").tokens.add(name, token)
        await root.create_queue(QUEUE, tablet_count=2)
        await root.create_consumer(CONSUMER, QUEUE)
        for index in (0, 1):
            await root.insert(QUEUE, [{"data": f"row {n}", "$tablet_index": index} for n in range(10)])
            await root.advance(CONSUMER, QUEUE, index, 5)
        read = {"action": "allow", "subjects": ["users"], "permissions": ["read"]}
        everything = ["read", "write", "remove", "mount"]
        anns = {"action": "allow", "subjects": ["ann"], "permissions": everything}
        register = {**anns, "permissions": ["register_queue_consumer"], "vital": True}
        await root.set("//home/@acl", [read, anns, register])
        async with running_agent(
            session,
            {"pythia": address},
            clusters={"pythia": {"proxy": address, "token_file": str(token_file), "discover_proxies": False}},
            console=dict(console),
            **options,
        ) as agent:
            yield ConsoleWorld(agent, root, session)
