"""Who in the package may send HTTP requests by aiohttp, which sends those of some methods again by itself."""

from __future__ import annotations

import ast
from pathlib import Path

from aiohttp.client import IDEMPOTENT_METHODS

import queue_agent
import yt_local
import yt_wire

PACKAGES = [Path(str(package.__file__)).parent for package in (queue_agent, yt_local, yt_wire)]

SENDERS = {
    "queue_agent/adapters/cluster/http_transport.py": "each request through `SendOnce`",
    "queue_agent/cli/agent_api.py": "GET and POST, the second of which aiohttp does not send again",
    "queue_agent/playground/agents.py": "GET alone",
}


def test_sessions_are_made_where_that_has_been_thought_of() -> None:
    found = {
        file.relative_to(package.parent).as_posix()
        for package in PACKAGES
        for file in package.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("ClientSession", "aiohttp.request"))
    }
    assert found == set(SENDERS)


def test_a_post_is_not_sent_again_by_aiohttp() -> None:
    assert "POST" not in IDEMPOTENT_METHODS
