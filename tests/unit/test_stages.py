"""Stages of CI: all of them run, each test that fails gets a second try, and what failed is named."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
TESTS: Final = """
from pathlib import Path

import pytest

COUNTS = Path(__file__).parent

def runs(name):
    path = COUNTS / name
    path.write_text(path.read_text() + "." if path.exists() else ".")
    return len(path.read_text())

def test_right(): assert runs("right") == 1

@pytest.mark.parametrize("least", [0], ids=["[-0"])
def test_wrong(least): assert runs("wrong") < least

class Those:
    def test_unlucky(self): assert runs("unlucky") == 2
"""

MAKE: Final = """#!/bin/sh
echo "$1" >> asked
[ "$1" = "$KILLER" ] && kill -9 "$(cut -d " " -f 4 "/proc/$PPID/stat")"  # the shell that runs stages beside others
[ "$1" = "$BROKEN" ] || exit 0
echo "failed t.py::$1" > "$REPORTS/$1.outcomes"
exit 2
"""


BARE: Final = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}
"""Of the plugins, only the one that is needed: it starts in half the time."""


def run_stage(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_them.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\npython_classes = Those\n")
    return subprocess.run(
        [sys.executable, "-m", "tests.once_more", "some", "-q", f"--rootdir={folder}", str(folder), *arguments],
        cwd=ROOT,
        env={**os.environ, **BARE, "REPORTS": str(folder / "reports")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("workers", ["0", "2"])
def test_only_tests_that_failed_run_again_and_those_that_fail_twice_are_failures(tmp_path: Path, workers: str) -> None:
    ended = run_stage(tmp_path, "--numprocesses", workers)
    assert ended.returncode == pytest.ExitCode.TESTS_FAILED, ended.stdout
    reports = tmp_path / "reports"
    wrong, unlucky = (reports / "some.outcomes").read_text().splitlines()
    assert wrong.startswith("failed test_them.py::test_wrong[[-0]: ") and "assert 2 < 0" in wrong
    assert unlucky.startswith("flaky test_them.py::Those::test_unlucky: ") and "assert 1 == 2" in unlucky
    assert {path.name for path in reports.glob("*.xml")} == {"some.xml", "some-again.xml"}
    assert [(tmp_path / name).read_text() for name in ("right", "wrong", "unlucky")] == [".", "..", ".."]


def test_a_stage_passes_whose_tests_pass_alone(tmp_path: Path) -> None:
    ended = run_stage(tmp_path, "--deselect", "test_them.py::test_wrong[[-0]")
    assert ended.returncode == 0, ended.stdout
    [line] = (tmp_path / "reports" / "some.outcomes").read_text().splitlines()
    assert line.startswith("flaky test_them.py::Those::test_unlucky: ")


def test_processes_that_do_not_find_the_same_tests_are_told_like_a_flaky_test(tmp_path: Path) -> None:
    here = 'import os\nimport pytest\nWORKER = os.environ.get("PYTEST_XDIST_WORKER")\n'
    (tmp_path / "test_here.py").write_text(
        f'{here}@pytest.mark.parametrize("worker", [WORKER])\ndef test_it(worker): pass\n'
    )
    ended = run_stage(tmp_path, "--numprocesses", "2", "--deselect", "test_them.py")
    assert ended.returncode == pytest.ExitCode.OK, ended.stdout
    [told] = (tmp_path / "reports" / "some.outcomes").read_text().splitlines()
    assert told.startswith("flaky gw")


def test_what_cannot_be_imported_fails(tmp_path: Path) -> None:
    (tmp_path / "test_broken.py").write_text("import nothing_of_this_name")
    ended = run_stage(tmp_path)
    assert ended.returncode != 0
    assert "test_broken.py" in ended.stdout


def test_no_test_at_all_is_no_success(tmp_path: Path) -> None:
    assert run_stage(tmp_path, "-k", "nothing").returncode == pytest.ExitCode.NO_TESTS_COLLECTED


class Ci:
    """`.ci/run` over targets that do nothing but say that they were asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.reports = folder / "reports"
        (folder / ".ci").mkdir()
        shutil.copy(ROOT / ".ci" / "run", folder / ".ci" / "run")
        self._bin = folder / "bin"
        for directory in (self._bin, folder / "kit", self.reports):
            directory.mkdir()
        (self._bin / "make").write_text(MAKE)
        (self._bin / "make").chmod(0o755)

    def run(self, *, broken: str = "", killer: str = "") -> tuple[int, list[str]]:
        """The exit code and what was said if a target fails, or kills what asked for it."""
        (self._folder / "asked").unlink(missing_ok=True)
        ended = subprocess.run(
            [self._folder / ".ci" / "run"],
            env={
                "PATH": f"{self._bin}:{os.environ['PATH']}",
                "UI_KIT_DIR": str(self._folder / "kit"),
                "REPORTS": str(self.reports),
                "BROKEN": broken,
                "KILLER": killer,
            },
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        return ended.returncode, ended.stdout.splitlines()

    @property
    def asked(self) -> list[str]:
        """Targets that were asked for."""
        return (self._folder / "asked").read_text().splitlines()


def test_every_stage_runs_whatever_became_of_the_others(tmp_path: Path) -> None:
    ci = Ci(tmp_path)
    (ci.reports / "mine.txt").write_text("kept")
    (ci.reports / "old.outcomes").write_text("failed of.another::run\n")
    code, said = ci.run()
    stages = ci.asked
    assert code == 0
    assert (ci.reports / "mine.txt").exists(), "what CI did not make is not its to remove"
    assert not (ci.reports / "old.outcomes").exists()
    assert sorted(line.split()[:3] for line in said if line.startswith("stage ")) == [
        ["stage", one, "passed"] for one in sorted(stages)
    ]
    assert stages[0] == "test"
    for broken in stages:
        code, said = ci.run(broken=broken)
        assert code == 1
        assert sorted(ci.asked) == sorted(stages)
        outcomes = {line.split()[1]: line.split()[2] for line in said if line.startswith("stage ")}
        assert outcomes == {one: "failed" if one == broken else "passed" for one in stages}
        assert said[-1] == f"failed t.py::{broken}"


def test_stages_that_nobody_has_run_to_the_end_are_no_success(tmp_path: Path) -> None:
    code, said = Ci(tmp_path).run(killer="check-alerts")
    assert code == 1
    assert not any("check-alerts" in line or "failed" in line for line in said if line.startswith("stage "))


SUBMAKE: Final = """#!/bin/sh
echo "$*" >> "$ASKED"
case "$*" in *"$BROKEN") exit 2 ;; esac
"""


@pytest.mark.parametrize("broken", ["check coverage", "test-rest", "nothing"])
def test_make_test_does_all_of_it_and_fails_if_any_of_it_does(tmp_path: Path, broken: str) -> None:
    make, asked = tmp_path / "make", tmp_path / "asked"
    make.write_text(SUBMAKE)
    make.chmod(0o755)
    ended = subprocess.run(
        ["make", "--old-file", ".venv/dev.installed", "test", f"MAKE={make}"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "ASKED": str(asked), "BROKEN": broken},
        check=False,
    )
    assert (ended.returncode == 0) == (broken == "nothing")
    linters, rest = asked.read_text().splitlines()
    assert linters.endswith(" check coverage")
    assert rest.endswith(" test-rest")
