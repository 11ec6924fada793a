"""Clients of clusters: ytsaurus-client, one for a cluster in every process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from yt.wrapper import YtClient
from yt.wrapper.http_driver import HeavyProxyProvider
from yt.wrapper.ypath import TablePath

from queue_agent.spark.options import ConnectionOptions

_FIRST_PAUSE: Final = 500
"""Milliseconds before the second attempt; every further pause is twice as long."""

_LONGEST_PAUSE: Final = 15_000


@lru_cache(maxsize=16)
def client_of(options: ConnectionOptions) -> YtClient:
    """The client of this process; to be used by one thread at a time."""
    return new_client(options)


def new_client(options: ConnectionOptions) -> YtClient:
    """A client of one's own, for a transaction or a thread."""
    return YtClient(options.proxy, token=options.token, config=_config(options))


@contextmanager
def tablet_transaction(options: ConnectionOptions, timeout_seconds: float) -> Iterator[YtClient]:
    """A client in whose transaction all commands run; it commits when the context is left without an error.

    The transaction lives at one proxy, so one is chosen, and no other is asked.
    """
    client = _client_of_one(with_proxy(options, HeavyProxyProvider(client_of(options))()))
    with client.Transaction(type="tablet", timeout=int(timeout_seconds * 1000)):
        yield client


@lru_cache(maxsize=16)
def _client_of_one(options: ConnectionOptions) -> YtClient:
    config = _config(options)
    config["proxy"]["enable_proxy_discovery"] = False
    return YtClient(options.proxy, token=options.token, config=config)


def with_proxy(options: ConnectionOptions, proxy: str) -> ConnectionOptions:
    """The same for another cluster."""
    return replace(options, proxy=proxy)


def cluster_of(path: str) -> tuple[str | None, str]:
    """The cluster that a rich path names, and the path without it: `<cluster=hume>//tmp/q` or `hume://tmp/q`."""
    rich = TablePath(path)
    cluster = rich.attributes.get("cluster")
    plain = str(rich)
    if cluster is None and not plain.startswith(("/", "#")) and "://" in plain:
        cluster, _, rest = plain.partition(":")
        plain = rest
    return (str(cluster) if cluster is not None else None), plain


def _config(options: ConnectionOptions) -> dict[str, Any]:
    retries: Mapping[str, Any] = {
        "enable": options.retries > 1,
        "count": options.retries,
        "backoff": {
            "policy": "exponential",
            "exponential_policy": {
                "start_timeout": _FIRST_PAUSE,
                "base": 2,
                "max_timeout": _LONGEST_PAUSE,
                "decay_factor_bound": 0.3,
            },
        },
    }
    config: dict[str, Any] = {
        "proxy": {"retries": retries},
        "dynamic_table_retries": retries,
        # A failed ping must not interrupt Spark's worker: the commit of the transaction tells.
        "ping_failed_mode": "pass",
    }
    if options.token_path is not None:
        config["token_path"] = options.token_path
    return config
