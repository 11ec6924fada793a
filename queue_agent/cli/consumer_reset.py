"""Where `queue-agent consumer reset` finds the clusters of a queue and a consumer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from queue_agent.cli.errors import CommandError
from queue_agent.config.clusters import ClusterConfig
from queue_agent.config.file import load_config


def clusters_of(config_file: Path | None, proxies: Sequence[str], token_file: Path | None) -> dict[str, ClusterConfig]:
    """How to reach clusters: as an agent does, or by `NAME=ADDRESS` each.

    Raises:
        CommandError: neither or both are given, or an option makes no sense.
        ConfigError: see `load_config`.
    """
    if config_file is not None:
        if proxies or token_file is not None:
            raise CommandError("either --config or --proxy, with or without --token-file, says where clusters are")
        return dict(load_config(config_file).clusters)
    if not proxies:
        raise CommandError("--config FILE or --proxy NAME=ADDRESS has to say where clusters are")
    clusters: dict[str, ClusterConfig] = {}
    for option in proxies:
        name, equals, address = option.partition("=")
        if not (name and equals and address) or name in clusters:
            raise CommandError(f"--proxy takes NAME=ADDRESS, each name once; got {option!r}")
        clusters[name] = ClusterConfig(proxy=address, token_file=token_file)
    return clusters
