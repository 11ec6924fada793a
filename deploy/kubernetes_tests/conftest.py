"""One Kubernetes for all scenarios, with a local cluster in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from deploy.kubernetes_tests.client import Client
from deploy.kubernetes_tests.machine import Machine, traces, why_not
from deploy.kubernetes_tests.prober import Cluster, Prober
from deploy.kubernetes_tests.stage import set_up

PROBER: Final = pytest.StashKey[Prober]()
POD_ENDS: Final = pytest.StashKey[list[float]]()
SLOW_SECONDS: Final = 2.5


@pytest.fixture(scope="session")
def before() -> dict[str, list[str]]:
    """What there was on this machine before."""
    return traces()


@pytest.fixture(scope="session")
def tools() -> Path:
    return Path(os.environ["TOOLS_HOME"])


@pytest.fixture(scope="session")
def machine(tools: Path, before: dict[str, list[str]]) -> Iterator[Machine]:
    if reason := why_not():
        pytest.skip(reason)
    with Machine(tools) as machine:
        yield machine
    left = {kind: found for kind, found in traces().items() if found != before[kind]}
    assert left == {}, "a Kubernetes has left something behind"


@pytest.fixture(scope="session")
def client(machine: Machine, tools: Path) -> Client:
    client = Client(tools, machine.state / "admin.conf", machine.state)
    set_up(machine, client, tools)
    return client


@pytest.fixture(scope="session")
def cluster(machine: Machine, client: Client) -> Cluster:
    return Cluster(f"{machine.address}:30080", "roottoken")


@pytest.fixture(scope="session")
def prober(cluster: Cluster, pytestconfig: pytest.Config) -> Prober:
    prober = Prober(cluster, ("//home/demo/queue/@queue_status", "//home/demo/queue/@queue_partitions"))
    pytestconfig.stash[PROBER] = prober
    return prober


@pytest.fixture(scope="session")
def pod_ends(pytestconfig: pytest.Config) -> list[float]:
    """Seconds that pods took to end, for the summary."""
    ends: list[float] = []
    pytestconfig.stash[POD_ENDS] = ends
    return ends


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how long things took, for which a busy machine can be the reason: no test judges that."""
    if ends := config.stash.get(POD_ENDS, None):
        terminalreporter.write_line(f"{len(ends)} pods ended, the slowest after {max(ends):.1f} s")
    prober = config.stash.get(PROBER, None)
    if prober is not None and prober.all_reads:
        seconds = [read.seconds for read in prober.all_reads]
        slow = sum(each > SLOW_SECONDS for each in seconds)
        terminalreporter.write_line(
            f"{len(seconds)} statuses read, the slowest in {max(seconds):.2f} s, {slow} in more than {SLOW_SECONDS} s"
        )
