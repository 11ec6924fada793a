"""The release as scenarios want it."""

from __future__ import annotations

from http.client import HTTPException

from deploy.kubernetes_tests.client import RELEASE, Client, eventually
from deploy.kubernetes_tests.prober import Cluster


def ensure(client: Client, *options: str) -> None:
    """The release with these settings, whatever it was; all of its agents are ready."""
    if client.settings != options:
        client.deploy(*(word for option in options for word in ("--set", option)))
        client.settings = options
    wanted = int(client.get("statefulset", RELEASE)["spec"]["replicas"])
    eventually(lambda: len(client.ready()) == wanted and len(client.agents()) == wanted)


def remove(client: Client) -> None:
    """Uninstall the release, if there is one."""
    client.settings = None
    client.helm("uninstall", RELEASE, "--wait", "--ignore-not-found")


def is_served(cluster: Cluster) -> bool:
    """Whether people get the status of the demo's queue, which is an error until a pass has succeeded."""
    try:
        return bool(cluster.get("//home/demo/queue/@queue_status").get("family") == "ordered_dynamic_table")
    except (OSError, HTTPException, ValueError):
        return False


def check_nothing_left(client: Client) -> None:
    kinds = client.kubectl("api-resources", "--namespaced", "--verbs=list", "--output=name").split()
    kinds = [kind for kind in kinds if not kind.startswith("events")]

    def left() -> list[str]:
        items = client.get(",".join(kinds))["items"]
        named = [f"{item['kind']} {item['metadata']['name']}" for item in items]
        theirs = {"ConfigMap kube-root-ca.crt", "ServiceAccount default", "Secret queue-agent-token"}
        return sorted(set(named) - theirs)

    def nothing() -> bool:
        assert left() == []
        return True

    eventually(nothing)
