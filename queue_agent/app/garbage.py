"""The garbage of a process with very many objects, most of which stay."""

from __future__ import annotations

import asyncio
import gc
import sys
from typing import Final, NoReturn

_PERIOD: Final = 0.2
_PERIODS: Final = 3000
"""Between looks at everything."""

_SUSPECTED: Final = 1.05
"""Growth of memory at which what is new is looked through."""

_GROWN: Final = 1.5
"""Growth of memory at which everything is looked at earlier."""


async def collect_garbage(period: float = _PERIOD) -> NoReturn:
    """Collect garbage, but not as Python would: it looks through everything whenever passes have replaced most of it.

    With very many objects that takes a second, in which nobody is served. As long as memory does not grow, what is new
    has replaced what was there, and is frozen: that takes no time, and it is still freed by reference counts. When
    memory grows, there may be cycles in what is new, such as failed requests leave behind. Cycles that were frozen
    before they were garbage are found by a look at everything, once in a while and when memory has grown by much.

    Args:
        period: seconds between looks at the size of memory.
    """
    gc.disable()
    while True:
        gc.unfreeze()
        gc.collect()
        whole = usual = sys.getallocatedblocks()
        for _ in range(_PERIODS):
            await asyncio.sleep(period)
            if sys.getallocatedblocks() > _SUSPECTED * usual:
                gc.collect(0)
                usual = sys.getallocatedblocks()
            if sys.getallocatedblocks() <= usual:
                gc.freeze()
            if usual > _GROWN * whole:
                break
