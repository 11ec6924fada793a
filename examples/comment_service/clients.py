"""Clients of the cluster: each is used by one request at a time."""

from __future__ import annotations

import threading

import yt.wrapper
from yt.common import update
from yt.wrapper import YtClient
from yt.wrapper.default_config import get_config_from_env


class Clients:
    """A client for every thread, which has one request to work on at a time.

    Two requests must not share a client, as its transaction is a state of it; but to make one for every request takes
    longer than the request. Clients do not try again by themselves: whoever sent the request decides about that.

    Args:
        cluster: address or name of the cluster. It has to lead to one HTTP proxy, as that holds our transactions.
        timeout: seconds for one command.
    """

    def __init__(self, cluster: str, timeout: float) -> None:
        self._cluster = cluster
        # First what the environment says, as for the `yt` command: names of clusters, certificates.
        self._config = update(
            get_config_from_env(),
            {
                "proxy": {
                    "retries": {"enable": False},
                    "enable_proxy_discovery": False,
                    "connect_timeout": timeout * 1000,
                    "request_timeout": timeout * 1000,
                    "heavy_request_timeout": timeout * 1000,
                },
                "dynamic_table_retries": {"enable": False},
            },
        )
        self._of_thread = threading.local()
        self._lock = threading.Lock()
        self._made: list[YtClient] = []

    def client(self) -> YtClient:
        """The client of this thread."""
        client: YtClient | None = getattr(self._of_thread, "client", None)
        if client is None:
            self._of_thread.client = client = YtClient(self._cluster, config=self._config)
            with self._lock:
                self._made.append(client)
        return client

    def close(self) -> None:
        """Close all connections; no thread may need one any more."""
        for client in self._made:
            session = yt.wrapper.config.get_option("_requests_session", client)
            if session is not None:
                session.close()
