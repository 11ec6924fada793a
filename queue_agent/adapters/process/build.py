"""Which build of the agent this is."""

from __future__ import annotations

from importlib import metadata

DISTRIBUTION = "yt-queue-agent"


def _version() -> str:
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:  # run from a source tree that is not installed
        return "0+unknown"


VERSION = _version()
"""Of the installed distribution."""
