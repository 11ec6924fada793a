"""How soon the console's overview of 5,000 queues can be used, beside that of 50. Needs Chromium and chromedriver.

python -m benchmarks.console
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
from pathlib import Path
from typing import Final

from tests.console.stand_in import QUEUE_COUNT, StandIn
from tests.examples.browser import browsing

FEW: Final = 50
WANTED_SECONDS: Final = 1.5
ROW: Final = "section[aria-labelledby=queues] tbody td a"
_SECONDS_UNTIL: Final = """
const [selector] = arguments;
return new Promise((resolve) => {
    const look = () => {
        if (document.querySelector(selector)) resolve(performance.now() / 1000);
        else requestAnimationFrame(look);
    };
    look();
});
"""


async def seconds_until_rows(queue_count: int, rounds: int) -> list[float]:
    """From opening the page to its first row, each time with what the browser has kept."""
    with tempfile.TemporaryDirectory() as directory:
        async with StandIn(queue_count) as agent, browsing(Path(directory)) as browser:
            found = []
            for _ in range(rounds):
                await browser.open(agent.url + "/")
                found.append(float(await browser.run(_SECONDS_UNTIL, ROW)))
            return found


async def main() -> None:
    """Print medians and maxima."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    few = await seconds_until_rows(FEW, rounds)
    many = await seconds_until_rows(QUEUE_COUNT, rounds)
    print(f"seconds until the overview can be used, {rounds} rounds; wanted: below {WANTED_SECONDS}")
    print(f"{'queues':>8} {'median':>8} {'max':>8}")
    for queue_count, seconds in ((FEW, few), (QUEUE_COUNT, many)):
        print(f"{queue_count:8} {statistics.median(seconds):8.2f} {max(seconds):8.2f}")
    print(f"ratio of the medians: {statistics.median(many) / statistics.median(few):.1f}")


if __name__ == "__main__":
    asyncio.run(main())
