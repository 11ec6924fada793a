"""The console's pages: HTML, styles and scripts that an agent serves, and no Python."""

from __future__ import annotations

from pathlib import Path
from typing import Final

STATIC: Final = Path(__file__).parent / "static"
"""What browsers get. `vendor` in it holds the libraries, which come when the agent is installed."""
