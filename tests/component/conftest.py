"""What several of these tests start."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from yt_local.runner import LocalClusters


@pytest.fixture
async def clusters() -> AsyncIterator[LocalClusters]:
    """A cluster, `pythia`, in the loop of the test."""
    async with LocalClusters({"pythia": 0}) as clusters:
        yield clusters
