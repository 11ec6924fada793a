"""What holds for every test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling


class Together(LoadScopeScheduling):  # type: ignore[misc] # pytest-xdist has no types
    """Where tests run side by side, those that share something that is dear to start share a process."""

    def _split_scope(self, nodeid: str) -> str:
        folder, _, rest = nodeid.removeprefix("tests/").partition("/")
        match folder:
            case "spark" if rest.startswith("test_driver_killed.py"):
                return "drivers"  # they have sessions of their own, and take as long as all that share one
            case "spark":
                return folder  # its session
            case "e2e":
                return rest.partition("::")[0]  # a module's playground
            case _:
                return nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Together:
    """Marks of groups would say the same, but pytest-xdist 3.8 does not see them with pytest 9.2."""
    return Together(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: many tests wait for what happens in time."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.fixture(autouse=True)
def logging_of_its_own(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A command that is run in the process of the tests configures logging; its standard error is gone afterwards."""
    configure = structlog.configure

    def configure_uncached(**settings: Any) -> None:
        configure(**{**settings, "cache_logger_on_first_use": False})

    monkeypatch.setattr(structlog, "configure", configure_uncached)
    yield
    structlog.reset_defaults()
