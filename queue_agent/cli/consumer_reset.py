"""Where `queue-agent consumer reset` finds the clusters of a queue and a consumer."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from queue_agent.cli.errors import CommandError
from queue_agent.cli.names import did_you_mean
from queue_agent.cli.reach import Reach, as_yt_finds
from queue_agent.config.file import load_config


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
        configured = load_config(config_file).clusters
        return _of_these(names, {name: Reach(cluster) for name, cluster in configured.items()})
    if not proxies:
        return {name: as_yt_finds(name, token_file) for name in names}
    clusters: dict[str, Reach] = {}
    for option in proxies:
        name, equals, address = option.partition("=")
        if not (name and equals and address) or name in clusters:
            raise CommandError(f"--proxy takes NAME=ADDRESS, each name once; got {option!r}")
        clusters[name] = as_yt_finds(address, token_file)
    return _of_these(names, clusters)


def _of_these(names: Collection[str], clusters: Mapping[str, Reach]) -> Mapping[str, Reach]:
    for name in names:
        if name not in clusters:
            hint = did_you_mean(name, clusters)
            raise CommandError(f"neither --config nor --proxy says where cluster {name} is{hint}")
    return {name: clusters[name] for name in names}
