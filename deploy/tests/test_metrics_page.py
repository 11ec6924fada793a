"""The page of metrics as promtool reads it."""

from __future__ import annotations

import subprocess

from queue_agent.adapters.metrics.metrics import Metrics, Page
from queue_agent.adapters.process.system_clock import SystemClock
from queue_agent.controllers.status.board import Board


def test_promtool_finds_nothing_wrong_with_the_page() -> None:
    metrics = Metrics(Board("agent-1", SystemClock()))
    metrics.pass_finished("agent", 0, 0.03, None)
    metrics.request_finished("hume", "get", "ok", 0.002)
    page = b"".join(metrics.make_pages(metrics.look(), [Page.OWN])[Page.OWN])
    checked = subprocess.run(["promtool", "check", "metrics"], check=False, input=page, capture_output=True)
    assert (checked.returncode, checked.stderr.decode()) == (0, "")
