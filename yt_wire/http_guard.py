"""Which HTTP requests a server refuses because a web page may have made them in the name of its reader.

A server at an address of this machine or network acts for whoever can reach it, and a browser there can. Two things
give a page away: its `Origin`, or `Sec-Fetch-Site`, which scripts cannot change; and, where the page had its own name
resolved to the server's address (DNS rebinding), that name in `Host`.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterable
from typing import Final

_HOST: Final = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")
_HOST_NAME: Final = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")
_ORIGIN: Final = re.compile(rf"https?://{_HOST.pattern}")
_LOCAL_NAME: Final = "localhost"
_OTHER_SITES: Final = frozenset({"cross-site", "same-site"})
"""A site is a name without its port: what another server on this machine serves is of the same site."""


def find_refusal(
    headers: Iterable[tuple[str, str]], *, hosts: Collection[str] | None, origins: Collection[str]
) -> str | None:
    """Decide whether a request is refused, before anything is done for it.

    Requests without `Origin` and `Sec-Fetch-Site` come from clients that are no browsers, or from old browsers, which
    send neither with a GET: a server that changes something by GET has to refuse those itself.

    Args:
        headers: all of the request as pairs, in any case; repeated ones stay repeated.
        hosts: names in lower case that are served, see `host_name`. `localhost` and addresses, which nobody can have
            resolved to something else, always are. None: any name is, because without a token nobody is served.
        origins: pages that may ask, such as `http://localhost:3000`; those served by the server itself always may.

    Returns:
        Why it is refused, for an answer with the status 403; None if it is not.
    """
    values: dict[str, list[str]] = {}
    for name, value in headers:
        values.setdefault(name.lower(), []).append(value.strip())
    host_values = values.get("host", [])
    if len(host_values) != 1:
        return f"The request has {len(host_values)} Host headers, not 1"
    host = host_values[0].lower()
    if hosts is not None and not _is_served(host, hosts):
        return f"This server is not known as {_shown(host)}; allow the name in its options if it should be"
    sites = [site.lower() for site in values.get("sec-fetch-site", [])]
    if sites == ["same-origin"]:
        return None  # a page of this server, or of one that hands on what its own pages ask, as the web UI does
    own = {f"http://{host}", f"https://{host}"}
    asking = values.get("origin", [])
    for origin in asking:
        if origin.lower() not in own and origin.lower() not in origins:
            return f"Pages of {_shown(origin)} may not use this server"
    if not asking and _OTHER_SITES.intersection(sites):
        return "Pages of other servers may not use this server"
    return None


def host_name(text: str) -> str:
    """A name for `hosts` of `find_refusal`, in lower case; ValueError if it is none, for example with a port."""
    name = text.strip().lower().removesuffix(".")
    if not _HOST_NAME.fullmatch(name):
        raise ValueError(f"not the name of a host: {text!r} (a name without protocol, port and path is wanted)")
    return name


def origin_name(text: str) -> str:
    """A page for `origins` of `find_refusal`, as browsers write it; ValueError if it is none."""
    origin = text.strip().lower().removesuffix("/")
    if not _ORIGIN.fullmatch(origin):
        raise ValueError(f"not the origin of pages: {text!r} (such as http://localhost:3000)")
    return origin


def _is_served(host: str, hosts: Collection[str]) -> bool:
    match = _HOST.fullmatch(host)
    if match is None:
        return False
    name = match["name"].removesuffix(".")
    return name == _LOCAL_NAME or name in hosts or _is_address(name.removeprefix("[").removesuffix("]"))


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _shown(text: str) -> str:
    """What a stranger sent, fit for a message."""
    return ascii(text[:100])
