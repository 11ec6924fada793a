"""Digests of answers, by which what has not changed is known without reading it."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Final

_LARGE_BODY: Final = 1 << 20


async def digest_of_body(body: bytes) -> bytes:
    """In a thread if it would keep others waiting; the lock of the interpreter is not held meanwhile."""
    if len(body) < _LARGE_BODY:
        return _digest_at_once(body)
    return await asyncio.to_thread(_digest_at_once, body)


def _digest_at_once(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()
