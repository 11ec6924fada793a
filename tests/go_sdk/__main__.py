"""`make conformance-go`: the Go SDK's own integration tests on a local cluster, over HTTP and over RPC.

The tests are those of the published module. Only the start of a container with a cluster is replaced, by one that finds
the cluster that runs already (`init.go.txt`). `expected.toml` names each test that does not pass, with a reason; one
that fails without being there is run once more, alone, and is an error if it fails again.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.once_more import tell
from yt_local.thread import ClusterThread

MODULE: Final = "go.ytsaurus.tech/yt/go"
HERE: Final = Path(__file__).parent
PINNED: Final = HERE.parent / "go_client"
"""The module with the SDK's version and its hash in `go.mod` and `go.sum`."""

_SECONDS: Final = 600


def main() -> int:
    """Run all tests; 0 if none fails but those that are expected to."""
    known = tomllib.loads((HERE / "expected.toml").read_text())
    reasons = {test: group["reason"] for group in known["failing"] for test in group["tests"]}
    crashing, never = known["crashing"]["tests"], known["never_run"]["tests"]
    with tempfile.TemporaryDirectory() as directory:
        program = _build(Path(directory))
        with ClusterThread(["pythia"]) as cluster:
            address = cluster.address("pythia")
            outcomes = _run(program, address, skip=[*crashing, *never])
            for test in crashing:  # it ends the whole process
                outcomes |= {test: "fail", **_run(program, address, only=test)}
            reasons |= dict.fromkeys(crashing, known["crashing"]["reason"])
            first = _failed(outcomes) - reasons.keys()
            for test in sorted(first):
                outcomes |= _run(program, address, only=test)
    _print_table(outcomes)
    print(f"{len(never):3} not run: {known['never_run']['reason']}")
    _print_expected(outcomes, reasons)
    failed = _failed(outcomes) - reasons.keys()
    tell("conformance-go-sdk", failed=failed, flaky=first - failed)
    return 1 if failed or not outcomes else 0


def _build(directory: Path) -> Path:
    """The tests as a program, beside the files that they read."""
    subprocess.run(["go", "mod", "download", MODULE], cwd=PINNED, check=True)
    found = subprocess.run(
        ["go", "list", "-m", "-f", "{{.Dir}}", MODULE], cwd=PINNED, check=True, stdout=subprocess.PIPE, text=True
    )
    source = directory / "source"
    shutil.copytree(found.stdout.strip(), source)
    for path in [source, *source.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)  # the cache of modules is read-only
    shutil.copyfile(HERE / "init.go.txt", source / "dockertest" / "init.go")
    program = source / "yt" / "integration" / "integration.test"
    subprocess.run(["go", "test", "-c", "-o", str(program), "./yt/integration"], cwd=source, check=True)
    return program


def _run(program: Path, address: str, *, skip: Sequence[str] = (), only: str = "") -> dict[str, str]:
    """What became of each test that has no tests in it, by name."""
    command = ["go", "tool", "test2json", "-t", str(program), "-test.v=test2json", f"-test.timeout={_SECONDS}s"]
    command += [f"-test.skip={'|'.join(map(_pattern, skip))}"] if skip else []
    command += [f"-test.run={_pattern(only)}"] if only else []
    environment = {**os.environ, "YT_PROXY": address, "YT_ID": "pythia"}
    run = subprocess.run(
        command,
        cwd=program.parent,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=2 * _SECONDS,
    )
    outcomes = {}
    for line in run.stdout.splitlines():
        event = json.loads(line)
        if "Test" in event and event["Action"] in ("pass", "fail", "skip"):
            outcomes[event["Test"]] = event["Action"]
    return {test: outcome for test, outcome in outcomes.items() if not _has_tests(test, outcomes)}


def _pattern(tests: str) -> str:
    """As `go test` takes names: one pattern for each level, each name as a whole."""
    return "/".join(f"^({part})$" for part in tests.split("/"))


def _has_tests(test: str, all_tests: Iterable[str]) -> bool:
    return any(other.startswith(f"{test}/") for other in all_tests)


def _print_table(outcomes: Mapping[str, str]) -> None:
    by_group: dict[str, Counter[str]] = {}
    for test, outcome in outcomes.items():
        by_group.setdefault("/".join(test.split("/")[:2]) if "/" in test else "(others)", Counter())[outcome] += 1
    print(f"{'pass':>5} {'fail':>5} {'skip':>5}")
    for group, counts in sorted(by_group.items()):
        print(f"{counts['pass']:5} {counts['fail']:5} {counts['skip']:5}  {group}")
    total = Counter(outcomes.values())
    print(f"{total['pass']:5} {total['fail']:5} {total['skip']:5}  of {len(outcomes)}")


def _failed(outcomes: Mapping[str, str]) -> set[str]:
    return {test for test, outcome in outcomes.items() if outcome == "fail"}


def _print_expected(outcomes: Mapping[str, str], reasons: Mapping[str, str]) -> None:
    failed = _failed(outcomes)
    for reason, count in Counter(reasons[test] for test in failed & reasons.keys()).most_common():
        print(f"{count:3} {reason}")
    for test in sorted(reasons.keys() - failed):
        print(f"passed, or is not there any more: take {test} off {HERE / 'expected.toml'}")


if __name__ == "__main__":
    sys.exit(main())
