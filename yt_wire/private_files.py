"""Files that only their owner can read: tokens and other secrets."""

from __future__ import annotations

import os
from pathlib import Path


def write_new(file: Path, secret: str) -> None:
    """Keep a secret in a file that only its owner can read; one that is there stays as it is. Raises OSError."""
    if file.exists():
        return  # it may be in a place where nothing can be written
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "w") as opened:
        opened.write(f"{secret}\n")
