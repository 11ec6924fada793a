"""Tests on a machine that has other things to do, and stops them now and then: `make test-loaded`.

    python -m tests.loaded COMMAND [ARGUMENT...]

The exit code is that of the command, which runs pytest, in one process or in several.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

BUSY: Final = 4
"""Processes that do nothing but compute."""

LONGEST_SECONDS: Final = 0.5
"""That a test process is stopped at a time."""

_OF_TESTS: Final = (b"pytest", b"exec(eval(sys.stdin.readline()))")
"""In command lines of pytest, and of the processes of pytest-xdist. Agents are stopped by the tests themselves."""


def main(command: Sequence[str]) -> int:
    with _busy(), subprocess.Popen(command) as tests:
        while tests.poll() is None:
            pids = [pid for pid in _descendants(tests.pid) if _is_of_tests(pid)]
            if pids:
                _pause(random.choice(pids))
            time.sleep(random.uniform(0, LONGEST_SECONDS))  # in which all of them run
    return tests.returncode


@contextmanager
def _busy() -> Iterator[None]:
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY)]
    try:
        yield
    finally:
        for one in processes:
            one.kill()
            one.wait()


def _pause(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(random.uniform(0, LONGEST_SECONDS))  # in which it does not run
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:  # it has ended
        pass


def _is_of_tests(pid: int) -> bool:
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended
        return False
    return any(part in line for part in _OF_TESTS)


def _descendants(pid: int) -> Iterator[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:  # it has ended
        return
    for child in map(int, children):
        yield child
        yield from _descendants(child)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) if sys.argv[1:] else __doc__)
