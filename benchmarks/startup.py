"""Processor time until a command shows its help or completes a line, beside an interpreter that does nothing.

python -m benchmarks.startup
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Final

WANTED_SECONDS: Final = 0.3
ROUNDS: Final = 11
AGENT: Final = ["-m", "queue_agent"]
LINE: Final = {"_QUEUE_AGENT_COMPLETE": "queue-agent status --pro"}


def seconds(arguments: Sequence[str], environment: Mapping[str, str]) -> float:
    """Median of the processor seconds of a process and its children."""
    found = []
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(found)


def main() -> None:
    """Print medians, and how many times an empty interpreter they are."""
    cases = {
        "queue-agent --help": ([*AGENT, "--help"], {}),
        "queue-agent status --help": ([*AGENT, "status", "--help"], {}),
        "completion": (AGENT, LINE),
    }
    bare = seconds(["-c", "pass"], os.environ)
    print(f"processor seconds, median of {ROUNDS}; wanted for help and completion: below {WANTED_SECONDS}")
    print(f"{'python -c pass':28} {bare:8.3f}")
    for name, (arguments, more) in cases.items():
        taken = seconds(arguments, {**os.environ, **more})
        print(f"{name:28} {taken:8.3f} {taken / bare:8.1f} times python -c pass")


if __name__ == "__main__":
    main()
