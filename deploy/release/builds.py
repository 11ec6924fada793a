"""Wheels, source distributions and the chart, made so that everybody who makes them gets the same bytes."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from deploy.release.errors import ReleaseError

DISTRIBUTIONS: Final = (".", "packaging/yt-local-cluster")
"""Folders with a `pyproject.toml`."""

CHART: Final = "helm/queue-agent"


@dataclass(frozen=True, slots=True)
class Commit:
    """What a release is made of."""

    repository: Path
    id: str
    time: int
    """When it was made, in seconds since 1970: the time of all that is built of it."""

    @classmethod
    def checked_out(cls, repository: Path) -> Self:
        """The present commit; ReleaseError if tracked files differ from it."""
        changed = _git(repository, "status", "--porcelain", "--untracked-files=no")
        if changed:
            raise ReleaseError(f"Files differ from the commit. Commit or revert them first:\n{changed}")
        return cls(
            repository, _git(repository, "rev-parse", "HEAD"), int(_git(repository, "log", "-1", "--format=%ct"))
        )

    def unpack(self, folder: Path, umask: int) -> None:
        """Put its files into a new folder, and nothing that git does not know."""
        folder.mkdir()
        archive = subprocess.run(
            ["git", "archive", "--format=tar", self.id], cwd=self.repository, check=True, capture_output=True
        )
        subprocess.run(
            ["tar", "--extract", "--no-same-permissions"], cwd=folder, input=archive.stdout, check=True, umask=umask
        )

    def environment(self) -> dict[str, str]:
        """For programs that write times into files."""
        return {**os.environ, "SOURCE_DATE_EPOCH": str(self.time), "TZ": "UTC"}


@dataclass(frozen=True, slots=True)
class Build:
    """One build: a checkout, and the files that were made of it."""

    checkout: Path
    files: Path


def build(commit: Commit, folder: Path, umask: int) -> Build:
    """Build all distributions in a new folder, which is the only thing that differs from other builds.

    Args:
        umask: of the files in the checkout; what is built must not depend on it.
    """
    checkout, files = folder / "checkout", folder / "files"
    folder.mkdir()
    files.mkdir()
    commit.unpack(checkout, umask)
    for distribution in DISTRIBUTIONS:
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "--directory", str(files)],
            cwd=checkout / distribution,
            env=commit.environment(),
            check=True,
            capture_output=True,
            text=True,
            umask=umask,
        )
    return Build(checkout, files)


def build_chart(commit: Commit, checkout: Path, version: str, files: Path) -> None:
    """Pack the chart as `helm package` does, with the commit's time instead of the present one."""
    packed = io.BytesIO()
    chart = checkout / CHART
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for file in sorted(
            path for path in chart.rglob("*") if path.is_file() and "ci" not in path.relative_to(chart).parts
        ):
            entry = tarfile.TarInfo(f"{chart.name}/{file.relative_to(chart).as_posix()}")
            entry.size, entry.mtime, entry.mode = file.stat().st_size, commit.time, 0o644
            with file.open("rb") as content:
                archive.addfile(entry, content)
    (files / f"{chart.name}-{version}.tgz").write_bytes(gzip.compress(packed.getvalue(), 9, mtime=0))


def the_same(first: Path, second: Path) -> None:
    """ReleaseError unless two folders have the same files with the same bytes."""
    ours, others = digests(first), digests(second)
    different = sorted(name for name in ours.keys() | others.keys() if ours.get(name) != others.get(name))
    if different:
        raise ReleaseError(
            f"Two builds of one commit differ in {', '.join(different)}. A release must be reproducible."
        )


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of each file, in hexadecimal digits, by name."""
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}


def _git(repository: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=repository, check=True, capture_output=True, text=True)
    return done.stdout.strip()
