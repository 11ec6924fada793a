"""The caller's YTsaurus token, for agents that show status to nobody else."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from queue_agent.cli.errors import CommandError

AGENT_TOKEN: Final = "QUEUE_AGENT_TOKEN"
"""Variable with a token for agents at any address."""

_TOKEN: Final = "YT_TOKEN"
_TOKEN_PATH: Final = "YT_TOKEN_PATH"


def find_token(agent: str, environment: Mapping[str, str], home: Path) -> str | None:
    """The token for an agent that asks for one; None if the caller has none.

    The token that the caller has for clusters goes only where nobody on the way can read it.

    Args:
        agent: its address, with a scheme.
        environment: variables.
        home: the caller's directory.

    Raises:
        CommandError: the file with the token cannot be read, or the token must not go to this address.
    """
    if environment.get(AGENT_TOKEN):
        return environment[AGENT_TOKEN]
    parts = urlsplit(agent)
    token = environment.get(_TOKEN) or _read(environment.get(_TOKEN_PATH), home)
    if token and parts.scheme != "https" and not _is_here(parts.hostname or ""):
        raise CommandError(
            f"agent {agent} asks for a token, and others could read it on the way: use https://, or give the token in"
            f" {AGENT_TOKEN}"
        )
    return token or None


def _read(path: str | None, home: Path) -> str:
    """The token in the file that `yt` reads as well; empty without one."""
    file = Path(path).expanduser() if path else home / ".yt" / "token"
    try:
        return file.read_text().strip()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"the token file {file} cannot be read: {type(error).__name__}") from None


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
