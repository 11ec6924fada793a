"""A Prometheus server for tests: the configuration and the rules of deploy/, in which a minute lasts two seconds."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import aiohttp
import yaml

from tests.ports import reserved_port
from tests.waiting import LIMIT_SECONDS

DEPLOY: Final = Path(__file__).parent.parent

_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_FASTER: Final = 30


def hasten(duration: str) -> str:
    """A duration, such as `15m`, divided by thirty; whole seconds, at least one."""
    return f"{max(1, int(duration[:-1]) * _SECONDS[duration[-1]] // _FASTER)}s"


def hastened_rules(rules: dict[str, Any]) -> dict[str, Any]:
    """A file of rules whose windows and waits are hastened; thresholds stay as they are."""
    for group in rules["groups"]:
        for rule in group["rules"]:
            rule["expr"] = re.sub(
                r"(\[|\boffset )(\d+[smhd])\b", lambda found: f"{found[1]}{hasten(found[2])}", rule["expr"]
            )
            for wait in ("for", "keep_firing_for"):
                if wait in rule:
                    rule[wait] = hasten(rule[wait])
    return rules


class PrometheusServer:
    """What is asked of a server that runs.

    Args:
        session: for requests.
        origin: its address.
    """

    def __init__(self, session: aiohttp.ClientSession, origin: str) -> None:
        self._session = session
        self._origin = origin

    async def is_ready(self) -> bool:
        try:
            async with self._session.get(f"{self._origin}/-/ready") as response:
                return response.status == 200
        except aiohttp.ClientError:
            return False

    async def ask(self, expr: str) -> list[dict[str, Any]]:
        """The vector that an expression gives now; AssertionError with the server's words if it makes no sense."""
        async with self._session.post(f"{self._origin}/api/v1/query", data={"query": expr}) as response:
            answer = await response.json()
        assert answer["status"] == "success", f"{expr}: {answer}"
        result: list[dict[str, Any]] = answer["data"]["result"]
        return result

    async def firing(self) -> dict[str, list[dict[str, str]]]:
        """Labels of the alerts that are firing now, by name."""
        found: dict[str, list[dict[str, str]]] = {}
        for series in await self.ask('ALERTS{alertstate="firing"}'):
            found.setdefault(series["metric"]["alertname"], []).append(series["metric"])
        return found

    async def evaluated_since(self, instant: datetime) -> bool:
        """Whether each group of rules was evaluated after an instant of the machine's clock."""
        async with self._session.get(f"{self._origin}/api/v1/rules") as response:
            groups = (await response.json())["data"]["groups"]
        return all(datetime.fromisoformat(one["lastEvaluation"]) > instant for one in groups)

    async def ever_fired(self) -> set[str]:
        """Names of all alerts that have fired since the start."""
        found = await self.ask('count by (alertname) (last_over_time(ALERTS{alertstate="firing"}[1h]))')
        return {series["metric"]["alertname"] for series in found}


@asynccontextmanager
async def prometheus_server(
    session: aiohttp.ClientSession,
    folder: Path,
    target: str,
    alertmanager: str | None = None,
    thresholds: Mapping[str, float] = MappingProxyType({}),
    waits: Mapping[str, float] = MappingProxyType({}),
) -> AsyncIterator[PrometheusServer]:
    """Run a server that scrapes one target, every other second.

    Args:
        session: for requests to it.
        folder: empty; for its files.
        target: `host:port` of the agent.
        alertmanager: `host:port` of the Alertmanager that gets alerts; None: there is none.
        thresholds: of some alerts, by name, as the chart's values would set them.
        waits: seconds that some alerts wait at least, by name.
    """
    config = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())
    config["global"] = {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "1s"}
    config["scrape_configs"][0]["static_configs"][0]["targets"] = [target]
    if alertmanager is None:
        del config["alerting"]
    else:
        config["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"] = [alertmanager]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    (folder / "rules").mkdir()
    for path in (DEPLOY / "prometheus/rules").glob("*.yaml"):
        rules = hastened_rules(yaml.safe_load(path.read_text()))
        for rule in (rule for group in rules["groups"] for rule in group["rules"]):
            if rule.get("alert") in thresholds:
                rule["expr"] = re.sub(r"\S+$", f"{thresholds[rule['alert']]:g}", rule["expr"])
            if rule.get("alert") in waits:
                rule["for"] = f"{waits[rule['alert']]:g}s"
        (folder / "rules" / path.name).write_text(yaml.safe_dump(rules))
    program = shutil.which("prometheus")
    assert program is not None, "prometheus is not installed: make check-alerts does that"
    address = f"127.0.0.1:{reserved_port()}"
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            program,
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={address}",
            "--log.level=warn",
            stderr=log,
        )
        server = PrometheusServer(session, f"http://{address}")
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                while not await server.is_ready():
                    assert process.returncode is None, (folder / "log").read_text()
                    await asyncio.sleep(0.1)
            yield server
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()
