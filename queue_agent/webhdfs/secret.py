"""Secrets in files. Modules that take long to import are not needed for them."""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from typing import Final

from queue_agent.errors import ConfigError
from yt_wire.private_files import write_new

_SECRET: Final = re.compile(r"[A-Za-z0-9_-]{16,}")


def new_secret() -> str:
    """A secret nobody can guess; Spark knows it by its first word, and does not show settings that hold it."""
    return f"secret-{secrets.token_hex(16)}"


def secret_of(file: Path) -> str:
    """The WebHDFS secret in a file, which is made if it is not there; ConfigError if it can be guessed."""
    try:
        write_new(file, new_secret())
        secret = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the secret cannot be read: {error}") from error
    if not _SECRET.fullmatch(secret):
        raise ConfigError(f"the secret in {file} must be 16 or more of A-Z, a-z, 0-9, - and _")
    return secret
