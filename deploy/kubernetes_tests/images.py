"""Images without a registry: a base of Debian's packages, and what the Dockerfile makes of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from deploy.image_tests.dockerfile import DEFAULT_PATH, find_base, parse
from deploy.kubernetes_tests.machine import CHECKOUT
from deploy.kubernetes_tests.node import SANDBOX_IMAGE

IMAGE: Final = "docker.io/library/yt-queue-agent:0.1.0"
_CERTIFICATES: Final = Path("/etc/ssl/certs/ca-certificates.crt")
_LEFT_OUT: Final = ("usr/share/doc", "usr/share/man", "usr/share/locale", "var/cache/apt/*.bin", "*.deb")
_LENT: Final = "/run/secrets/ca"


class Images:
    """Builds with buildah, whose layers stay in a folder from run to run.

    Args:
        tools: folder of `deploy/install-tools.sh`, with the root of Debian in it.
        folder: for archives.
    """

    def __init__(self, tools: Path, folder: Path) -> None:
        self._root = tools / "root"
        self._storage = tools / "images"
        self._folder = folder

    def build_base(self) -> str:
        """The image the Dockerfile begins with, out of Debian's root, unless it is there; returns its name."""
        name = find_base(parse((CHECKOUT / "Dockerfile").read_text()))
        full = f"docker.io/library/{name}"
        made = self._storage / "base.made"
        wanted = f"{name} {_LEFT_OUT} {(self._root.parent / 'root.made').read_text()}"
        if not made.exists() or made.read_text() != wanted:
            container = self._buildah("from", "scratch").strip()
            archive = self._folder / "root.tar"
            left_out = [f"--exclude=./{path}" for path in _LEFT_OUT]
            subprocess.run(["tar", "-C", self._root, *left_out, "-cf", archive, "."], check=True)
            self._buildah("add", container, str(archive), "/")
            self._buildah("config", "--env", f"PATH={DEFAULT_PATH}", "--cmd", "python3", container)
            self._buildah("commit", "--rm", "--quiet", container, full)
            archive.unlink()
            made.write_text(wanted)
        return full

    def build(self, name: str, *options: str) -> None:
        """Follow the Dockerfile as it is; how this machine reaches its indexes is lent to it."""
        self.build_base()
        lent = self._folder / "lent"
        lent.mkdir(exist_ok=True)
        secrets = []
        if _CERTIFICATES.exists():
            (lent / "pip.conf").write_text(_pip_settings())
            (lent / "npmrc").write_text(f"cafile={_LENT}\n")
            secrets = [f"--secret=id=pip,src={lent}/pip.conf", f"--secret=id=npm,src={lent}/npmrc"]
            secrets.append(f"--secret=id=ca,src={_CERTIFICATES}")
        how = ["--isolation=chroot", "--network=host", "--pull-never", "--layers", "--format=docker"]
        self._buildah("bud", *how, *secrets, *options, "--tag", name, str(CHECKOUT))

    def build_sandbox(self) -> None:
        """What holds a pod's namespaces."""
        program = shutil.which("catatonit")
        assert program, "catatonit is not in PATH: run make check-kubernetes"
        container = self._buildah("from", "scratch").strip()
        self._buildah("copy", container, program, "/catatonit")
        self._buildah("config", "--entrypoint", '["/catatonit", "-P"]', container)
        self._buildah("commit", "--rm", "--quiet", "--format=docker", container, SANDBOX_IMAGE)

    def save(self, name: str) -> Path:
        """An archive of an image."""
        archive = self._folder / f"{name.rpartition('/')[2].replace(':', '-')}.tar"
        archive.unlink(missing_ok=True)
        self._buildah("push", "--quiet", name, f"docker-archive:{archive}:{name}")
        return archive

    def _buildah(self, *command: str) -> str:
        self._storage.mkdir(parents=True, exist_ok=True)
        where = ["--root", f"{self._storage}/layers", "--runroot", f"{self._storage}/run", "--storage-driver=overlay"]
        # It mounts its layers: here they are gone with it.
        done = subprocess.run(
            ["unshare", "--mount", "buildah", *where, *command],
            check=False,
            capture_output=True,
            text=True,
            env=os.environ | {"BUILDAH_ISOLATION": "chroot"},
        )
        if done.returncode:
            raise RuntimeError(f"buildah {command[0]} failed: {done.stdout[-4000:]}{done.stderr[-4000:]}")
        return done.stdout


def _pip_settings() -> str:
    lines = ["[global]", f"cert = {_LENT}"]
    if index := os.environ.get("PIP_INDEX_URL"):
        lines.append(f"index-url = {index}")
    return "\n".join(lines) + "\n"
