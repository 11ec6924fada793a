"""Agents in the pods that the operator of YTsaurus makes, in its order of things, and the way to the chart and back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from yt.wrapper import YtClient

from deploy.kubernetes_tests.client import Client, eventually
from deploy.kubernetes_tests.machine import Machine
from deploy.kubernetes_tests.prober import Cluster
from deploy.kubernetes_tests.release import ensure, is_served, remove
from deploy.kubernetes_tests.stage import fill, load_image

pytestmark = pytest.mark.timeout(900)

IMAGE: Final = "docker.io/library/yt-queue-agent:0.1.0-operator"
NAMESPACE: Final = "ytsaurus"
TOKEN: Final = "token-of-the-operator"
INSTANCES: Final = "//sys/queue_agents/instances"
PODS: Final = tuple(f"qa-{number}.queue-agents.{NAMESPACE}.svc.cluster.local" for number in range(2))


def start(client: Client) -> None:
    """Have agents in the operator's pods; returns when the operator takes them for ready."""
    manifest = fill("operator.yaml", {"IMAGE": IMAGE, '"TOKEN"': f'"{TOKEN}"'})
    client.kubectl("apply", "--filename", "-", given=manifest, namespace=NAMESPACE)
    client.kubectl("rollout", "status", "statefulset/qa", "--timeout=3m", namespace=NAMESPACE)


def initialize(client: Client, yt: YtClient) -> None:
    """What the operator does once the pods are ready."""
    known = f"//sys/cypress_tokens/{hashlib.sha256(TOKEN.encode()).hexdigest()}"
    yt.create("map_node", known, ignore_existing=True)
    yt.set(f"{known}/@user", "queue_agent")
    job = "job/yt-queue-agent-init-job-qa-state"
    client.kubectl("delete", job, "--ignore-not-found", namespace=NAMESPACE)
    manifest = fill("operator-job.yaml", {"IMAGE": IMAGE})
    client.kubectl("apply", "--filename", "-", given=manifest, namespace=NAMESPACE)
    client.kubectl("wait", job, "--for=condition=Complete", "--timeout=2m", namespace=NAMESPACE)
    assert TOKEN not in client.kubectl("logs", job, namespace=NAMESPACE)
    document = {
        "queue_agent": {"controller": {"enable_automatic_trimming": True}},
        "cypress_synchronizer": {"policy": "watching", "clusters": ["primary"]},
    }
    yt.create("document", "//sys/queue_agents/config", attributes={"value": document}, ignore_existing=True)
    addresses = [f"{pod}:9030" for pod in PODS]
    yt.set("//sys/@cluster_connection/queue_agent", {"stages": {"production": {"addresses": addresses}}})
    yt.set("//sys/clusters/primary", yt.get("//sys/@cluster_connection"))


def remove_instances(yt: YtClient) -> None:
    """Of agents that are gone: the operator updates nothing while there are more of them than its pods."""
    for name in yt.list(INSTANCES):
        yt.remove(f"{INSTANCES}/{name}", recursive=True, force=True)


def move_in(client: Client, cluster: Cluster, yt: YtClient) -> None:
    """Have agents in the operator's pods, and no others."""
    remove(client)
    remove_instances(yt)
    start(client)
    initialize(client, yt)
    eventually(lambda: is_served(cluster))
    eventually(lambda: {str(name).rpartition(":")[0] for name in yt.list(INSTANCES)} == set(PODS))


def move_out(client: Client, yt: YtClient) -> None:
    """End what `move_in` has started, whether or not it is there."""
    client.kubectl("delete", "statefulset/qa", "--wait", "--ignore-not-found", namespace=NAMESPACE)
    remove_instances(yt)


@pytest.fixture
def yt(machine: Machine, client: Client, tools: Path) -> Iterator[YtClient]:
    """The cluster, with the operator's image on its node, and without the operator's pods and document later."""
    load_image(machine, tools, IMAGE, "--target", "operator")
    config = {"proxy": {"enable_proxy_discovery": False}}
    yt = YtClient(proxy=f"http://{machine.address}:30080", token="roottoken", config=config)
    yield yt
    move_out(client, yt)
    yt.remove("//sys/queue_agents/config", force=True)


def test_agents_run_in_the_operators_pods_and_move_to_the_chart_and_back(
    client: Client, cluster: Cluster, yt: YtClient
) -> None:
    move_in(client, cluster, yt)
    # For an update the operator removes all pods before it makes others.
    client.kubectl("scale", "statefulset/qa", "--replicas=0", namespace=NAMESPACE)
    client.kubectl("wait", "pod/qa-0", "pod/qa-1", "--for=delete", "--timeout=1m", namespace=NAMESPACE)
    start(client)
    eventually(lambda: is_served(cluster))
    move_out(client, yt)
    ensure(client, "replicas=1")
    eventually(lambda: is_served(cluster))
    move_in(client, cluster, yt)
