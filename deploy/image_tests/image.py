"""An image without an engine: the Dockerfile's steps in a copy of a minimal root, and processes in what comes of it.

The base image is stood in for by a root that debootstrap makes, with the same release of Debian and the same minor
version of Python.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from deploy.image_tests.dockerfile import NOTHING, Copy, Stage, parse

CHECKOUT: Final = Path(__file__).parents[2]

_FROM_HOST: Final = ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")
_OF_NETWORK: Final = ("http_proxy", "https_proxy", "no_proxy", "ssl_cert_file", "node_extra_ca_certs")
_CONFINED: Final = ("--clear-groups", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all")


class Image:
    """A stage that has been built.

    Args:
        root: its files.
        stage: what else is known of it.
    """

    def __init__(self, root: Path, stage: Stage) -> None:
        self.root = root
        self.stage = stage

    def start(
        self,
        command: Sequence[str],
        mounts: Mapping[str, Path] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[str]:
        """Start a process as the image's user, without a capability; only /tmp can be written to, and what is mounted.

        Args:
            command: all of it, the entry point included.
            mounts: directories of this machine by where they are seen; read-only.
            environment: in addition to the image's.
        """
        uid, _, gid = self.stage.user.partition(":")
        assert int(uid) > 0
        assert int(gid) > 0
        root = shlex.quote(str(self.root))
        script = [f"mount --bind {root} {root}"]
        for path, directory in (mounts or {}).items():
            (self.root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
            target = shlex.quote(f"{self.root}{path}")
            script += [f"mount --bind {shlex.quote(str(directory))} {target}", f"mount -o remount,bind,ro {target}"]
        script += [
            f"mount -o remount,bind,ro {root}",
            f"mount -t tmpfs -o mode=1777 tmpfs {root}/tmp",
            f"mount -t proc proc {root}/proc",
            f"mount --bind /dev {root}/dev",
        ]
        variables = {"HOME": "/tmp", **self.stage.environment, **(environment or {})}
        inside = shlex.join(
            [
                *("setpriv", f"--reuid={uid}", f"--regid={gid}", *_CONFINED),
                *("env", "-i", *(f"{name}={value}" for name, value in variables.items())),
                *("sh", "-c", f'cd {shlex.quote(self.stage.directory)} && exec "$@"', "sh", *command),
            ]
        )
        script.append(f"exec chroot {root} {inside}")
        return subprocess.Popen(
            ["unshare", "--mount", "--propagation=private", "sh", "-ec", "\n".join(script)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(
        self,
        command: Sequence[str],
        mounts: Mapping[str, Path] | None = None,
        environment: Mapping[str, str] | None = None,
        timeout: float = 60,
    ) -> tuple[int, str]:
        """Exit code and output of a process that ends; see `start`."""
        process = self.start(command, mounts, environment)
        try:
            output, _ = process.communicate(timeout=timeout)
        finally:
            process.kill()
        return process.returncode, output


def build(base: Path, folder: Path) -> dict[str, Image]:
    """Do what the Dockerfile says, and return its stages by name.

    Args:
        base: in place of the images it begins with.
        folder: for roots.
    """
    images: dict[str, Image] = {}
    for name, stage in parse((CHECKOUT / "Dockerfile").read_text()).items():
        if stage.base in images and not stage.steps:
            images[name] = Image(images[stage.base].root, stage)
            continue
        root = folder / name
        if stage.base == NOTHING:
            root.mkdir()
        else:
            origin = images[stage.base].root if stage.base in images else base
            subprocess.run(["cp", "--archive", "--reflink=auto", origin, root], check=True)
        for step, environment, directory in stage.steps:
            (root / directory.lstrip("/")).mkdir(parents=True, exist_ok=True)
            if isinstance(step, Copy):
                source_root = images[step.stage].root if step.stage else CHECKOUT
                _copy(step, source_root, root, directory)
            else:
                _run(step.command, root, environment, directory)
        images[name] = Image(root, stage)
    return images


def _copy(step: Copy, source_root: Path, root: Path, directory: str) -> None:
    target = root / str(PurePosixPath(directory) / step.target).lstrip("/")
    for source in step.sources:
        path = source_root / source.lstrip("/")
        if path.is_dir() and step.stage:
            target.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "--archive", "--reflink=auto", f"{path}/.", target], check=True)
        elif path.is_dir():
            shutil.copytree(path, target, symlinks=True, dirs_exist_ok=True, ignore=_bytecode)
        elif step.target.endswith("/"):
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target / path.name)
        else:
            shutil.copy2(path, target)


def _bytecode(directory: str, names: list[str]) -> set[str]:
    """What .dockerignore keeps out, and the build makes again."""
    return {
        name for name in names if name == "__pycache__" or (name == "vendor" and directory.endswith("console/static"))
    }


def _run(command: str, root: Path, environment: Mapping[str, str], directory: str) -> None:
    # How this machine reaches its package index is no part of the image: it is lent for the step, and taken away.
    lent = [Path(path) for path in _FROM_HOST if Path(path).exists()]
    hidden = {path: (root / path.relative_to("/")) for path in lent}
    wheels = Path(os.environ.get("PIP_FIND_LINKS", "/nonexistent"))
    script = [f"mount -t proc proc {shlex.quote(str(root / 'proc'))}"]
    made = []
    for path, target in hidden.items():
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()
            made.append(target)
        script.append(f"mount --bind {shlex.quote(str(path.resolve()))} {shlex.quote(str(target.resolve()))}")
    if wheels.is_dir():
        inside = root / str(wheels).lstrip("/")
        if not inside.exists():
            inside.mkdir(parents=True)
            made.append(inside)
        script.append(f"mount --bind {shlex.quote(str(wheels))} {shlex.quote(str(inside))}")
    index = {
        name: value
        for name, value in os.environ.items()
        if name.lower().startswith(("pip_", "npm_config_")) or name.lower() in _OF_NETWORK
    }
    variables = [f"{name}={value}" for name, value in {"HOME": "/root", **index, **environment}.items()]
    inside_root = ["env", "-i", *variables, "/bin/sh", "-c", f"cd {shlex.quote(directory)} && {command}"]
    script.append(f"mount --bind /dev {shlex.quote(str(root / 'dev'))}")
    script.append(f"exec chroot {shlex.quote(str(root))} {shlex.join(inside_root)}")
    done = subprocess.run(
        ["unshare", "--mount", "--propagation=private", "sh", "-ec", "\n".join(script)],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    for path in reversed(made):
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink()
    assert done.returncode == 0, f"RUN {command}\n{done.stdout}{done.stderr}"
