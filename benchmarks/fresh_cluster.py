"""How long a test waits for a fresh local cluster, beside `queue-agent local` as a process of its own.

python -m benchmarks.fresh_cluster
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Final

from yt_local.testing import local_clusters

WANTED_MILLISECONDS: Final = 200


def in_this_process(*names: str) -> None:
    """From nothing to the first answer to ytsaurus-client, and to nothing again."""
    with local_clusters(*names) as clusters:
        for cluster in clusters.values():
            cluster.client.exists("/")


def as_a_process() -> None:
    """The same with a process; it is ready to answer, nobody asks."""
    command = [sys.executable, "-m", "queue_agent", "local", "--agents=0", "--cluster=a=0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        if not process.stdout.readline().startswith("ready"):
            raise RuntimeError("the cluster did not start")
        process.terminate()


def milliseconds(action: Callable[[], None], rounds: int) -> list[float]:
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        found.append(1000 * (time.perf_counter() - start))
    return found


def main() -> None:
    """Print medians and maxima."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    rounds = parser.parse_args().rounds
    figures = {
        "one cluster": milliseconds(lambda: in_this_process("a"), rounds),
        "three clusters": milliseconds(lambda: in_this_process("a", "b", "c"), rounds),
        "one cluster as a process": milliseconds(as_a_process, 5),
    }
    print(f"milliseconds from start to end, {rounds} rounds; wanted: below {WANTED_MILLISECONDS}")
    print(f"{'':36} {'median':>8} {'max':>8}")
    for name, times in figures.items():
        print(f"{name:36} {statistics.median(times):8.1f} {max(times):8.1f}")


if __name__ == "__main__":
    main()
