"""The zstd of Python 3.14, or its backport: it stops after a given number of bytes."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["zstd"]
