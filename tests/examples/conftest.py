"""A comment service on a fresh cluster."""

from __future__ import annotations

import gc
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.examples.comment_world import Service, Time, create, serving
from yt_local.testing import LocalCluster


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ytsaurus-client leaves the body of a streamed answer that failed unread, and its connection to the collector."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket"))


@pytest.fixture(scope="module", autouse=True)
def _collected() -> Iterator[None]:
    """Such connections are not to be found by the tests of others."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def cluster(yt_cluster: LocalCluster) -> LocalCluster:
    """A cluster with the tables of the service."""
    create(yt_cluster)
    return yt_cluster


@pytest.fixture
async def service(cluster: LocalCluster, time: Time) -> AsyncIterator[Service]:
    async with serving(cluster, time) as service:
        yield service
