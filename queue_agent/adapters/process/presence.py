"""Which agent runs here: a file that tells commands beside it, in its container, where it serves and what it was given.

Only what the standard library brings is imported: the health check of an image is to cost next to nothing.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

VARIABLE: Final = "QUEUE_AGENT_PRESENCE"
"""Environment variable with the path of the file; without it there is none."""

HEADER: Final = "X-Queue-Agent-Process"
"""Of answers to whoever asks for liveness: which process has answered."""

PROCESS: Final = os.urandom(8).hex()
"""Of this process alone."""


@dataclass(frozen=True, slots=True)
class Presence:
    """An agent that runs, or ended without taking its file away."""

    url: str
    """Where it serves HTTP, such as `http://127.0.0.1:10030`."""

    config: str
    """Path of its configuration."""

    process: str
    """`PROCESS` of the agent."""


def announce(url: str, config: Path) -> None:
    """Write the file, if there is to be one.

    Raises:
        OSError: it cannot be written.
    """
    if not (name := os.environ.get(VARIABLE)):
        return
    path = Path(name)
    made = path.with_name(f"{path.name}.{PROCESS}")
    made.write_text(json.dumps(asdict(Presence(url, str(config.resolve()), PROCESS))))
    made.replace(path)


def withdraw() -> None:
    """Remove the file that this process wrote."""
    if (found := find()) is not None and found.process == PROCESS:
        Path(os.environ[VARIABLE]).unlink(missing_ok=True)


def find() -> Presence | None:
    """The agent of the file; None without a file that can be read."""
    try:
        document = json.loads(Path(os.environ[VARIABLE]).read_bytes())
        return Presence(str(document["url"]), str(document["config"]), str(document["process"]))
    except (KeyError, OSError, TypeError, ValueError):
        return None
