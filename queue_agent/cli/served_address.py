"""Where an agent serves HTTP by its configuration.

Commands that only ask an agent do without this module: the configuration takes longer to import than all they do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from queue_agent.config.agent import AgentConfig
from queue_agent.config.file import load_config

_ANYWHERE: Final = ("0.0.0.0", "::")


def address_in(config_file: Path) -> str:
    """Of the agent with the configuration in a file; see `address_of` and `load_config`."""
    return address_of(load_config(config_file))


def address_of(config: AgentConfig, port: int | None = None) -> str:
    """Where an agent serves HTTP by its configuration, or at a port; on this machine, if it serves anywhere."""
    http = config.http
    scheme = "http" if http.tls is None else "https"
    host = "127.0.0.1" if http.host in _ANYWHERE else http.host
    return f"{scheme}://{host}:{http.port if port is None else port}"
