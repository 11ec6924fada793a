"""Addresses to listen on, and who can reach them."""

from __future__ import annotations

from queue_agent.errors import ConfigError


def address_of(text: str) -> tuple[str, int]:
    """Host and port of `host:port`; ConfigError if it is none."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isascii() and port.isdigit() and int(port) <= 65535):
        raise ConfigError(f"an address to listen on is host:port, got {text!r}")
    return host, int(port)
