"""Clients of clusters: ytsaurus-client, one for a cluster in every process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

import yt.wrapper
from yt.wrapper import YtClient
from yt.wrapper.dynamic_table_commands import get_dynamic_table_retriable_errors
from yt.wrapper.errors import YtNoSuchTransaction
from yt.wrapper.http_driver import HeavyProxyProvider
from yt.wrapper.http_helpers import get_retriable_errors
from yt.wrapper.retries import run_with_retries
from yt.wrapper.ypath import TablePath

from queue_agent.spark.errors import OutcomeUnknown
from queue_agent.spark.options import ConnectionOptions

# With every request ytsaurus-client tries to import this, in vain. In Python 3.11 that fails with a KeyError if garbage
# is collected meanwhile whose end imports something (gh-91351). What is None here is not looked for.
sys.modules.setdefault("library.python.svn_version", None)  # type: ignore[arg-type] # typeshed knows modules only

_FIRST_PAUSE: Final = 500
"""Milliseconds before the second attempt; every further pause is twice as long."""

_LONGEST_PAUSE: Final = 15_000


_clients: Final[dict[tuple[ConnectionOptions, bool], YtClient]] = {}


def client_of(options: ConnectionOptions) -> YtClient:
    """The client of this process; to be used by one thread at a time."""
    return _kept_client(options, discovery=True)


def new_client(options: ConnectionOptions) -> YtClient:
    """A client of one's own, for a transaction or a thread."""
    return YtClient(options.proxy, token=options.token, config=_config(options))


def close_clients() -> None:
    """Close the connections of this process's clients, which are reopened when they are needed again."""
    for client in _clients.values():
        session = yt.wrapper.config.get_option("_requests_session", client)
        if session is not None:
            session.close()
    _clients.clear()
    cluster_name.cache_clear()


@lru_cache(maxsize=16)
def cluster_name(options: ConnectionOptions) -> str:
    """What a cluster is called; it is asked once in every process."""
    return str(client_of(options).get("//sys/@cluster_name"))


@contextmanager
def tablet_transaction(options: ConnectionOptions, timeout_seconds: float) -> Iterator[YtClient]:
    """A client in whose transaction all commands run; it commits when the context is left without an error.

    The transaction lives at one proxy, so one is chosen, and no other is asked.

    Raises:
        OutcomeUnknown: the commit was sent, and no answer tells whether it was carried out. After any other error
            nothing was.
    """
    proxy = HeavyProxyProvider(client_of(options))()
    client = _kept_client(with_proxy(options, proxy), discovery=False)
    is_committing = False
    try:
        with client.Transaction(type="tablet", timeout=int(timeout_seconds * 1000)):
            yield client
            is_committing = True
    except (*get_retriable_errors(), YtNoSuchTransaction) as error:
        # A commit that was carried out and is sent again finds no transaction.
        if not is_committing:
            raise
        raise OutcomeUnknown(
            f"a transaction at {proxy} was to be committed, and no answer tells whether it was: {error}; look at the "
            "table before its rows are written again"
        ) from error


def repeat(options: ConnectionOptions, action: Callable[[], None]) -> None:
    """Do again what failed without having changed anything, as often as requests are sent.

    Args:
        options: tell how often.
        action: raises OutcomeUnknown, or any other error that is not the cluster's passing one, to be done no more.
    """
    run_with_retries(
        action,
        retry_count=options.retries,
        backoff_config=_retries(options)["backoff"],
        exceptions=get_dynamic_table_retriable_errors(),
    )


def _kept_client(options: ConnectionOptions, *, discovery: bool) -> YtClient:
    key = (options, discovery)
    if key not in _clients:
        client = new_client(options)
        client.config["proxy"]["enable_proxy_discovery"] = discovery
        _clients[key] = client
    return _clients[key]


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


def _retries(options: ConnectionOptions) -> Mapping[str, Any]:
    return {
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


def _config(options: ConnectionOptions) -> dict[str, Any]:
    retries = _retries(options)
    return {
        # Between machines of one place, packing rows takes longer than sending them.
        "proxy": {"retries": retries, "accept_encoding": "identity", "content_encoding": "identity"},
        "dynamic_table_retries": retries,
        "batch_requests_retries": retries,
        # Each attempt of these has a transaction of its own, and pauses of minutes by default.
        "write_retries": retries,
        "concatenate_retries": retries,
        # A failed ping must not interrupt Spark's worker: the commit of the transaction tells.
        "ping_failed_mode": "pass",
    }
