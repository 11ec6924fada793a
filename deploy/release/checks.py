"""Whether versions agree, and others' checkers accept the distributions."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import yaml

from deploy.release.builds import CHART, DISTRIBUTIONS
from deploy.release.errors import ReleaseError


def check_versions(root: Path) -> str:
    """The version that distributions, chart and changelog agree on; ReleaseError if they do not."""
    versions = {
        f"{folder}/pyproject.toml": tomllib.loads((root / folder / "pyproject.toml").read_text())["project"]["version"]
        for folder in DISTRIBUTIONS
    }
    chart = yaml.safe_load((root / CHART / "Chart.yaml").read_text())
    versions |= {"Chart.yaml, version": chart["version"], "Chart.yaml, appVersion": chart["appVersion"]}
    [version, *others] = sorted(set(versions.values()))
    if others:
        said = "\n".join(f"  {place}: {value}" for place, value in versions.items())
        raise ReleaseError(f"Versions differ. Give all of them the same:\n{said}")
    return str(version)


def check_distributions(tools: Path, files: Path) -> None:
    """CalledProcessError if an index would refuse them, or a wheel has what does not belong there."""
    wheels = sorted(str(file) for file in files.glob("*.whl"))
    archives = sorted(str(file) for file in files.glob("*.tar.gz"))
    for command in (
        [str(tools / "twine"), "check", "--strict", *wheels, *archives],
        # W009: yt-local-cluster has two packages on purpose.
        [str(tools / "check-wheel-contents"), "--ignore", "W009", *wheels],
    ):
        subprocess.run(command, check=True, capture_output=True, text=True)
