"""Where `queue-agent consumer reset` finds the clusters of a queue and a consumer."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from yt.common import YtError

from queue_agent.adapters.cluster.cluster_access import CallerToken
from queue_agent.cli.errors import CommandError
from queue_agent.cli.names import did_you_mean
from queue_agent.config.clusters import ClusterConfig
from queue_agent.config.file import load_config


@dataclass(frozen=True, slots=True)
class Reach:
    """How to reach a cluster, and as whom."""

    config: ClusterConfig
    caller: CallerToken | None = None
    """None: as the user of the token file in `config`, if there is one."""


def find_clusters(
    names: Collection[str], config_file: Path | None, proxies: Sequence[str], token_file: Path | None
) -> Mapping[str, Reach]:
    """How to reach these clusters: as an agent does, or by `NAME=ADDRESS` each, or as `yt --proxy NAME` does.

    Raises:
        CommandError: two of these ways are given, an option makes no sense, or a cluster is not known.
        ConfigError: see `load_config`.
    """
    if config_file is not None:
        if proxies or token_file is not None:
            raise CommandError("either --config or --proxy, with or without --token-file, says where clusters are")
        return _of_these(names, dict(load_config(config_file).clusters))
    if not proxies:
        return {name: _as_yt_finds(name, token_file) for name in names}
    clusters: dict[str, ClusterConfig] = {}
    for option in proxies:
        name, equals, address = option.partition("=")
        if not (name and equals and address) or name in clusters:
            raise CommandError(f"--proxy takes NAME=ADDRESS, each name once; got {option!r}")
        clusters[name] = ClusterConfig(proxy=address, token_file=token_file)
    return _of_these(names, clusters)


def _of_these(names: Collection[str], clusters: Mapping[str, ClusterConfig]) -> Mapping[str, Reach]:
    for name in names:
        if name not in clusters:
            hint = did_you_mean(name, clusters)
            raise CommandError(f"neither --config nor --proxy says where cluster {name} is{hint}")
    return {name: Reach(clusters[name]) for name in names}


def _as_yt_finds(name: str, token_file: Path | None) -> Reach:
    """By the settings of the `yt` command: aliases, the suffix of proxies, and the caller's token."""
    try:
        # Here, since importing it reads the environment, which may make no sense.
        from yt.wrapper import YtClient
        from yt.wrapper.default_config import get_config_from_env
        from yt.wrapper.http_helpers import get_proxy_address_url, get_token

        client = YtClient(proxy=name, config=get_config_from_env())
        config = ClusterConfig(proxy=get_proxy_address_url(client=client), token_file=token_file)
        token = None if token_file is not None else get_token(client=client)
    except YtError as error:
        raise CommandError(f"the settings of yt make no sense for cluster {name}: {error.message}") from error
    return Reach(config, None if token is None else CallerToken(token))
