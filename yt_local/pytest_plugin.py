"""Fixtures for other people's tests: local clusters that are fresh for every test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# The clusters are imported by the first test that asks for one: others do not pay for them.
if TYPE_CHECKING:
    from yt.wrapper import YtClient

    from yt_local.testing import LocalCluster, LocalClusterSet


@pytest.fixture
def yt_clusters() -> Iterator[Callable[..., LocalClusterSet]]:
    """Starts clusters, given their names, that know each other; see `yt_local.testing.local_clusters`."""
    from yt_local.testing import local_clusters

    with ExitStack() as stack:

        def start(
            first: str, *others: str, data_dir: Path | None = None, now: datetime | None = None
        ) -> LocalClusterSet:
            return stack.enter_context(local_clusters(first, *others, data_dir=data_dir, now=now))

        yield start


@pytest.fixture
def yt_cluster(yt_clusters: Callable[..., LocalClusterSet]) -> LocalCluster:
    """A cluster by the name of `local`."""
    return yt_clusters("local")["local"]


@pytest.fixture
def yt_client(yt_cluster: LocalCluster) -> YtClient:
    """A client of the cluster that does not try again by itself."""
    return yt_cluster.client
