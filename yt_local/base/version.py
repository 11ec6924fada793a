"""The version that a local cluster says it has."""

from __future__ import annotations

from typing import Final

VERSION: Final = "24.1.0-local"
"""Clients read the first three numbers; the features are about those of that release."""
