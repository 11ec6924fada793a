"""A release from its installation to its end: what people do to it, while statuses are read once a second."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from deploy.kubernetes_tests.client import RELEASE, Client, CommandFailedError, eventually, is_ready
from deploy.kubernetes_tests.machine import CHECKOUT, Machine
from deploy.kubernetes_tests.prober import Cluster, Prober, Read
from deploy.kubernetes_tests.release import check_nothing_left, ensure, is_served, remove

pytestmark = pytest.mark.timeout(900)

THREE = ("queue-agent-0", "queue-agent-1", "queue-agent-2")


def check_undisturbed(reads: Sequence[Read]) -> None:
    assert len(reads) >= 6, reads
    assert [str(read) for read in reads if read.error] == []


def told(cluster: Cluster) -> list[str]:
    """Names of the agents that masters know of."""
    addresses = cluster.get("//sys/clusters/primary/queue_agent/stages/production/addresses")
    return [address.partition(".")[0] for address in addresses]


def test_it_is_installed_and_its_test_passes(client: Client, cluster: Cluster) -> None:
    said = client.deploy("--set", "replicas=1")
    client.settings = ("replicas=1",)
    assert "1 agent of the stage" in said
    assert "Phase:          Succeeded" in client.helm("test", RELEASE)
    assert told(cluster) == ["queue-agent-0"]
    eventually(lambda: is_served(cluster))
    assert client.restarts() == 0


def test_commands_in_a_pod_need_no_settings(client: Client) -> None:
    ensure(client, "replicas=1")
    checked = client.kubectl("exec", f"{RELEASE}-0", "--", "queue-agent", "doctor")
    assert "0 failed" in checked or "nothing failed" in checked, checked
    assert "//home/demo/queue" in client.kubectl("exec", f"{RELEASE}-0", "--", "queue-agent", "status")


def test_agents_come_and_go_and_nobody_notices(client: Client, cluster: Cluster, prober: Prober) -> None:
    ensure(client, "replicas=1")
    eventually(lambda: is_served(cluster))
    with prober.reading() as reads:
        ensure(client, "replicas=3")
        assert tuple(client.ready()) == THREE
        assert tuple(told(cluster)) == THREE
        orphans = []
        with ThreadPoolExecutor() as threads:
            scaling = threads.submit(ensure, client, "replicas=1")
            while not scaling.done():
                known, there = told(cluster), {pod["metadata"]["name"] for pod in client.agents() if is_ready(pod)}
                orphans += [name for name in known if name not in there and known == told(cluster)]
            scaling.result()
        assert orphans == [], "masters looked for agents that had been removed"
        assert told(cluster) == ["queue-agent-0"]
    check_undisturbed(reads)
    assert client.restarts() == 0


def test_an_autoscaler_that_takes_over_shrinks_nothing(client: Client, prober: Prober) -> None:
    ensure(client, "replicas=3")
    before = {pod["metadata"]["uid"] for pod in client.agents()}
    with prober.reading() as reads:
        ensure(client, "autoscaling.enabled=true", "autoscaling.maxReplicas=3")
        assert tuple(client.ready()) == THREE
        ensure(client, "replicas=3")
    check_undisturbed(reads)
    assert {pod["metadata"]["uid"] for pod in client.agents()} == before


def test_a_changed_configuration_and_the_way_back_disturb_nobody(client: Client, prober: Prober) -> None:
    ensure(client, "replicas=3")
    revision = client.helm("history", RELEASE, "--max", "1").split("\n")[1].split()[0]
    before = {pod["metadata"]["uid"] for pod in client.agents()}
    with prober.reading() as reads:
        ensure(client, "replicas=3", "config.queue_agent.controller.pass_period=2000")
        changed = {pod["metadata"]["uid"] for pod in client.agents()}
        assert not before & changed
        client.settings = None
        client.helm("rollback", RELEASE, revision, "--wait")
        assert not changed & {pod["metadata"]["uid"] for pod in client.agents()}
    check_undisturbed(reads)


def test_an_agent_that_is_killed_is_missed_by_nobody(client: Client, machine: Machine, prober: Prober) -> None:
    ensure(client, "replicas=3")
    with prober.reading() as reads:
        for name in THREE:
            kill_process(client, machine, name)
            eventually(lambda: tuple(client.ready()) == THREE)
        client.kubectl("delete", "pod", THREE[0], "--grace-period=0", "--force")
        eventually(lambda: tuple(client.ready()) == THREE)
    check_undisturbed(reads)
    assert client.restarts() == 2


def test_an_agent_that_is_evicted_comes_back_and_is_missed_by_nobody(client: Client, prober: Prober) -> None:
    """The kubelet evicts whoever writes more than it may."""
    ensure(client, "replicas=3", "resources.limits.ephemeral-storage=50Mi")
    name = THREE[1]
    [first] = [pod["metadata"]["uid"] for pod in client.agents() if pod["metadata"]["name"] == name]
    with prober.reading() as reads:
        client.kubectl("exec", name, "--", "dd", "if=/dev/zero", "of=/tmp/large", "bs=1M", "count=100")

        def evicted() -> bool:
            events = client.get("events", "--field-selector", f"reason=Evicted,involvedObject.name={name}")["items"]
            return first in {event["involvedObject"]["uid"] for event in events}

        eventually(evicted)
        eventually(lambda: tuple(client.ready()) == THREE)
    check_undisturbed(reads)
    assert first not in {pod["metadata"]["uid"] for pod in client.agents()}


def test_agents_that_are_scaled_away_leave_their_group_before_they_are_gone(
    client: Client, cluster: Cluster, prober: Prober
) -> None:
    ensure(client, "replicas=3")
    members = "//sys/queue_agents/members/production/@locks"

    def inside() -> set[str]:
        return {str(lock["child_key"]).partition(".")[0] for lock in cluster.get(members)}

    assert inside() == set(THREE)
    late = []
    with prober.reading() as reads:
        client.kubectl("scale", f"statefulset/{RELEASE}", "--replicas=1")
        while (there := {pod["metadata"]["name"] for pod in client.agents()}) != {THREE[0]}:
            late += [name for name in inside() if name not in there]
        assert inside() == {THREE[0]}
        client.settings = None
    assert late == []
    check_undisturbed(reads)


def kill_process(client: Client, machine: Machine, pod: str) -> None:
    """End an agent as lack of memory does, and see that the kubelet has noticed."""

    def count() -> int:
        [state] = client.get("pod", pod)["status"]["containerStatuses"]
        return int(state["restartCount"])

    before = count()
    container = client.get("pod", pod)["status"]["containerStatuses"][0]["containerID"].rpartition("/")[2]
    tasks = machine.ctr("tasks", "list").splitlines()
    [number] = [line.split()[1] for line in tasks if line.startswith(container)]
    machine.inside("kill", "-KILL", number)
    eventually(lambda: count() == before + 1)


@pytest.mark.parametrize("seconds", [0.0, 0.3, 1.0, 2.0, 5.0])
def test_a_pod_ends_whenever_it_is_told_to(client: Client, seconds: float, pod_ends: list[float]) -> None:
    # The kubelet would kill it after an hour, and nobody waits that long for `kubectl`.
    ensure(client, "replicas=1", "terminationGracePeriodSeconds=3600")
    name = f"{RELEASE}-0"
    first = client.get("pod", name)["metadata"]["uid"]
    client.kubectl("delete", "pod", name, "--wait=false")

    def runs_again() -> bool:
        pod = client.get("pod", name)
        states = pod["status"].get("containerStatuses", ())
        return pod["metadata"]["uid"] != first and any("running" in state["state"] for state in states)

    eventually(runs_again)
    time.sleep(seconds)  # the moment is what is tried, and nothing tells of it
    begin = time.monotonic()
    client.kubectl("delete", "pod", name)
    pod_ends.append(time.monotonic() - begin)


def test_of_two_drained_nodes_one_waits(client: Client) -> None:
    ensure(client, "replicas=3")

    def evict(name: str) -> None:
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "yt"}}
        path = f"/api/v1/namespaces/yt/pods/{name}/eviction"
        client.kubectl("create", "--raw", path, "--filename", "-", given=str(body).replace("'", '"'))

    evict(THREE[2])
    with pytest.raises(CommandFailedError, match="disruption budget"):
        evict(THREE[1])
    eventually(lambda: tuple(client.ready()) == THREE)


def test_an_upgrade_from_the_chart_before_disturbs_nobody(client: Client, prober: Prober, machine: Machine) -> None:
    folder = machine.state / "previous"
    folder.mkdir()
    archive = ["git", "-C", str(CHECKOUT), "archive", PREVIOUS_CHART, "helm", "deploy"]
    made = subprocess.run(archive, check=False, capture_output=True)
    if made.returncode:
        pytest.skip(f"the history of the checkout does not go back to {PREVIOUS_CHART}")
    subprocess.run(["tar", "-C", str(folder), "-x"], input=made.stdout, check=True)
    remove(client)
    client.deploy("--set", "replicas=3", chart=folder / "helm" / "queue-agent")
    with prober.reading() as reads:
        ensure(client, "replicas=3")
    check_undisturbed(reads)


PREVIOUS_CHART = "97e93c5"
"""The commit with the chart that people may have."""


def test_nothing_is_left_of_a_release(client: Client) -> None:
    ensure(client, "replicas=1")
    remove(client)
    check_nothing_left(client)
