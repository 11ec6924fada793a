"""What comes with an installation: SBOM (CycloneDX), and the licences of all of it."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from deploy.release.builds import Build, Commit
from deploy.release.errors import ReleaseError

_EXTRAS: Final = "[otel]"
"""What the image has."""

_PINS: Final = "requirements-image.txt"
_LIBRARIES: Final = "packaging/console/package-lock.json"
_STRONG_COPYLEFT: Final = re.compile(r"\bA?GPL|General Public License(?! v?2.*exception)", re.IGNORECASE)
_LESSER: Final = re.compile(r"\bLGPL|Lesser General", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Bill:
    """Files of a release."""

    document: str
    """CycloneDX as JSON."""

    licences: str
    """A page with a table."""


def bill_of_materials(tools: Path, uv: Path, build: Build, version: str, environment: Path, commit: Commit) -> Bill:
    """Install the wheels as the image has them, and list what is there.

    Args:
        environment: folder for the new environment.

    Raises:
        ReleaseError: a component has no licence, or one that does not fit ours.
    """
    _install(uv, build, version, environment)
    listed = subprocess.run(
        [
            str(tools / "cyclonedx-py"),
            "environment",
            "--output-reproducible",
            "--short-PURLs",
            str(environment / "bin" / "python"),
        ],
        env=commit.environment(),
        check=True,
        capture_output=True,
        text=True,
    )
    document = json.loads(listed.stdout)
    declared = declared_licences(environment)
    components = [_without_files(_with_licence(one, declared)) for one in document["components"]]
    components += libraries(json.loads((build.checkout / _LIBRARIES).read_text()))
    components.sort(key=lambda one: (one["name"].lower(), one["version"]))
    document["components"] = components
    return Bill(json.dumps(document, indent=2) + "\n", licences_page(components))


def _install(uv: Path, build: Build, version: str, environment: Path) -> None:
    wheels = {file.name.partition("-")[0]: file for file in build.files.glob("*.whl")}
    subprocess.run([str(uv), "venv", "--quiet", str(environment)], check=True, capture_output=True, text=True)
    wanted = [
        f"yt-queue-agent{_EXTRAS} @ {wheels['yt_queue_agent'].as_uri()}",
        f"yt-local-cluster @ {wheels['yt_local_cluster'].as_uri()}",
    ]
    python = environment / "bin" / "python"
    subprocess.run(
        [
            str(uv),
            "pip",
            "install",
            "--quiet",
            "--python",
            str(python),
            "--constraints",
            str(build.checkout / _PINS),
            *wanted,
        ],
        check=True,
        capture_output=True,
        text=True,
    )


def declared_licences(environment: Path) -> dict[str, str]:
    """The field `License` of each package that has one, which is not always a name that CycloneDX knows."""
    [packages] = environment.glob("lib/python*/site-packages")
    found = importlib.metadata.distributions(path=[str(packages)])
    return {one.name: one.metadata["License"] for one in found if "License" in one.metadata}


def _with_licence(component: Mapping[str, Any], declared: Mapping[str, str]) -> Mapping[str, Any]:
    if component.get("licenses") or component["name"] not in declared:
        return component
    return {**component, "licenses": [{"license": {"name": declared[component["name"]]}}]}


def libraries(lock: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Components of the console's pages, from npm's lock file."""
    found: list[dict[str, Any]] = []
    for path, package in lock["packages"].items():
        name = path.removeprefix("node_modules/")
        if name:
            url = f"pkg:npm/{name}@{package['version']}"
            found.append(
                {
                    "bom-ref": url,
                    "licenses": [{"license": {"id": package["license"]}}],
                    "name": name,
                    "purl": url,
                    "type": "library",
                    "version": package["version"],
                }
            )
    return found


def licences_page(components: Sequence[Mapping[str, Any]]) -> str:
    """One row for each component; ReleaseError if one does not fit ours."""
    rows = [(one["name"], one["version"], sorted(set(_licences(one)))) for one in components]
    missing = [name for name, _, licences in rows if not licences]
    if missing:
        raise ReleaseError(f"No licence is known of {', '.join(missing)}. Look at their sources before you ship them.")
    refused = [f"{name} ({', '.join(licences)})" for name, _, licences in rows if any(map(_is_refused, licences))]
    if refused:
        raise ReleaseError(f"The licence does not fit Apache-2.0: {', '.join(refused)}. Do without these packages.")
    lines = [
        "# Licences",
        "",
        "What an installation has, as in `sbom.cdx.json`.",
        "",
        "| package | version | licence |",
        "| --- | --- | --- |",
    ]
    lines += [f"| {name} | {version} | {' or '.join(licences)} |" for name, version, licences in rows]
    return "\n".join(lines) + "\n"


def _licences(component: Mapping[str, Any]) -> Iterator[str]:
    for one in component.get("licenses", ()):
        licence = one.get("license", {})
        said = one.get("expression") or licence.get("id") or licence.get("name", "")
        said = " ".join(said.split())
        if said and len(said) < 100:  # some packages put the whole text there
            yield said.removeprefix("License :: OSI Approved :: ")
        elif said:
            yield f"{said[:60]}..."


def _is_refused(licence: str) -> bool:
    return bool(_STRONG_COPYLEFT.search(licence)) and not _LESSER.search(licence)


def _without_files(component: Mapping[str, Any]) -> dict[str, Any]:
    """Where wheels were on the machine that built them is nobody's business."""
    references = [one for one in component.get("externalReferences", ()) if not one["url"].startswith("file:")]
    return {**component, "externalReferences": references}
