"""The chart and the programs that judge it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import yaml

CHART: Final = Path(__file__).parent.parent / "queue-agent"
KUBERNETES: Final = ("1.27.0", "1.37.0")
"""The oldest version the chart allows, and the newest there are schemas of."""

RELEASE: Final = "qa"
NAMESPACE: Final = "yt"


def tools() -> Path:
    """Folder of `deploy/install-tools.sh`, whose `bin` is in PATH."""
    found = shutil.which("kubeconform")
    assert found, "kubeconform is not in PATH: run make check-chart"
    return Path(found).parent.parent


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    # helm looks for plugins and repositories; there shall be none.
    environment = {**os.environ, "HELM_CACHE_HOME": "/nonexistent", "HELM_CONFIG_HOME": "/nonexistent"}
    return subprocess.run(command, check=False, capture_output=True, text=True, env=environment)


def template(values: Path, version: str = KUBERNETES[-1], *options: str) -> subprocess.CompletedProcess[str]:
    """What `helm template` makes of a file of values."""
    release = ("helm", "template", RELEASE, CHART, "--namespace", NAMESPACE)
    return run(*release, "--values", values, "--kube-version", version, *options)


def rendered(values: Path) -> list[dict[str, Any]]:
    """Objects of the chart."""
    made = template(values)
    assert made.returncode == 0, made.stderr
    return [document for document in yaml.safe_load_all(made.stdout) if document]
