"""The local cluster alone: its own command, and its packages without those of the agent."""

from __future__ import annotations

import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.e2e.playground import SOURCES, connected, environment
from tests.waiting import LIMIT_SECONDS

FOREIGN: Final = ("queue_agent", "prometheus_client", "typer", "rich", "yaml", "h11")
"""What the agent needs, and its clusters do not."""

WITHOUT_FOREIGN: Final = f"""
import sys
for name in {FOREIGN!r}:
    sys.modules[name] = None  # an import of it raises ModuleNotFoundError
"""


@contextmanager
def yt_local(directory: Path, *options: str) -> Iterator[dict[str, str]]:
    """Run the command without what is the agent's; the parts of its ready line by their first word."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"{WITHOUT_FOREIGN}\nfrom yt_local.main import main\nsys.exit(main(sys.argv[1:]))",
            "--cluster=alone=0",
            *options,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=directory,
        env=environment(PYTHONPATH=str(SOURCES)),
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            readable, _, _ = select.select([process.stdout], [], [], LIMIT_SECONDS)
            line = process.stdout.readline() if readable else "nothing"
            match = re.fullmatch(r"ready: (.+)\n", line)
            assert match, line
            yield dict(part.split(" ", 1) for part in match[1].split(", "))
        finally:
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=LIMIT_SECONDS)
    assert (process.returncode, errors) == (0, "")


def test_clusters_are_served_without_the_agent_and_keep_their_data(tmp_path: Path) -> None:
    for _ in range(2):
        with (
            yt_local(tmp_path, f"--data-dir={tmp_path / 'data'}") as ready,
            connected(ready["alone"].split()[0]) as client,
        ):
            client.create("map_node", "//home/kept", ignore_existing=True, recursive=True)
            assert client.get("//home/@count") == 1
            assert client.list("//sys/clusters") == ["alone"]


def test_with_tokens_only_those_who_have_one_are_served(tmp_path: Path) -> None:
    with yt_local(tmp_path, "--require-token") as ready:
        url = f"{ready['alone'].split()[0]}/auth/whoami"
        with pytest.raises(HTTPError) as refused:
            urlopen(url, timeout=LIMIT_SECONDS)
        assert refused.value.code == 401
        refused.value.close()
        token = Path(ready["token"]).read_text().strip()
        with urlopen(Request(url, headers={"Authorization": f"OAuth {token}"}), timeout=LIMIT_SECONDS) as response:
            assert b'"root"' in response.read()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--cluster=no-port"], "--cluster takes NAME=HTTP_PORT"),
        (["--cluster=a=0", "--cluster=a=0"], "names 'a' twice"),
        (["--cluster=a=0", "--host=0.0.0.0"], "only with --require-token"),
        (["--cluster=a=0", "--data-dir=/dev/null/data"], "cannot"),
        (["--cluster=a=0", "--allowed-origin=no page"], "no page"),
    ],
)
def test_what_can_not_be_served_is_told_in_a_line(tmp_path: Path, options: list[str], said: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "yt_local.main", *options],
        cwd=tmp_path,
        env=environment(PYTHONPATH=str(SOURCES)),
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_SECONDS,
    )
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.startswith("error: ")
    assert said in run.stderr
    assert run.stderr.count("\n") == 1
