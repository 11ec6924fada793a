"""The answer to a batch of many light commands, taken apart without being parsed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Final

_RESULT: Final = b"{\x01\x0coutput="
"""How a result begins in binary YSON, if it is no error."""

_BARRIER: Final = re.compile(rb"\x01\x22barrier_timestamp=\x06[\x80-\xff]*[\x00-\x7f];")
"""Of a tablet: a number that nobody here needs, and that grows all the time although nothing happens."""

_AFTER_RESULTS: Final = b";}"


def split_results(body: bytes, count: int) -> Sequence[bytes] | None:
    """The results in a batch's answer as pieces of YSON; None if there is anything but that many outputs.

    Pieces are equal only if the results are, barrier timestamps of tablets aside, which are left out.
    """
    end = body.rfind(b"]")
    if end < 0 or body[end + 1 :].strip(_AFTER_RESULTS):
        return None
    pieces = _BARRIER.sub(b"", body[:end]).split(_RESULT)
    if len(pieces) != count + 1:
        return None
    del pieces[0]
    return pieces


def join_results(pieces: Sequence[bytes]) -> bytes:
    """A YSON list of results, of some of the pieces in their order."""
    return b"".join([b"[", *(_RESULT + piece for piece in pieces), b"]"])


def digest_of(pieces: Sequence[bytes]) -> bytes:
    """Equal for equal pieces, and for no others."""
    return hashlib.blake2b(b"\0".join(pieces), digest_size=16).digest()
