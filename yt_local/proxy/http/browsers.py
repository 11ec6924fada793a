"""Which browsers may use a cluster: pages of its own, those that are allowed by name, and no others.

Whoever reaches a cluster that asks for no token is its root, and the browser of whoever runs it reaches it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from yt_wire import http
from yt_wire.http_guard import find_refusal

_METHODS: Final = "POST, PUT, GET, OPTIONS"
_MAX_AGE_SECONDS: Final = "3600"
_REQUEST_HEADERS: Final = ", ".join(
    ("Authorization", "Origin", "Content-Type", "Accept", "X-YT-User-Name", "X-YT-Suppress-Redirect", "X-Csrf-Token")
)
_YT_HEADERS: Final = ", ".join(
    (http.PARAMETERS, http.INPUT_FORMAT, http.OUTPUT_FORMAT, http.HEADER_FORMAT, http.CORRELATION_ID)
)
_ANSWER_HEADERS: Final = ", ".join(
    (http.RESPONSE_CODE, http.RESPONSE_MESSAGE, http.ERROR, http.PROXY, http.RESPONSE_PARAMETERS, http.REQUEST_ID)
)


@dataclass(frozen=True, slots=True)
class AllowedBrowsers:
    """Names and pages that are allowed besides `localhost`, addresses and the cluster's own pages."""

    hosts: Collection[str] | None = ()
    """Names of this machine, as `http_guard.host_name` gives them; None: any name."""

    origins: Collection[str] = ()
    """Pages of other servers, such as `http://localhost:3000`."""

    def refusal(self, request: web.BaseRequest) -> str | None:
        """Why a request is refused; None if it is not."""
        return find_refusal(request.headers.items(), hosts=self.hosts, origins=self.origins)

    def answer_headers(self, request: web.BaseRequest) -> dict[str, str]:
        """What lets the page of an allowed origin read an answer, as a real proxy says it (`MaybeHandleCors`)."""
        origin = request.headers.get("Origin")
        if origin is None:
            return {}
        return {
            "Access-Control-Allow-Credentials": "true",
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Allow-Methods": _METHODS,
            "Access-Control-Max-Age": _MAX_AGE_SECONDS,
            "Access-Control-Allow-Headers": f"{_REQUEST_HEADERS}, {_YT_HEADERS}",
            "Access-Control-Expose-Headers": _ANSWER_HEADERS,
        }


def is_unmarked_view(request: web.BaseRequest) -> bool:
    """Whether a browser asks by GET and does not say for which page.

    Any command may come by any method, and browsers of today mark what pages of others have them ask. An old one does
    not: it shows itself by its name.
    """
    headers = request.headers
    marked = "Sec-Fetch-Site" in headers or "Origin" in headers
    return request.method in ("GET", "HEAD") and not marked and headers.get("User-Agent", "").startswith("Mozilla/")
