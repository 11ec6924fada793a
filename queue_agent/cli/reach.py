"""How commands reach a cluster, and as whom."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from yt.common import YtError

from queue_agent.adapters.cluster.cluster_access import CallerToken
from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.cli.errors import CommandError
from queue_agent.config.clusters import ClusterConfig


@dataclass(frozen=True, slots=True)
class Reach:
    """How to reach a cluster, and as whom."""

    config: ClusterConfig
    caller: CallerToken | None = None
    """None: as the user of the token file in `config`, if there is one."""

    def open(self, name: str) -> YtCluster:
        """The cluster, as messages call it."""
        return YtCluster(name, self.config, credential=self.caller)


def as_yt_finds(address: str, token_file: Path | None) -> Reach:
    """By the settings of the `yt` command: aliases, the suffix of proxies, and the caller's token.

    Args:
        address: what `yt --proxy` takes.
        token_file: to be used in place of the caller's token.

    Raises:
        CommandError: the settings make no sense.
    """
    try:
        # Here, since importing it reads the environment, which may make no sense.
        from yt.wrapper import YtClient
        from yt.wrapper.default_config import get_config_from_env
        from yt.wrapper.http_helpers import get_proxy_address_url, get_token

        client = YtClient(proxy=address, config=get_config_from_env())
        config = ClusterConfig(proxy=get_proxy_address_url(client=client), token_file=token_file)
        token = None if token_file is not None else get_token(client=client)
    except YtError as error:
        # Its message may be bytes; the first paragraph of its text is for people, details come after it.
        words = " ".join(str(error).split("\n\n")[0].split())
        raise CommandError(f"the settings of yt make no sense for cluster {address}: {words}") from error
    return Reach(config, None if token is None else CallerToken(token))
