"""Kubernetes adds agents when they have much to do, and removes them later: by what metrics-server measures."""

from __future__ import annotations

import http.client
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from yt.wrapper import YtClient

from deploy.kubernetes_tests.client import RELEASE, Client, eventually
from deploy.kubernetes_tests.machine import Machine
from deploy.kubernetes_tests.prober import Prober
from deploy.kubernetes_tests.release import ensure
from deploy.kubernetes_tests.test_release import THREE, check_undisturbed

pytestmark = pytest.mark.timeout(900)

QUEUES = 30
READERS = 4
SETTINGS = (
    "autoscaling.enabled=true",
    "autoscaling.minReplicas=1",
    "autoscaling.maxReplicas=3",
    "resources.requests.cpu=100m",
    "service.type=NodePort",
)
"""One agent needs about a tenth of the requested processor time for the queues of this test, and is to need 70 % at
most: only readers make it need more."""


@contextmanager
def load(address: str, port: int) -> Iterator[None]:
    """While entered, people read the overview as fast as they can."""
    ended = threading.Event()

    def read() -> None:
        while not ended.is_set():
            connection = http.client.HTTPConnection(address, port, timeout=20)
            try:
                connection.request("GET", "/api/v1/overview")
                connection.getresponse().read()
            except (OSError, http.client.HTTPException):
                ended.wait(0.1)  # that agent has just gone
            finally:
                connection.close()

    threads = [threading.Thread(target=read) for _ in range(READERS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def leaders(yt: YtClient) -> Counter[str]:
    """How many objects each agent leads, by its name."""
    rows = yt.select_rows("host from [//sys/queue_agents/queue_agent_object_mapping]")
    return Counter(str(row["host"]).partition(".")[0] for row in rows)


def are_shared(objects: Counter[str]) -> bool:
    """Whether all three agents lead objects, and none much fewer than its third."""
    return objects.keys() == set(THREE) and min(objects.values()) >= objects.total() / 6


def test_agents_follow_the_load_and_share_the_objects(client: Client, machine: Machine, prober: Prober) -> None:
    yt = YtClient(
        proxy=f"http://{machine.address}:30080", token="roottoken", config={"proxy": {"enable_proxy_discovery": False}}
    )
    schema = [{"name": "value", "type": "string"}, {"name": "$timestamp", "type": "uint64"}]
    for number in range(QUEUES):
        path = f"//home/autoscaling/{number}"
        yt.create("table", path, attributes={"dynamic": True, "schema": schema}, recursive=True, ignore_existing=True)
        yt.mount_table(path, sync=True)
    ensure(client, "replicas=1", "service.type=NodePort")
    ensure(client, *SETTINGS)
    ports = client.get("service", RELEASE)["spec"]["ports"]
    [port] = [each["nodePort"] for each in ports if each["name"] == "http"]

    def is_measured() -> bool:
        """The autoscaler knows the load; before that it does nothing."""
        conditions = client.get("hpa", RELEASE)["status"].get("conditions", ())
        return {"ScalingActive": "True"}.items() <= {each["type"]: each["status"] for each in conditions}.items()

    eventually(is_measured)
    assert client.ready() == [THREE[0]]
    with prober.reading() as reads:
        with load(machine.address, port):
            eventually(lambda: tuple(client.ready()) == THREE)
            eventually(lambda: are_shared(leaders(yt)))
        eventually(lambda: client.ready() == [THREE[0]])
        eventually(lambda: leaders(yt).keys() == {THREE[0]})
    check_undisturbed(reads)
    assert client.restarts() == 0
    yt.remove("//home/autoscaling", recursive=True)
