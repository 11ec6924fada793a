"""Known vulnerabilities of what comes with an installation, and how much of it could be looked up."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.release.errors import ReleaseError


@dataclass(frozen=True, slots=True)
class Audit:
    """What a database of advisories says."""

    looked_up: Sequence[str]
    """`name version` of each package that it was asked about, and knows."""

    not_looked_up: Sequence[str]
    """Of these nothing is known, neither good nor bad."""

    @property
    def sentence(self) -> str:
        """For people."""
        if not self.looked_up:
            return f"audit: NOT DONE. No database knows any of the {len(self.not_looked_up)} packages; see audit.json"
        return (
            f"audit: no known vulnerability in {len(self.looked_up)} packages; "
            f"{len(self.not_looked_up)} could not be looked up"
        )

    def to_json(self) -> str:
        """File of the release."""
        return json.dumps({"looked_up": self.looked_up, "not_looked_up": self.not_looked_up}, indent=2) + "\n"


def audit(tools: Path, environment: Path) -> Audit:
    """Ask for each package of an environment.

    Raises:
        ReleaseError: a package has a known vulnerability.
    """
    [packages] = environment.glob("lib/python*/site-packages")
    done = subprocess.run(
        [str(tools / "pip-audit"), "--path", str(packages), "--format", "json", "--progress-spinner", "off"],
        check=False,  # 1 if there are vulnerabilities
        capture_output=True,
        text=True,
    )
    if not done.stdout.strip():
        raise ReleaseError(f"pip-audit has failed:\n{done.stderr}")
    return judged(json.loads(done.stdout)["dependencies"])


def judged(dependencies: Sequence[Mapping[str, Any]]) -> Audit:
    """What pip-audit found; ReleaseError if that is a vulnerability."""
    found = [
        f"{one['name']} {one['version']}: {vulnerability['id']}, "
        f"fixed in {', '.join(vulnerability['fix_versions']) or 'no version'}"
        for one in dependencies
        for vulnerability in one.get("vulns", ())
    ]
    if found:
        raise ReleaseError("Packages have known vulnerabilities. Pin other versions (make lock):\n" + "\n".join(found))
    return Audit(
        [f"{one['name']} {one['version']}" for one in dependencies if "skip_reason" not in one],
        [one["name"] for one in dependencies if "skip_reason" in one],
    )
