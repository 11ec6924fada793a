"""What a release does when others fail: an installation without rights, a wrong token, a cluster that is away."""

from __future__ import annotations

import time
from typing import Final

import pytest

from deploy.kubernetes_tests.client import RELEASE, Client, CommandFailedError, eventually
from deploy.kubernetes_tests.prober import Cluster, Prober
from deploy.kubernetes_tests.release import check_nothing_left, ensure, is_served, remove

pytestmark = pytest.mark.timeout(900)

READY_SECONDS = 75.0
SECRET_SECONDS = 300.0
"""Until the kubelet has passed a changed Secret on, and an agent has been without success for a minute."""


def set_token(client: Client, token: str) -> None:
    changed = f'{{"stringData": {{"YT_TOKEN": "{token}"}}}}'
    client.kubectl("patch", "secret", "queue-agent-token", "--patch", changed)


def test_a_failed_installation_says_why_and_nothing_is_left_of_it(client: Client) -> None:
    remove(client)
    set_token(client, "nobodys")
    try:
        with pytest.raises(CommandFailedError, match=r"Authentication failed.*Token is missing"):
            client.deploy()
        client.helm("uninstall", RELEASE, "--wait")
        check_nothing_left(client)
    finally:
        set_token(client, "agenttoken")


def test_a_wrong_token_makes_agents_unready_and_the_right_one_ready(client: Client) -> None:
    ensure(client, "replicas=1")
    set_token(client, "nobodys")
    try:
        eventually(lambda: client.ready() == [], SECRET_SECONDS)
    finally:
        set_token(client, "agenttoken")
    eventually(lambda: client.ready() == [f"{RELEASE}-0"], SECRET_SECONDS)
    assert client.restarts() == 0


def test_a_token_is_rotated_and_nobody_notices(client: Client, cluster: Cluster, prober: Prober) -> None:
    ensure(client, "replicas=1")
    before = {pod["metadata"]["uid"] for pod in client.agents()}
    fresh = cluster.issue_token("queue_agent")
    try:
        with prober.reading() as reads:
            set_token(client, fresh)
            file = "/etc/queue-agent/tokens/primary/YT_TOKEN"
            eventually(lambda: client.kubectl("exec", f"{RELEASE}-0", "--", "cat", file) == fresh, SECRET_SECONDS)
            time.sleep(READY_SECONDS)  # as long as an agent without success would be ready
            assert client.ready() == [f"{RELEASE}-0"]
    finally:
        set_token(client, "agenttoken")
    assert [str(read) for read in reads if read.error] == []
    assert client.restarts() == 0
    assert {pod["metadata"]["uid"] for pod in client.agents()} == before
    eventually(lambda: client.kubectl("exec", f"{RELEASE}-0", "--", "cat", file) == "agenttoken", SECRET_SECONDS)
    cluster.revoke_token("queue_agent", fresh)


IMPATIENT: Final = (
    "config.http.hung_after=5000",
    "config.queue_agent.pass_timeout=2000",
    "config.queue_agent_sharding_manager.pass_timeout=2000",
    "config.cypress_synchronizer.pass_timeout=2000",
    "config.queue_agent.controller.pass_timeout=2000",
    "probes.liveness.periodSeconds=2",
    "probes.liveness.failureThreshold=3",
)
"""With these an agent whose passes hang is restarted after less than 15 seconds. An outage of 45 seconds is to them
what one of 20 minutes is to an agent by default, and nobody has to wait for it."""


@pytest.mark.parametrize(("seconds", "settings"), [(35, ()), (85, ()), (45, IMPATIENT)], ids=["35", "85", "impatient"])
def test_agents_bear_a_cluster_that_is_away(
    client: Client, cluster: Cluster, seconds: int, settings: tuple[str, ...]
) -> None:
    ensure(client, "replicas=3", *settings)
    names = client.ready()
    before = {pod["metadata"]["uid"] for pod in client.agents()}
    client.kubectl("scale", "deployment/ytsaurus", "--replicas=0", namespace="ytsaurus")
    client.kubectl("wait", "--for=delete", "pod", "--selector=app=ytsaurus", "--timeout=1m", namespace="ytsaurus")
    time.sleep(seconds)  # how long it is away is what is tried
    client.kubectl("scale", "deployment/ytsaurus", "--replicas=1", namespace="ytsaurus")
    client.kubectl("rollout", "status", "deployment/ytsaurus", "--timeout=2m", namespace="ytsaurus")
    eventually(lambda: client.ready() == names)
    eventually(lambda: is_served(cluster))
    assert client.restarts() == 0
    assert {pod["metadata"]["uid"] for pod in client.agents()} == before
