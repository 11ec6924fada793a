"""What stops a release, and what is written of one."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from deploy.release.audit import judged
from deploy.release.bill import libraries, licences_page
from deploy.release.builds import CHART, DISTRIBUTIONS, Commit, build_chart, the_same
from deploy.release.checks import check_versions
from deploy.release.errors import ReleaseError

ROOT = Path(__file__).parents[2]


def component(name: str, *licences: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "version": "1.0", "licenses": list(licences)}


def test_a_known_vulnerability_stops_a_release() -> None:
    with pytest.raises(ReleaseError, match=r"h11 0\.15\.0: PYSEC-1, fixed in 0\.16\.0"):
        judged([{"name": "h11", "version": "0.15.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["0.16.0"]}]}])


def test_packages_that_nobody_knows_are_told_apart_from_those_without_vulnerabilities() -> None:
    audit = judged([{"name": "h11", "version": "0.16.0", "vulns": []}, {"name": "ours", "skip_reason": "not found"}])
    assert (audit.looked_up, audit.not_looked_up) == (["h11 0.16.0"], ["ours"])
    assert "1 could not be looked up" in audit.sentence


def test_an_audit_in_which_nothing_was_looked_up_does_not_sound_like_a_good_one() -> None:
    assert "NOT DONE" in judged([{"name": "h11", "skip_reason": "not found"}]).sentence


@pytest.mark.parametrize("licence", ["GPL-3.0-only", "AGPL-3.0-or-later", "GNU General Public License v2 (GPLv2)"])
def test_a_licence_that_does_not_fit_stops_a_release(licence: str) -> None:
    with pytest.raises(ReleaseError, match="does not fit"):
        licences_page([component("one", {"license": {"name": licence}})])


def test_a_component_without_a_licence_stops_a_release() -> None:
    with pytest.raises(ReleaseError, match="No licence is known of one"):
        licences_page([component("one")])


@pytest.mark.parametrize("licence", [{"expression": "LGPL-3.0-only"}, {"license": {"id": "MIT"}}])
def test_other_licences_are_listed(licence: dict[str, Any]) -> None:
    [name] = licence.values()
    assert f"| one | 1.0 | {name if isinstance(name, str) else name['id']} |" in licences_page(
        [component("one", licence)]
    )


def test_libraries_of_the_console_are_components() -> None:
    lock = json.loads((ROOT / "packaging/console/package-lock.json").read_text())
    assert {one["name"] for one in libraries(lock)} == {"htm", "preact", "uplot"}


def test_versions_of_distributions_and_chart_agree() -> None:
    assert check_versions(ROOT)


def test_versions_that_differ_stop_a_release(tmp_path: Path) -> None:
    for file in (*(f"{folder}/pyproject.toml" for folder in DISTRIBUTIONS), f"{CHART}/Chart.yaml"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_bytes((ROOT / file).read_bytes())
    project = tmp_path / "pyproject.toml"
    project.write_text(project.read_text().replace('\nversion = "', '\nversion = "9', 1))
    with pytest.raises(ReleaseError, match="Versions differ"):
        check_versions(tmp_path)


def test_builds_that_differ_stop_a_release(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same").write_text("same")
        (tmp_path / name / "other").write_text(name)
    with pytest.raises(ReleaseError, match="differ in other"):
        the_same(tmp_path / "first", tmp_path / "second")


def test_a_chart_has_the_commits_time_and_no_values_of_tests(tmp_path: Path) -> None:
    build_chart(Commit(ROOT, "0" * 40, 1_700_000_000), ROOT, "1.2.3", tmp_path)
    listed = subprocess.run(
        ["tar", "--list", "--verbose", "--full-time", "--utc", "--file", str(tmp_path / "queue-agent-1.2.3.tgz")],
        check=True,
        capture_output=True,
        text=True,
    )
    lines = listed.stdout.splitlines()
    assert all("2023-11-14 22:13:20" in line for line in lines)
    names = {line.split()[-1] for line in lines}
    assert "queue-agent/Chart.yaml" in names
    assert not [name for name in names if name.startswith("queue-agent/ci/")]


def test_files_that_differ_from_the_commit_stop_a_release(tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    (tmp_path / "file").write_text("one")
    subprocess.run([*git, "add", "file"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--message", "one"], check=True)
    assert Commit.checked_out(tmp_path).id
    (tmp_path / "file").write_text("two")
    with pytest.raises(ReleaseError, match="Files differ"):
        Commit.checked_out(tmp_path)
