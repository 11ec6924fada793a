"""Where the files of a release come from: an in-toto statement with a SLSA predicate, and plain checksums."""

from __future__ import annotations

import hashlib
import json
import platform
from pathlib import Path
from typing import Final

from deploy.release.builds import Commit, digests

PINS: Final = (
    "requirements.txt",
    "requirements-image.txt",
    "requirements-uv.txt",
    "packaging/console/package-lock.json",
    "deploy/release/requirements.txt",
)
"""Files that decide which versions take part in a build, with hashes."""


def statement(commit: Commit, folder: Path, root: Path) -> str:
    """Of all files in a folder. It is not signed: whoever publishes a release signs it."""
    return (
        json.dumps(
            {
                "_type": "https://in-toto.io/Statement/v1",
                "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in digests(folder).items()],
                "predicateType": "https://slsa.dev/provenance/v1",
                "predicate": {
                    "buildDefinition": {
                        "buildType": "make release",
                        "externalParameters": {"commit": commit.id},
                        "internalParameters": {"python": platform.python_version(), "SOURCE_DATE_EPOCH": commit.time},
                        "resolvedDependencies": [
                            {"name": pin, "digest": {"sha256": hashlib.sha256((root / pin).read_bytes()).hexdigest()}}
                            for pin in PINS
                        ],
                    },
                    "runDetails": {"builder": {"id": "make release"}},
                },
            },
            indent=2,
        )
        + "\n"
    )


def checksums(folder: Path) -> str:
    """As `sha256sum --check` reads them."""
    return "".join(f"{digest}  {name}\n" for name, digest in digests(folder).items())
