"""A playground as somebody finds it who has just typed `queue-agent local`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.playground import Playground, running


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where tests run side by side, those of a module share a process, and with it their playground."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.fixture(scope="module")
def playground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    """Clusters `pythia` and `hume` and an agent, fresh for the module, which must end well after it."""
    with running(tmp_path_factory.mktemp("playground")) as playground:
        yield playground
