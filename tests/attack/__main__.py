"""`make attack SECONDS=1800`: attack agents, print figures, and fail if a row went that somebody needed."""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.attack.run import attack

_CALM_SECONDS: Final = 10.0


def main() -> int:
    """Run the command line; the exit code is 1 if there was a violation, or nothing was trimmed."""
    parser = argparse.ArgumentParser(description="Attack two agents and judge what they trim.")
    parser.add_argument("--seconds", type=float, default=60.0, help="length of the attack (60)")
    parser.add_argument("--seed", type=int, default=None, help="repeat the choices of another attack (random)")
    parser.add_argument("--directory", type=Path, default=None, help="keep data and logs here (a temporary directory)")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 30) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    directory = options.directory or Path(tempfile.mkdtemp(prefix="attack-"))
    directory.mkdir(parents=True, exist_ok=True)
    figures = asyncio.run(attack(directory, options.seconds, _CALM_SECONDS, seed))
    print(figures)
    for violation in figures.violations:
        print(violation)
    if figures.violations or not figures.trims:
        print(f"data and logs of agents: {directory}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
