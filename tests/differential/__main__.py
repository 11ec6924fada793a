"""Runs random commands over HTTP and over the C++ driver, and compares what clients get.

python -m tests.differential --commands 10000 --seed 7
"""

from __future__ import annotations

import argparse
import random
import sys

from tests.differential.run import differences


def main() -> int:
    """0 if all differences are explained, and all explanations needed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commands", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(2**31) if options.seed is None else options.seed
    print(f"{options.commands} commands, seed {seed}", flush=True)
    found = differences(seed, options.commands)
    for line in found.lines():
        print(line)
    return 1 if found.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
