"""Whom `queue-agent doctor` looks at."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from shlex import quote
from typing import Final

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.cli.findings import Finding, Grade
from queue_agent.config.agent import AgentConfig
from queue_agent.errors import AccessDenied, ClusterError, ClusterUnavailable

_LONGEST_REQUEST: Final = timedelta(seconds=10)
"""Somebody waits."""


@dataclass(frozen=True, slots=True)
class Patient:
    """An agent's configuration, and the clusters it names."""

    config: AgentConfig
    file: Path
    clusters: Mapping[str, YtCluster]
    now: Callable[[], datetime]

    @property
    def state(self) -> YtCluster:
        """The cluster of the state."""
        return self.clusters[self.config.state.cluster]

    def yt(self, cluster: str) -> str:
        """How commands for this cluster begin, wherever they are pasted."""
        return f"yt --proxy {quote(self.config.clusters[cluster].proxy)}"

    def queue_agent(self, command: str) -> str:
        """How a command of the agent begins."""
        return f"queue-agent {command} --config {quote(str(self.file))}"


@asynccontextmanager
async def admitted(config: AgentConfig, file: Path, now: Callable[[], datetime]) -> AsyncIterator[Patient]:
    """A patient whose clusters can be asked; none of them is asked twice, and none for long.

    Raises:
        ConfigError: an address makes no sense.
    """
    async with AsyncExitStack() as stack:
        clusters = {}
        for name, cluster in config.clusters.items():
            timeout = min(cluster.request_timeout, _LONGEST_REQUEST)
            hasty = cluster.model_copy(update={"retry_count": 0, "request_timeout": timeout})
            clusters[name] = await stack.enter_async_context(YtCluster(name, hasty))
        yield Patient(config, file, clusters, now)


def refusal(subject: str, check: str, error: ClusterError) -> Finding:
    """What to make of a request that failed where it should not."""
    advice = None
    if isinstance(error, AccessDenied):
        advice = 'grant the agent\'s user what docs/running.md lists under "Permissions"'
    if isinstance(error, ClusterUnavailable):
        advice = "run this again; if it stays so, look at the cluster's proxies"
    return Finding(subject, check, Grade.FAILURE, str(error), advice)
