"""Which agents a command asks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from queue_agent.adapters.process.presence import find
from queue_agent.cli.errors import CommandError

DEFAULT_AGENT: Final = "http://127.0.0.1:10030"
AGENT_VARIABLE: Final = "QUEUE_AGENT_ADDRESS"


def agent_addresses(agents: Sequence[str] | None, config: Path | None) -> Sequence[str]:
    """Which agents to ask.

    Args:
        agents: those of `--agent` or of the environment.
        config: of an agent on this machine, which counts only without those.

    Raises:
        ConfigError: the file cannot be used.
        CommandError: both are given.
    """
    if config is None:
        return agents or [default_agent()]
    if agents:
        raise CommandError("--agent and --config both say which agent to ask")
    from queue_agent.cli.served_address import address_in

    return [address_in(config)]


def default_agent() -> str:
    """The agent of this container, if it has published its address."""
    found = find()
    return DEFAULT_AGENT if found is None else found.url


def keys_path(kind: str) -> str:
    """Where an agent lists what its stage has, whichever agent leads it."""
    return f"/orchid/queue_agent/{kind}?verb=list"
