"""`queue-agent health` without options, as health checks of containers run it: it imports next to nothing.

An agent that has published its address is asked there, and only the answer of that very process counts: another agent
may have its port, where containers share the network of their machine.
"""

from __future__ import annotations

import os
import socket
import sys
from typing import Final

from queue_agent.adapters.process.presence import HEADER, find
from queue_agent.cli.addresses import AGENT_VARIABLE

_TIMEOUT_SECONDS: Final = 5.0
_MAX_ANSWER_BYTES: Final = 1 << 16
_PLAIN: Final = "http://"


def probe() -> int | None:
    """Exit code; None if this is no case for it, and the whole command has to be run."""
    found = find()
    if found is None or os.environ.get(AGENT_VARIABLE) or not found.url.startswith(_PLAIN):
        return None
    host, _, port = found.url.removeprefix(_PLAIN).rpartition(":")
    try:
        status, headers, body = _ask(host.strip("[]"), int(port))
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{found.url} does not answer: {error}\n")
        return 1
    if headers.get(HEADER.lower()) != found.process:
        sys.stderr.write(f"{found.url} is answered by another process than the agent of this container\n")
        return 1
    if status != 200:
        sys.stderr.write(f"{found.url} is not live: {body}\n")
        return 1
    sys.stdout.write(f"{body}\n")
    return 0


def _ask(host: str, port: int) -> tuple[int, dict[str, str], str]:
    """Status, headers and body of the answer about liveness; ValueError if it is none."""
    received = b""
    with socket.create_connection((host, port), _TIMEOUT_SECONDS) as connection:
        connection.sendall(f"GET /health/live HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
        while (data := connection.recv(4096)) and len(received) < _MAX_ANSWER_BYTES:
            received += data
    head, _, body = received.decode("latin-1").partition("\r\n\r\n")
    first, *lines = head.split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return int(first.split()[1]) if " " in first else 0, {name.lower(): value.strip() for name, _, value in pairs}, body
