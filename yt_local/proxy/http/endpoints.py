"""What an HTTP proxy answers besides commands: foreign-clients.md §3 and §4."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from aiohttp import web

from yt_local.base.version import VERSION
from yt_local.cluster import Cluster
from yt_local.identity.authentication import Identity

_NO_CACHE: Final = {
    "Cache-Control": "max-age=0, must-revalidate, proxy-revalidate, no-cache, no-store, private",
    "Pragma": "nocache",
    "X-Frame-Options": "SAMEORIGIN",
}
_TYPES: Final = ("primary_master", "http_proxy", "rpc_proxy")
"""Of components that a local cluster shows: it plays all of them itself."""


class Endpoints:
    """Answers of one cluster's proxy.

    Args:
        cluster: whose proxy it is.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._secret = secrets.token_bytes(32)
        self._start_time = self._now()
        self._answers: Mapping[str, Callable[[web.BaseRequest], web.Response]] = {
            "/auth/whoami": self._who_am_i,
            "/hosts": self._hosts,
            "/hosts/all": self._all_hosts,
            "/internal/discover_versions/v2": self._versions,
            "/ping": lambda _: web.Response(),
            "/service": lambda _: _json({"start_time": self._start_time, "version": VERSION}),
            "/version": lambda _: web.Response(text=VERSION),
        }

    def find_answer(self, path: str, request: web.BaseRequest) -> web.Response | None:
        """The answer to a request; None if there is nothing at the path.

        Args:
            path: without a slash at its end.
            request: its headers tell who asks.

        Raises:
            YtError: whoever asks is not known.
        """
        answer = self._answers.get(path)
        return None if answer is None else answer(request)

    def _now(self) -> str:
        moment = datetime.fromtimestamp(self._cluster.state.clock.seconds(), UTC)
        return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")

    def _who_am_i(self, request: web.BaseRequest) -> web.Response:
        identity = self._cluster.authenticator.identify(request.headers)
        token = self._csrf_token(identity, int(self._cluster.state.clock.seconds()))
        return _json({"login": identity.user, "realm": identity.realm, "csrf_token": token}, _NO_CACHE)

    def _csrf_token(self, identity: Identity, seconds: int) -> str:
        """Nobody checks it here, for there are no cookies to log in by; the web UI does not go on without one."""
        digest = hmac.new(self._secret, f"{identity.user}:{seconds}".encode(), hashlib.sha256).hexdigest()
        return f"{digest}:{seconds}"

    def _hosts(self, request: web.BaseRequest) -> web.Response:
        # Others may know this machine by another name than it does itself.
        host = request.headers.get("Host", self._cluster.http_address)
        return web.Response(text=f"{host}\n") if request.headers.get("Accept") == "text/plain" else _json([host])

    def _all_hosts(self, _: web.BaseRequest) -> web.Response:
        host = self._cluster.http_address
        proxy = {
            "host": host.rpartition(":")[0],
            "name": host,
            "role": "data",
            "banned": False,
            "ban_message": "",
            "dead": False,
            "liveness": {
                "updated_at": self._now(),
                "load_average": 0.0,
                "network_coef": 0.0,
                "user_cpu": 0.0,
                "system_cpu": 0.0,
                "cpu_wait": 0.0,
                "concurrent_requests": 0,
            },
        }
        return _json([proxy])

    def _versions(self, _: web.BaseRequest) -> web.Response:
        addresses = {
            "primary_master": self._cluster.http_address,
            "http_proxy": self._cluster.http_address,
            "rpc_proxy": self._cluster.rpc_address,
        }
        details = [
            {
                "address": addresses[kind],
                "type": kind,
                "version": VERSION,
                "start_time": self._start_time,
                "banned": False,
                "state": "online",
            }
            for kind in _TYPES
        ]
        counts = {kind: {"total": 1, "banned": 0, "offline": 0} for kind in _TYPES}
        return _json({"summary": {"total": counts, VERSION: counts}, "details": details})


def _json(value: Any, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(text=json.dumps(value), content_type="application/json", headers=headers)
