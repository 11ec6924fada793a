"""What is written to standard error."""

from __future__ import annotations

import json
from typing import Literal

import pytest
import structlog

from queue_agent.adapters.process.logs import configure_logging


def fail() -> None:
    token = "".join(["se", "cret"])
    raise ZeroDivisionError(f"with a token of {len(token)} letters")


@pytest.mark.parametrize("line_format", ["json", "console"])
def test_a_traceback_shows_where_it_was_and_no_values(
    capsys: pytest.CaptureFixture[str], line_format: Literal["json", "console"]
) -> None:
    configure_logging("info", line_format)
    try:
        fail()
    except ZeroDivisionError:
        structlog.get_logger().exception("pass failed", kind="queue")
    written = capsys.readouterr().err
    assert "in fail" in written
    assert "with a token of 6 letters" in written
    assert "secret" not in written


def test_lines_for_programs_are_json_and_the_least_severe_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("warning", "json")
    log = structlog.get_logger()
    log.info("joined")
    log.warning("pass failed", pass_index=3)
    line = json.loads(capsys.readouterr().err)
    assert line.pop("timestamp")
    assert line == {"event": "pass failed", "level": "warning", "pass_index": 3}
