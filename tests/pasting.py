"""A shell into which somebody pastes a command that they were shown."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

from tests.waiting import LIMIT_SECONDS


def paste(command: str, environment: Mapping[str, str], success: int = 0) -> str:
    """What is printed for somebody who says `y` if asked; AssertionError with it if that is not success."""
    terminal, keyboard = os.openpty()
    try:
        os.write(terminal, b"y\n")
        done = subprocess.run(
            ["bash", "-ec", command],
            env=environment,
            stdin=keyboard,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    finally:
        os.close(terminal)
        os.close(keyboard)
    assert done.returncode == success, f"{command}: {done.stdout}"
    return done.stdout
