"""A client of the cluster for every request; what may be shared between clients is."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from yt.wrapper import YtClient
from yt.wrapper.config import get_option, set_option

SHARED: Final = ("_requests_session", "_api_version", "_commands", "_fqdn", "_token", "_token_cached")
"""What a client finds out or opens at its first request; its own transactions hand the same on to their pingers."""


class Clients:
    """Makes clients that do not try again by themselves: whoever sent the request decides about that.

    A connection is shared by the clients of one thread only: two threads at once are more than it can take.

    Args:
        cluster: address or name of the cluster. It has to lead to one HTTP proxy, as that holds our transactions.
        timeout: seconds for one command.
    """

    def __init__(self, cluster: str, timeout: float) -> None:
        self._cluster = cluster
        self._config = {
            "proxy": {
                "retries": {"enable": False},
                "enable_proxy_discovery": False,
                "connect_timeout": timeout * 1000,
                "request_timeout": timeout * 1000,
                "heavy_request_timeout": timeout * 1000,
            },
            "dynamic_table_retries": {"enable": False},
        }
        self._of_thread = threading.local()
        self._lock = threading.Lock()
        self._sessions: list[Any] = []

    @contextmanager
    def client(self) -> Iterator[YtClient]:
        """A client for the time of one request, in this thread."""
        client = YtClient(self._cluster, config=self._config)
        shared = vars(self._of_thread)
        for name, value in shared.items():
            set_option(name, value, client)
        try:
            yield client
        finally:
            set_option("_requests_session_origin_id", None, client)  # else the client would close the connection
            if "_requests_session" not in shared and get_option("_requests_session", client) is not None:
                with self._lock:
                    self._sessions.append(get_option("_requests_session", client))
            for name in SHARED:
                if (value := get_option(name, client)) is not None:
                    shared[name] = value

    def close(self) -> None:
        """Close all connections; no thread may need one any more."""
        for session in self._sessions:
            session.close()
