"""kubectl and helm for one Kubernetes, and what tests ask of it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

CHART: Final = Path(__file__).parents[2] / "helm" / "queue-agent"
NAMESPACE: Final = "yt"
RELEASE: Final = "queue-agent"
VALUES: Final = Path(__file__).parent / "manifests" / "values.yaml"


class CommandFailedError(Exception):
    """A command ended with an exit code, and said why."""


class Client:
    """Talks to the API server as an administrator.

    Args:
        tools: folder of `deploy/install-tools.sh`.
        kubeconfig: of the administrator.
        state: folder for helm's files.
    """

    def __init__(self, tools: Path, kubeconfig: Path, state: Path) -> None:
        helm = {f"HELM_{name}_HOME": str(state / "helm") for name in ("CACHE", "CONFIG", "DATA")}
        path = f"{tools}/bin:{os.environ['PATH']}"
        self.environment = {**os.environ, **helm, "PATH": path, "KUBECONFIG": str(kubeconfig)}
        """In which both commands talk to this Kubernetes."""
        self.settings: tuple[str, ...] | None = None
        """Values of the last deployment; None after a reset, so that the next test deploys again."""

    def run(self, *command: str | Path, given: str | None = None) -> str:
        """Output of a command.

        Raises:
            CommandFailedError: it failed; with all it said.
        """
        done = subprocess.run(
            command, check=False, input=given, capture_output=True, text=True, env=self.environment, timeout=600
        )
        if done.returncode:
            raise CommandFailedError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
        return done.stdout

    def kubectl(self, *command: str, given: str | None = None, namespace: str = NAMESPACE) -> str:
        """What kubectl says in a namespace."""
        return self.run("kubectl", "--namespace", namespace, *command, given=given)

    def get(self, *what: str, namespace: str = NAMESPACE) -> Any:
        """Objects as the API has them."""
        return json.loads(self.kubectl("get", *what, "--output", "json", namespace=namespace))

    def helm(self, verb: str, *options: str | Path) -> str:
        """What helm says in the namespace of the release."""
        return self.run("helm", verb, "--namespace", NAMESPACE, *options)

    def deploy(self, *options: str | Path, chart: Path = CHART) -> str:
        """Install the release or upgrade it, and wait until it is ready."""
        how = ("--install", "--values", VALUES, "--wait", "--timeout", "3m")
        return self.helm("upgrade", *how, *options, RELEASE, chart)

    def agents(self) -> list[dict[str, Any]]:
        """The agents' pods, by name."""
        found = self.get("pods", "--selector", "app.kubernetes.io/component=agent")["items"]
        return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))

    def ready(self) -> list[str]:
        """Names of agents that are ready, in order, without those that are shutting down."""
        return [pod["metadata"]["name"] for pod in self.agents() if is_ready(pod)]

    def restarts(self) -> int:
        """How often containers of agents there are now were started again."""
        states = [state for pod in self.agents() for state in pod["status"].get("containerStatuses", ())]
        return sum(state["restartCount"] for state in states)


def is_ready(pod: dict[str, Any]) -> bool:
    """Whether a pod takes part in services."""
    if "deletionTimestamp" in pod["metadata"]:
        return False
    conditions = {each["type"]: each["status"] for each in pod["status"].get("conditions", ())}
    return conditions.get("Ready") == "True"


def eventually(check: Callable[[], object], seconds: float = 180.0) -> None:
    """Ask until it is true, or no assertion fails.

    Raises:
        AssertionError: it was not, in all the time.
    """
    end = time.monotonic() + seconds
    while True:
        try:
            found = check()
            assert found is None or found, found
        except (AssertionError, CommandFailedError):
            if time.monotonic() > end:
                raise
            time.sleep(0.3)
        else:
            return
