"""pytest for the stages of `.ci/run`: a test that fails is run once more, alone, at the end of its stage.

    python -m tests.once_more STAGE [arguments of pytest]

In the folder `REPORTS` (`build/reports` if it is not set) are then, for the stage, the JUnit files of both runs and a
file with one line for each test that failed: `flaky TEST: REASON` if it passed the second time, `failed TEST: REASON`
if not. The exit code is that of pytest, but 0 if each test that failed was flaky.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

PYTEST: Final = Path(sys.executable).with_name("pytest")
MOST_AGAIN: Final = 20
"""If more tests fail, the cause is not luck, and to run them one after the other would take long."""

_MOST_REASON: Final = 300
"""Characters."""


def main(stage: str, arguments: Sequence[str]) -> int:
    """Run pytest, at most twice."""
    reports = reports_folder()
    with tempfile.TemporaryDirectory() as cache:
        code = _run(arguments, Path(cache), reports / f"{stage}.xml")
        first = _failed(Path(cache), reports / f"{stage}.xml")
        second = first
        if code == pytest.ExitCode.TESTS_FAILED and 0 < len(first) <= MOST_AGAIN:
            print(f"once more, alone: {len(first)} of the tests of {stage}", flush=True)
            again = [*arguments, "--numprocesses", "0", "--last-failed", "--last-failed-no-failures", "none"]
            code = _run(again, Path(cache), reports / f"{stage}-again.xml")
            second = {} if code == pytest.ExitCode.OK else _failed(Path(cache), reports / f"{stage}-again.xml")
    flaky = {test: reason for test, reason in first.items() if test not in second}
    tell(stage, failed=with_reasons(second), flaky=with_reasons(flaky))
    return code


def reports_folder() -> Path:
    """Where stages leave what CI sums up; made if it is not there."""
    folder = Path(os.environ.get("REPORTS") or "build/reports").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def tell(stage: str, *, failed: Collection[str], flaky: Collection[str]) -> None:
    """Print the tests of a stage that failed, twice or once, and leave them for the summary; each may say why."""
    lines = [*(f"failed {test}" for test in sorted(failed)), *(f"flaky {test}" for test in sorted(flaky))]
    text = "".join(f"{line}\n" for line in lines)
    (reports_folder() / f"{stage}.outcomes").write_text(text)
    print(text, end="", flush=True)


def with_reasons(failed: Mapping[str, str]) -> list[str]:
    """Names and reasons as the lines that `tell` takes."""
    return [f"{test}: {reason}" for test, reason in failed.items()]


def _run(arguments: Sequence[str], cache: Path, report: Path) -> int:
    return subprocess.run(
        [PYTEST, *arguments, "-o", f"cache_dir={cache}", f"--junit-xml={report}"], check=False
    ).returncode


def _failed(cache: Path, report: Path) -> dict[str, str]:
    """Tests that pytest's cache remembers as failed, and what their report says of each."""
    remembered = cache / "v" / "cache" / "lastfailed"
    names = json.loads(remembered.read_text()) if remembered.exists() else ()
    reasons = _reasons(report) if names and report.exists() else {}  # who was killed has left no report
    return {name: reasons.get(_reported_as(name), "no reason in the report") for name in names}


def _reasons(report: Path) -> dict[tuple[str, str], str]:
    """First words of what went wrong, by class and name of the test."""
    return {
        (case.get("classname", ""), case.get("name", "")): " ".join(problem.get("message", "").split())[:_MOST_REASON]
        for case in ET.parse(report).iter("testcase")
        for problem in case
        if problem.tag in ("failure", "error")
    }


def _reported_as(test: str) -> tuple[str, str]:
    """What a JUnit file calls a test: its module and class with dots, and its name."""
    place, _, parameters = test.partition("[")
    path, *parts = place.split("::")
    *classes, name = parts or [""]
    dotted = path.removesuffix(".py").replace("/", ".")
    return ".".join([dotted, *classes]), f"{name}[{parameters}" if parameters else name


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
