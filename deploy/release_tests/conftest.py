"""The release that was made, installed where there is no checkout."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


class Installed:
    """An environment, and a folder to work in."""

    def __init__(self, environment: Path, folder: Path) -> None:
        self.bin = environment / "bin"
        self.folder = folder

    def command(self, name: str, *arguments: str) -> list[str]:
        return [str(self.bin / name), *arguments]

    def run(self, name: str, *arguments: str, timeout: float = 300) -> str:
        """Standard output; fails the test with the error if there is one."""
        done = subprocess.run(
            self.command(name, *arguments),
            cwd=self.folder,
            env=self.variables(),
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )
        assert done.returncode == 0, f"{name} {arguments}: {done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return done.stdout

    def variables(self) -> dict[str, str]:
        """Nothing in them leads to the checkout."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        return {**kept, "PATH": f"{self.bin}:{os.environ['PATH']}", "SPARK_LOCAL_IP": "127.0.0.1"}


def install(folder: Path, *wanted: str) -> Installed:
    uv = os.environ["UV"]
    environment, home = folder / "environment", folder / "home"
    home.mkdir()
    for command in (
        ["venv", "--quiet", str(environment)],
        ["pip", "install", "--quiet", "--python", str(environment), "-c", str(ROOT / "requirements-dev.txt"), *wanted],
    ):
        subprocess.run([uv, *command], check=True)
    return Installed(environment, home)


def wheel(name: str) -> str:
    """`NAME @ URL` needs the name with its extras before it."""
    [file] = Path(os.environ["RELEASE"]).glob(f"{name}-*.whl")
    return file.resolve().as_uri()


@pytest.fixture(scope="session")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Agent, local cluster and Spark's jobs."""
    return install(
        tmp_path_factory.mktemp("everything"),
        f"yt-queue-agent[spark] @ {wheel('yt_queue_agent')}",
        f"yt-local-cluster @ {wheel('yt_local_cluster')}",
        "pytest",
    )


@pytest.fixture(scope="session")
def cluster_alone(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The local cluster, and nothing of the agent."""
    return install(tmp_path_factory.mktemp("cluster"), f"yt-local-cluster @ {wheel('yt_local_cluster')}", "pytest")
