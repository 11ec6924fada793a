"""What holds for every test."""

from __future__ import annotations

import functools
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from yt.wrapper import default_config

# With every request ytsaurus-client tries to import these, in vain. In Python 3.11 that fails with a KeyError if
# garbage is collected meanwhile whose end imports something (gh-91351), as the end of answers does that nobody has
# closed; and it takes time. What is None here is not looked for.
for name in ("library.python.svn_version", "library.python.oauth"):
    sys.modules.setdefault(name, None)  # type: ignore[arg-type] # typeshed knows modules only

# Every client looks through the types of all its options again, which takes most of the time until it is made.
default_config.get_type_hints = functools.cache(default_config.get_type_hints)


# Collecting makes millions of objects, all of which stay.
gc.disable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Of most files no test is slow, and to collect them all takes each process ten seconds."""
    is_searched = config.getoption("markexpr") == "slow" and collection_path.suffix == ".py"
    return True if is_searched and "slow" not in collection_path.read_text() else None


def pytest_collection_finish() -> None:
    """Not to look through what stays again and again saves a tenth of the processor's time."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    gc.enable()


# How long an example takes says nothing on a machine that has something else to do meanwhile.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")


class Together(LoadScopeScheduling):  # type: ignore[misc] # pytest-xdist has no types
    """Where tests run side by side, those that share something that is dear to start share a process."""

    def _split_scope(self, nodeid: str) -> str:
        folder, _, rest = nodeid.removeprefix("tests/").partition("/")
        match folder:
            case "spark" if rest.startswith(("test_driver_killed.py", "test_remote_executors.py")):
                return rest.partition("::")[0]  # the only sessions are those of the processes that it starts
            case "spark":
                return folder  # its session
            case "e2e" | "fuzz" if not rest.startswith("test_console_blocks.py"):
                return rest.partition("::")[0]  # a module's playground
            case _:
                return nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Together:
    """Marks of groups would say the same, but pytest-xdist 3.8 does not see them with pytest 9.2."""
    return Together(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: some tests wait for what happens in time."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.fixture(autouse=True)
def logging_of_its_own(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A command that is run in the process of the tests configures logging; its standard error is gone afterwards."""
    configure = structlog.configure

    def configure_uncached(**settings: Any) -> None:
        configure(**{**settings, "cache_logger_on_first_use": False})

    monkeypatch.setattr(structlog, "configure", configure_uncached)
    # The default takes long to make a traceback.
    plain = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    configure(processors=[structlog.processors.add_log_level, plain], cache_logger_on_first_use=False)
    yield
    structlog.reset_defaults()
