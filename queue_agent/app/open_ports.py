"""How much an agent's ports put up with."""

from __future__ import annotations

import resource
from typing import Final

from queue_agent.config.serving import ServerLimitsConfig
from yt_wire.gate import Buffers, Gate
from yt_wire.seats import Limits

_BUFFERS: Final = Buffers(receive=16 << 10, send=128 << 10)
"""Requests are small, and answers go at 10 MB/s where it takes 10 ms to the peer and back."""


def new_gate(config: ServerLimitsConfig) -> Gate:
    """What lets peers in to all ports."""
    limits = Limits(
        max_connections=config.max_connections,
        max_connections_per_address=config.max_connections_per_address,
        max_held_bytes=config.max_held_bytes,
        message_seconds=config.message_timeout.total_seconds(),
        answer_seconds=config.answer_timeout.total_seconds(),
        idle_seconds=config.idle_timeout.total_seconds(),
    )
    return Gate(limits, _BUFFERS)


def allow_open_files() -> None:
    """Have this process open as many files as it may: systems allow few unless a process asks for more."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
