"""One Kubernetes for all scenarios, with a local cluster in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.kubernetes_tests.client import Client
from deploy.kubernetes_tests.machine import Machine, traces, why_not
from deploy.kubernetes_tests.prober import Cluster, Prober
from deploy.kubernetes_tests.stage import set_up


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
def prober(cluster: Cluster) -> Prober:
    return Prober(cluster, ("//home/demo/queue/@queue_status", "//home/demo/queue/@queue_partitions"))
