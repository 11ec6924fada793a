"""`queue-agent run`: the service."""

from __future__ import annotations

import asyncio

import structlog

from queue_agent.adapters.process.logs import configure_logging
from queue_agent.adapters.process.presence import announce, withdraw
from queue_agent.app.agent import Addresses
from queue_agent.app.process import run_until_signalled
from queue_agent.cli.options import ConfigFile, Host, exit_codes, fail
from queue_agent.cli.served_address import address_of
from queue_agent.config.file import load_config
from queue_agent.errors import ConfigError


def command(config: ConfigFile, host: Host = None) -> None:
    """Run the service against real clusters until SIGTERM or SIGINT."""
    with exit_codes():
        agent_config = load_config(config)
        if host is not None:
            agent_config = agent_config.on_host(host)
    configure_logging(agent_config.logging.level, agent_config.logging.format)
    log = structlog.get_logger(__name__)

    def log_ready(addresses: Addresses) -> None:
        log.info("ready", rpc=addresses.rpc, http=addresses.http)
        port = int(addresses.http.rpartition(":")[2])
        try:
            announce(address_of(agent_config, port), config)
        except OSError as error:
            log.warning("commands beside the agent will not find it", error=str(error))

    try:
        asyncio.run(run_until_signalled(agent_config, log_ready))
    except* ConfigError as errors:
        fail("; ".join(map(str, errors.exceptions)))
    except* OSError as errors:
        fail(f"cannot listen: {'; '.join(map(str, errors.exceptions))}")
    finally:
        withdraw()
