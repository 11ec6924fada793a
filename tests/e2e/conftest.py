"""A playground as somebody finds it who has just typed `queue-agent local`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.playground import Playground, running


@pytest.fixture(scope="module")
def playground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    """Clusters `pythia` and `hume` and an agent, fresh for the module, which must end well after it."""
    with running(tmp_path_factory.mktemp("playground")) as playground:
        yield playground
