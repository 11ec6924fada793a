"""`make check-ui`: the stock web UI in front of `make run`, looked at by the checker that comes with it.

The UI and its checker are no part of this repository: `UI_KIT_DIR` says where they are. The checker opens each page in
a browser, and says which show what they should. Then the dialogs are carried through, and the cluster is asked what
they have done.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from tests.e2e.playground import connected, running
from tests.examples.browser import browsing
from tests.once_more import tell, with_reasons
from tests.ui.dialogs import carry_through
from tests.ui.window import Window
from tests.waiting import LIMIT_SECONDS

CLUSTER: Final = "pythia"
BROKEN_ELSEWHERE: Final = {
    "13-queue-metrics": "the UI needs a Prometheus for it",
    "32-consumer-metrics": "the UI needs a Prometheus for it",
    "22-queue-tablet-errors": "the UI asks any table for @replicas, which only replicated ones have on a real cluster",
    "44-file": "the UI fails on files of any cluster",
    "68-queries": "the UI never stops asking a cluster without Query Tracker",
}
"""Optional pages that fail on any cluster, or for want of something else."""

_SIZE: Final = (1500, 1250)


def main() -> int:
    """Run the command line; 0 if all required pages pass, all optional ones that can, and all dialogs."""
    parser = argparse.ArgumentParser(description="Look at the pages of the stock web UI.")
    parser.add_argument("kit", type=Path, help="directory with check.sh")
    parser.add_argument("--out", type=Path, default=Path("ui-report"), help="directory for report and screenshots")
    options = parser.parse_args()
    check = options.kit / "check.sh"
    if not check.is_file():
        print(f"there is no {check}: set UI_KIT_DIR to the directory of the web UI and its checker", file=sys.stderr)
        return 1
    out = options.out.resolve()
    unpacked = _unpacked()
    with tempfile.TemporaryDirectory() as directory, running(Path(directory), "--demo") as playground:
        url = playground.clusters[CLUSTER]
        proxy = url.removeprefix("http://")
        command = [str(check.resolve()), proxy, CLUSTER, str(out)]
        environment = {**os.environ, "UI_KIT": str(unpacked)}
        code, first = _look(command, environment)
        second = first - BROKEN_ELSEWHERE.keys()
        if second:
            code, second = _look([*command, "--only", f"^({'|'.join(sorted(second))})$"], environment)
        dialogs = again = asyncio.run(_dialogs(unpacked, url, out))
        if dialogs:
            again = asyncio.run(_dialogs(unpacked, url, out))  # all of them: each needs those before it
    for page in sorted(first & BROKEN_ELSEWHERE.keys()):
        print(f"{page}: {BROKEN_ELSEWHERE[page]}")
    failed = {name: reason for name, reason in again.items() if name in dialogs}
    flaky = {name: reason for name, reason in {**dialogs, **again}.items() if name not in failed}
    tell(
        "check-ui",
        failed=[*second, *with_reasons(failed)],
        flaky=[*(first - second - BROKEN_ELSEWHERE.keys()), *with_reasons(flaky)],
    )
    return 1 if code or second or failed else 0


def _look(command: list[str], environment: dict[str, str]) -> tuple[int, set[str]]:
    """Exit code of the checker, and the pages that do not show what they should."""
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=environment)
    print(run.stdout, end="", flush=True)
    return run.returncode, {line.split()[1] for line in run.stdout.splitlines() if line.lower().startswith("fail ")}


def _unpacked() -> Path:
    """Where the checker puts the UI."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("UI_KIT") or Path(cache) / "yt-queue-agent" / "ui-kit")


async def _dialogs(unpacked: Path, cluster_url: str, out: Path) -> dict[str, str]:
    with _ui(unpacked, cluster_url.removeprefix("http://"), out) as url, connected(cluster_url) as client:
        async with browsing() as browser:
            await browser.shape(*_SIZE)
            return await carry_through(Window(browser, url, CLUSTER), client, out)


@contextmanager
def _ui(unpacked: Path, proxy: str, out: Path) -> Iterator[str]:
    """The UI in front of a cluster, until the end; gives its address."""
    environment = {**os.environ, "UI_LOG": str(out / "ui-of-dialogs.log")}
    command = [str(unpacked / "run.sh"), proxy, CLUSTER, "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            ready, _, _ = select.select([process.stdout], [], [], LIMIT_SECONDS)
            parts = urlsplit(process.stdout.readline().strip() if ready else "")
            assert parts.netloc, f"the UI did not start: see {out / 'ui-of-dialogs.log'}"
            yield f"{parts.scheme}://{parts.netloc}"
        finally:
            process.terminate()


if __name__ == "__main__":
    sys.exit(main())
