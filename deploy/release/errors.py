"""What stops a release."""

from __future__ import annotations


class ReleaseError(Exception):
    """The commit, or what was built of it, is not fit for a release; the text says why and what to do."""
