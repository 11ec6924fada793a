"""What pages tell readers to type works, on what `make run` starts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.console_blocks import blocks
from tests.e2e.playground import Playground, running
from tests.unit.test_docs import PAGES, ROOT

RUN: Final = [page for page in PAGES if any(block.verb.startswith("run") for block in blocks(page))]

_STATE: Final = "queue-agent init-state --proxy $YT_PROXY"
_SCHEMA: Final = (
    '{dynamic=%true; schema=[{name=data;type=string};{name="$timestamp";type=uint64};'
    '{name="$cumulative_data_weight";type=int64}]}'
)


def _queue(path: str) -> str:
    return f"yt create table {path} --recursive --attributes '{_SCHEMA}' && yt mount-table {path} --sync"


_COMMENTS: Final = "{dynamic=%true; schema=[{name=topic;type=string;sort_order=ascending};{name=user;type=string}]}"

_REPORT: Final = "trap 'echo \"failed: $BASH_COMMAND\" >&2' ERR"
PREPARED: Final[Mapping[str, str]] = {
    "docs/access.md": _STATE,
    "docs/choosing-policies.md": _queue("//home/app/events"),
    "docs/local-cluster.md": "yt create map_node //home/private",
    "docs/query-language.md": (
        f"yt create table //home/comments --attributes '{_COMMENTS}' && yt mount-table //home/comments --sync"
    ),
    "docs/running.md": (f"{_STATE}; {_queue('//home/app/queue')}; yt create map_node //home/app/events_by_hour"),
    "docs/static-exports.md": _queue("//home/app/events"),
    "docs/trimming.md": f"{_STATE}; {_queue('//tmp/q')}",
    "docs/verdicts.md": f"{_STATE}; yt create queue_consumer //home/c",
}
"""What the reader of a page already has: commands that make it."""


@pytest.fixture
def playground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    with running(tmp_path_factory.mktemp("playground"), "--demo") as started:
        yield started


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_of_a_page_run(page: Path, playground: Playground, tmp_path: Path) -> None:
    script = "\n".join(block.script() for block in blocks(page) if block.verb.startswith("run"))
    prepared = PREPARED.get(str(page.relative_to(ROOT)), "")
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", f"{_REPORT}\n{prepared}\n{_here(script, playground)}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=_environment(playground, tmp_path),
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


def _here(script: str, playground: Playground) -> str:
    """A script with the addresses and the cluster of this playground."""
    for documented, here in {
        "http://127.0.0.1:8001": playground.clusters["pythia"],
        "127.0.0.1:8002": playground.clusters["hume"].removeprefix("http://"),
        "http://127.0.0.1:10030": playground.agent_url,
        "http://agent:10030": playground.agent_url,
        "primary://": "pythia://",
        "\nmake run": "",
    }.items():
        script = f"\n{script}".replace(documented, here)
    return script


def _environment(playground: Playground, home: Path) -> dict[str, str]:
    aliases = "".join(f'{name}="{url}";' for name, url in playground.clusters.items())
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "USER": "bob",
        "YT_PROXY": playground.clusters["pythia"],
        "YT_PROXY_URL_ALIASING_CONFIG": f"{{{aliases}}}",
        "QUEUE_AGENT_ADDRESS": playground.agent_url,
    }
