"""The API server takes all that the chart makes, with files of values and with `--set`."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.kubernetes_tests.client import CHART, RELEASE, VALUES, Client, CommandFailedError
from deploy.kubernetes_tests.machine import CHECKOUT
from deploy.kubernetes_tests.release import remove

pytestmark = pytest.mark.timeout(600)

MODULE = CHECKOUT / "deploy" / "kubernetes_tests" / "kubernetes" / "go.mod"
VERSION = MODULE.read_text().partition("k8s.io/kubernetes v")[2].split()[0]
FILES = sorted((CHART / "ci").glob("*-values.yaml"))
SETTINGS = (
    ("replicas=3",),
    ("replicas=0", "registerAddresses.enabled=false"),
    ("autoscaling.enabled=true",),
    ("autoscaling.enabled=true", "autoscaling.minReplicas=3"),
    ("autoscaling.enabled=true", "autoscaling.minReplicas=3", "autoscaling.maxReplicas=3"),
    ("autoscaling.enabled=true", "autoscaling.targetCPUUtilizationPercentage=50"),
    ("config.http.port=11030", "config.rpc.port=10130"),
    ("config.membership.hand_over_timeout=5000", "terminationGracePeriodSeconds=20"),
    ("config.queue_agent.controller.enable_automatic_trimming=true", "config.trimming=observe"),
    ("networkPolicy.enabled=true", "networkPolicy.egress.enabled=true", "networkPolicy.egress.proxyPorts={80,8001}"),
    ("podDisruptionBudget.maxUnavailable=50%", "replicas=2"),
    ("probes.liveness.periodSeconds=3", "probes.startup.failureThreshold=100"),
    ("spread=hard",),
    (
        "topologySpreadConstraints[0].maxSkew=1",
        "topologySpreadConstraints[0].topologyKey=kubernetes.io/hostname",
        "topologySpreadConstraints[0].whenUnsatisfiable=ScheduleAnyway",
    ),
    ("monitor.kind=PodMonitor", "rules.alerts.ConsumerLagTooOld.threshold=5"),
    ("image.tag=other", "image.pullPolicy=Always"),
    ("service.type=NodePort",),
)


def check_admitted(client: Client, *options: str | Path) -> None:
    """The API server would take every object, and in a restricted namespace nobody is warned."""
    remove(client)
    made = client.helm("template", RELEASE, CHART, "--kube-version", VERSION, *options)
    command = ("apply", "--server-side", "--dry-run=server", "--filename", "-")
    done = client.run("kubectl", "--warnings-as-errors", *command, given=made)
    assert "serverside-applied" in done


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_every_file_of_values_is_admitted(client: Client, file: Path) -> None:
    check_admitted(client, "--values", file)


@pytest.mark.parametrize("settings", SETTINGS, ids=",".join)
def test_every_setting_is_admitted(client: Client, settings: tuple[str, ...]) -> None:
    check_admitted(client, "--values", VALUES, *(option for one in settings for option in ("--set", one)))


def test_admission_is_real(client: Client) -> None:
    """What is not confined is refused in this namespace: else the tests above would say nothing."""
    with pytest.raises(CommandFailedError, match="would violate PodSecurity"):
        check_admitted(client, "--values", VALUES, "--set", "podSecurityContext.runAsNonRoot=false")
