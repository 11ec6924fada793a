"""What is in a Kubernetes before the chart comes: images, kinds of other operators, namespaces, a local cluster."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from deploy.kubernetes_tests.client import NAMESPACE, Client
from deploy.kubernetes_tests.images import IMAGE, Images
from deploy.kubernetes_tests.machine import Machine
from deploy.kubernetes_tests.node import METRICS_PORT, SANDBOX_IMAGE

USER: Final = 65532
_MANIFESTS: Final = Path(__file__).parent / "manifests"


def set_up(machine: Machine, client: Client, tools: Path) -> None:
    """Make all of it; returns when the local cluster is ready."""
    images = Images(tools, machine.state)
    images.build_sandbox()
    images.build(IMAGE)
    for name in (SANDBOX_IMAGE, IMAGE):
        _give(machine, images, name)
    for kind in sorted((tools / "crds").glob("*.yaml")):
        client.kubectl("apply", "--server-side", "--filename", str(kind))
    authority = b64encode((machine.state / "keys" / "ca.crt").read_bytes()).decode()
    facts = {"PORT": str(METRICS_PORT), "ADDRESS": machine.address, "AUTHORITY": authority}
    client.kubectl("apply", "--filename", "-", given=fill("metrics.yaml", facts), namespace="kube-system")
    for name in (NAMESPACE, "monitoring"):
        client.kubectl("create", "namespace", name)
    # Enforced for pods; one is warned of what would make such pods.
    modes = (f"pod-security.kubernetes.io/{mode}=restricted" for mode in ("enforce", "warn"))
    client.kubectl("label", "namespace", NAMESPACE, *modes)
    client.kubectl("create", "secret", "generic", "queue-agent-token", "--from-literal=YT_TOKEN=agenttoken")
    data = machine.state / "cluster"
    data.mkdir()
    os.chown(data, USER, USER)
    manifest = fill("ytsaurus.yaml", {"DATA": str(data)})
    client.kubectl("apply", "--filename", "-", given=manifest, namespace="ytsaurus")
    client.kubectl("rollout", "status", "deployment/ytsaurus", "--timeout=3m", namespace="ytsaurus")


def load_image(machine: Machine, tools: Path, name: str, *options: str) -> None:
    """Build an image with options of buildah, and give it to the node."""
    images = Images(tools, machine.state)
    images.build(name, *options)
    _give(machine, images, name)


def _give(machine: Machine, images: Images, name: str) -> None:
    archive = images.save(name)
    machine.import_image(archive)
    archive.unlink()


def fill(manifest: str, facts: Mapping[str, str]) -> str:
    """A manifest with facts in place of their names."""
    text = (_MANIFESTS / manifest).read_text()
    for name, value in facts.items():
        text = text.replace(name, value)
    return text
