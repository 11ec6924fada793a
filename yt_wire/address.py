"""Where a listening socket can be reached."""

from __future__ import annotations

import socket
from typing import Final

_LOOPBACKS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def reachable_address(listener: socket.socket) -> str:
    """`host:port` for those on this machine; one that listens everywhere is reached over loopback."""
    host, port = listener.getsockname()[:2]
    host = _LOOPBACKS.get(host, host)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
