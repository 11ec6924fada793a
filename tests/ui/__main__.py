"""`make check-ui`: the stock web UI in front of `make run`, looked at by the checker that comes with it.

The UI and its checker are no part of this repository: `UI_KIT_DIR` says where they are. The checker opens each page in
a browser, and says which show what they should.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.e2e.playground import running
from tests.once_more import tell

CLUSTER: Final = "pythia"
BROKEN_ELSEWHERE: Final = {
    "13-queue-metrics": "the UI needs a Prometheus for it",
    "32-consumer-metrics": "the UI needs a Prometheus for it",
    "22-queue-tablet-errors": "the UI asks any table for @replicas, which only replicated ones have on a real cluster",
    "44-file": "the UI fails on files of any cluster",
    "68-queries": "the UI never stops asking a cluster without Query Tracker",
}
"""Optional pages that fail on any cluster, or for want of something else."""


def main() -> int:
    """Run the command line; 0 if all required pages pass, and all optional ones that can."""
    parser = argparse.ArgumentParser(description="Look at the pages of the stock web UI.")
    parser.add_argument("kit", type=Path, help="directory with check.sh")
    parser.add_argument("--out", type=Path, default=Path("ui-report"), help="directory for report and screenshots")
    options = parser.parse_args()
    check = options.kit / "check.sh"
    if not check.is_file():
        print(f"there is no {check}: set UI_KIT_DIR to the directory of the web UI and its checker", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as directory, running(Path(directory), "--demo") as playground:
        proxy = playground.clusters[CLUSTER].removeprefix("http://")
        command = [str(check.resolve()), proxy, CLUSTER, str(options.out.resolve())]
        code, first = _look(command)
        second = first - BROKEN_ELSEWHERE.keys()
        if second:
            code, second = _look([*command, "--only", f"^({'|'.join(sorted(second))})$"])
    for page in sorted(first & BROKEN_ELSEWHERE.keys()):
        print(f"{page}: {BROKEN_ELSEWHERE[page]}")
    tell("check-ui", failed=second, flaky=first - second - BROKEN_ELSEWHERE.keys())
    return 1 if code or second else 0


def _look(command: list[str]) -> tuple[int, set[str]]:
    """Exit code of the checker, and the pages that do not show what they should."""
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    print(run.stdout, end="")
    return run.returncode, {line.split()[1] for line in run.stdout.splitlines() if line.lower().startswith("fail ")}


if __name__ == "__main__":
    sys.exit(main())
