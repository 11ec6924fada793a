"""The pytest plugin as other projects find it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import LIMIT_SECONDS

pytest_plugins = ["pytester"]

SOURCES = Path(__file__).parents[2]
PAGE = SOURCES / "docs" / "testing-with-the-local-cluster.md"
SNIPPET = re.compile(r"<!-- (\w+\.py) -->\n```python\n(.*?)```", re.DOTALL)
PLUGIN = ("-p", "yt_local.pytest_plugin", "-p", "no:looptime_plugin", "-p", "no:asyncio")
"""Where the package is installed, its entry point does the first; the others want to be configured."""


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(SOURCES), os.environ.get("PYTHONPATH", "")]))


@pytest.mark.slow
def test_the_examples_of_the_documentation_pass(pytester: pytest.Pytester) -> None:
    snippets = dict(SNIPPET.findall(PAGE.read_text()))
    assert set(snippets) == {"test_mover.py", "test_session.py"}
    for name, text in snippets.items():
        pytester.path.joinpath(name).write_text(text)
    result = pytester.runpytest_subprocess(*PLUGIN, "-W", "error", timeout=LIMIT_SECONDS)
    result.assert_outcomes(passed=sum(text.count("\ndef test_") for text in snippets.values()))


def test_a_project_that_does_not_use_the_plugin_does_not_pay_for_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_nothing_was_imported():
            assert "yt_local.pytest_plugin" in sys.modules
            assert not {"aiohttp", "yt", "pydantic", "yt_local.testing"} & set(sys.modules)
        """
    )
    pytester.runpytest_subprocess(*PLUGIN, "-W", "error", timeout=LIMIT_SECONDS).assert_outcomes(passed=1)


def test_the_plugin_can_be_turned_off(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(yt_cluster): pass")
    result = pytester.runpytest_subprocess("-p", "no:yt_local.pytest_plugin", timeout=LIMIT_SECONDS)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*fixture 'yt_cluster' not found*"])


def test_clusters_are_gone_after_the_test_that_failed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import threading

        def test_it(yt_client, yt_cluster):
            yt_cluster.faults.hang("exists")
            assert False

        def test_nothing_is_left():
            assert threading.enumerate() == [threading.main_thread()]
        """
    )
    pytester.runpytest_subprocess(*PLUGIN, "-W", "error", timeout=LIMIT_SECONDS).assert_outcomes(failed=1, passed=1)


def test_clusters_can_be_used_without_pytest() -> None:
    script = """
from yt_local.testing import local_clusters
import sys

with local_clusters("a") as clusters:
    clusters["a"].client.set("//tmp/x", 5)
    print(clusters["a"].client.get("//tmp/x"), "pytest" in sys.modules)
"""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert (result.stdout, result.stderr) == ("5 False\n", "")
