"""A short attack on two agents; `make attack SECONDS=1800` is the long one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

from tests.attack.run import attack

SEED: Final = int(os.environ.get("ATTACK_SEED", "20251"))
SECONDS: Final = 6.0
CALM_SECONDS: Final = 1.0


@pytest.mark.slow
async def test_no_row_goes_that_somebody_needs_whatever_happens_to_agents_and_their_wires(tmp_path: Path) -> None:
    figures = await attack(tmp_path, SECONDS, CALM_SECONDS, SEED)
    assert figures.violations == [], str(figures)
    assert figures.trims > 0, str(figures)
