"""`make mutants`: change the code that decides what is trimmed, one small thing at a time, and see a test fail.

mutmut makes the changes in a copy of the sources, has mypy judge them, and runs the unit tests that reach the changed
function. Whatever survives must be in `explained.toml` with a reason why no test could notice it, or this fails.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mutmut.mutation.diff_apply import get_diff_for_mutant

ROOT: Final = Path(__file__).parents[2]
EXPLAINED: Final = Path(__file__).with_name("explained.toml")
RESULTS: Final = ROOT / "mutants"

_OUTCOMES: Final = {0: "survived", 33: "no test", 34: "skipped", 35: "suspicious", 37: "mypy"}
_TIMEOUTS: Final = frozenset({36, -24, 24, 152, 255})
_LITERAL: Final = re.compile(r"""f?"[^"]*"|f?'[^']*'""")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change, and what became of it."""

    name: str
    outcome: str
    removed: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def function(self) -> str:
        return re.sub(r"xǁ(\w+)ǁ", r"\1.", self.name.rpartition("__mutmut_")[0]).replace(".x_", ".")

    @property
    def is_wording(self) -> bool:
        """Whether only a text with a space in it is different, which is for people."""
        return _without_sentences(self.removed) == _without_sentences(self.added)


def _without_sentences(lines: Sequence[str]) -> str:
    return _LITERAL.sub(lambda literal: '""' if " " in literal[0] else literal[0], " ".join(lines))


def main() -> int:
    """Run the command line; the exit code is 1 if a survivor is not explained."""
    parser = argparse.ArgumentParser(description="Change the code that decides what is trimmed; tests must notice.")
    parser.add_argument("modules", nargs="*", help="such as core.lease; all of [tool.mutmut] without")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at once (one for each core)")
    options = parser.parse_args()
    patterns = [f"queue_agent.{module}.*" for module in options.modules]
    environment = {**os.environ, "TRUTH_EXAMPLES": os.environ.get("TRUTH_EXAMPLES", "20")}
    command = [str(Path(sys.executable).with_name("mutmut")), "run", "--max-children", str(options.jobs), *patterns]
    path = f"{Path(sys.executable).parent}:{environment['PATH']}"
    run = subprocess.run(
        command, cwd=ROOT, env={**environment, "PATH": path}, stdout=subprocess.PIPE, text=True, check=False
    )
    if run.returncode:
        print(run.stdout[-4000:])
        return run.returncode
    mutants = list(_find_mutants(options.modules))
    print(_summary(mutants))
    return _judge(mutants, _explanations(), whole=not options.modules)


def _find_mutants(modules: Sequence[str]) -> Iterator[Mutant]:
    """All mutants of the last run, those that were killed without their change."""
    for file in sorted(RESULTS.rglob("*.py.meta")):
        module = ".".join(file.relative_to(RESULTS / "queue_agent").with_suffix("").with_suffix("").parts)
        if modules and module not in modules:
            continue
        for name, code in json.loads(file.read_text())["exit_code_by_key"].items():
            outcome = _OUTCOMES.get(code, "timeout" if code in _TIMEOUTS else "killed")
            is_open = outcome in ("survived", "no test", "suspicious") or code is None
            removed, added = _change(name, file) if is_open else ((), ())
            yield Mutant(name, "not run" if code is None else outcome, removed, added)


def _change(name: str, file: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Lines that are gone, and lines in their place, without indentation."""
    diff = get_diff_for_mutant(name, path=file.relative_to(RESULTS).with_suffix(""))
    lines = [line for line in diff.splitlines() if not line.startswith(("---", "+++"))]
    removed, added = (tuple(line[1:].strip() for line in lines if line.startswith(sign)) for sign in ("-", "+"))
    return removed, added


def _summary(mutants: Sequence[Mutant]) -> str:
    counts = Counter(mutant.outcome for mutant in mutants)
    return f"{len(mutants)} mutants: " + ", ".join(f"{outcome} {count}" for outcome, count in counts.most_common())


def _explanations() -> Mapping[tuple[str, str], str]:
    """Reasons by function and by the line that takes another's place."""
    entries: list[dict[str, Any]] = tomllib.loads(EXPLAINED.read_text())["survivor"]
    return {(entry["function"], change): entry["reason"] for entry in entries for change in entry["changes"]}


def _judge(mutants: Sequence[Mutant], explanations: Mapping[tuple[str, str], str], *, whole: bool) -> int:
    """Print what is not explained, and explanations of nothing."""
    used: set[tuple[str, str]] = set()
    wording = unexplained = 0
    for mutant in mutants:
        if mutant.outcome not in ("survived", "no test", "suspicious", "not run"):
            continue
        key = mutant.function, " ".join(mutant.added)
        if mutant.outcome == "survived" and mutant.is_wording:
            wording += 1
        elif key in explanations:
            used.add(key)
        else:
            unexplained += 1
            print(f"\n{mutant.outcome}: {mutant.name}\n  function = {json.dumps(mutant.function)}")
            print("\n".join(f"  - {line}" for line in mutant.removed))
            print("\n".join(f"  + {line}" for line in mutant.added))
    stale = sorted(explanations.keys() - used) if whole else []
    for function, change in stale:
        print(f"\nexplained, but killed or gone: {function}: {change}")
    print(f"\n{wording} change wording only, {len(used)} are explained, {unexplained} are not")
    return 1 if unexplained or stale else 0


if __name__ == "__main__":
    sys.exit(main())
