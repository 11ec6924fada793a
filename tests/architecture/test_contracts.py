"""Contracts between rooms hold, and each of them refuses what it is there to refuse."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = ("queue_agent", "yt_local", "yt_wire")
CONTRACTS: Final = [
    contract["name"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
]

SEEDS: Final = {
    "The agent, the local cluster, and the wire that both speak": ("yt_local/cluster.py", "import queue_agent.errors"),
    "Only the playground starts local clusters": (
        "queue_agent/app/agent.py",
        "from yt_local.runner import LocalClusters",
    ),
    "Rooms of the agent": ("queue_agent/config/agent.py", "from queue_agent.ports import cluster"),
    "Rooms of decisions": ("queue_agent/core/values/refs.py", "from queue_agent.core.state import rows"),
    "Decisions are pure": ("queue_agent/core/trimming/decision.py", "import socket, subprocess, urllib.request"),
    "Rooms of controllers": (
        "queue_agent/controllers/passes/lane.py",
        "from queue_agent.controllers.status import board",
    ),
    "Controllers know no protocol": ("queue_agent/controllers/group/sharding.py", "import aiohttp"),
    "Rooms of adapters": (
        "queue_agent/adapters/metrics/metrics.py",
        "from queue_agent.adapters.cluster import yt_http",
    ),
    "Spark is free of the agent": ("queue_agent/spark/options.py", "from queue_agent.config import clusters"),
    "No circles in the agent": (
        "queue_agent/core/values/encoding.py",
        "from queue_agent.core.values import error_info",
    ),
    "Rooms of the local cluster": ("yt_local/store/model.py", "import yt_local.cypress.nodes"),
    "Rooms of tables": ("yt_local/tables/dynamic/tablets.py", "import yt_local.tables.replication.replication"),
    "No circles in the local cluster": ("yt_local/store/locks.py", "import yt_local.store.versions"),
    "No circles on the wire": ("yt_wire/checksum.py", "from yt_wire import bus"),
    "The wire is framing and values": ("yt_wire/ypath.py", "import sqlite3"),
    "YSON comes through one door": ("queue_agent/adapters/cluster/yt_http.py", "import yt.yson"),
}
"""By contract: a module, and an import that it must not have. More contracts may break by the same import."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources, to be spoilt and mended."""
    directory = tmp_path_factory.mktemp("sources")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, directory / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests" / "architecture", directory / "tests" / "architecture")
    shutil.copy(ROOT / "pyproject.toml", directory)
    return directory


def broken(directory: Path) -> set[str]:
    """Names of the contracts that do not hold."""
    run = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(directory), "COLUMNS": "200"},
    )
    verdicts = dict(re.findall(r"^(.+) (KEPT|BROKEN)(?: \(.+\))?$", run.stdout, re.MULTILINE))
    assert set(verdicts) == set(CONTRACTS), run.stdout + run.stderr
    found = {name for name, verdict in verdicts.items() if verdict == "BROKEN"}
    assert (run.returncode == 0) == (not found)
    return found


def test_all_contracts_hold(copy: Path) -> None:
    assert broken(copy) == set()


def test_each_contract_has_an_import_that_breaks_it() -> None:
    assert set(SEEDS) == set(CONTRACTS)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_forbidden_import_is_refused(copy: Path, contract: str) -> None:
    name, line = SEEDS[contract]
    file = copy / name
    whole = file.read_text()
    try:
        file.write_text(f"{whole}\n{line}\n")
        assert contract in broken(copy)
    finally:
        file.write_text(whole)


def test_a_room_that_no_contract_knows_is_refused(copy: Path) -> None:
    room = copy / "queue_agent" / "core" / "elsewhere"
    room.mkdir()
    (room / "__init__.py").touch()
    assert broken(copy) == {"Rooms of decisions"}
    shutil.rmtree(room)
