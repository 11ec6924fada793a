"""Where a listening socket can be reached, and from where."""

from __future__ import annotations

import ipaddress
import socket
from typing import Final

_LOOPBACKS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def reachable_address(listener: socket.socket) -> str:
    """`host:port` for those on this machine; one that listens everywhere is reached over loopback."""
    host, port = listener.getsockname()[:2]
    host = _LOOPBACKS.get(host, host)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
