"""pytest for the stages of `.ci/run`: a test that fails is run once more, alone, at the end of its stage.

    python -m tests.once_more STAGE [arguments of pytest]

In the folder `REPORTS` (`build/reports` if it is not set) are then, for the stage, the JUnit files of both runs and a
file with one line for each test that failed: `flaky TEST` if it passed the second time, `failed TEST` if not. The exit
code is that of pytest, but 0 if each test that failed was flaky.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

import pytest

PYTEST: Final = Path(sys.executable).with_name("pytest")
MOST_AGAIN: Final = 20
"""If more tests fail, the cause is not luck, and to run them one after the other would take long."""


def main(stage: str, arguments: Sequence[str]) -> int:
    """Run pytest, at most twice."""
    reports = reports_folder()
    with tempfile.TemporaryDirectory() as cache:
        code = _run(arguments, Path(cache), reports / f"{stage}.xml")
        first = _failed(Path(cache))
        second = first
        if code == pytest.ExitCode.TESTS_FAILED and 0 < len(first) <= MOST_AGAIN:
            print(f"once more, alone: {len(first)} of the tests of {stage}", flush=True)
            again = [*arguments, "--numprocesses", "0", "--last-failed", "--last-failed-no-failures", "none"]
            code = _run(again, Path(cache), reports / f"{stage}-again.xml")
            second = _failed(Path(cache))
    tell(stage, failed=second, flaky=first - second)
    return code


def reports_folder() -> Path:
    """Where stages leave what CI sums up; made if it is not there."""
    folder = Path(os.environ.get("REPORTS") or "build/reports").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def tell(stage: str, *, failed: Collection[str], flaky: Collection[str]) -> None:
    """Print the tests of a stage that failed, twice or once, and leave their names for the summary."""
    lines = [*(f"failed {test}" for test in sorted(failed)), *(f"flaky {test}" for test in sorted(flaky))]
    text = "".join(f"{line}\n" for line in lines)
    (reports_folder() / f"{stage}.outcomes").write_text(text)
    print(text, end="", flush=True)


def _run(arguments: Sequence[str], cache: Path, report: Path) -> int:
    return subprocess.run(
        [PYTEST, *arguments, "-o", f"cache_dir={cache}", f"--junit-xml={report}"], check=False
    ).returncode


def _failed(cache: Path) -> set[str]:
    """Names of the tests that pytest's cache remembers as failed."""
    remembered = cache / "v" / "cache" / "lastfailed"
    return set(json.loads(remembered.read_text())) if remembered.exists() else set()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
