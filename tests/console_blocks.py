"""Console blocks of pages, and what each page says of running them.

Above each block stands a comment that readers do not see:

    <!-- run -->               every command succeeds, if need be after a while
    <!-- run until: TEXT -->   the same, and the last command prints TEXT at last, whatever its exit code
    <!-- not run: REASON -->
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_BLOCK: Final = re.compile(
    r"(?:^<!-- (?P<verb>run until|not run|run)(?:: (?P<text>.+?))? -->\n)?^```console\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_AWAITED: Final = re.compile(r"^queue-agent |/@queue_")
"""Commands whose answer follows from what the agent does in the background."""

_PATIENCE: Final = 240
"""Seconds: some tell of what an agent does once a minute."""


@dataclass(frozen=True, slots=True)
class Block:
    """A console block."""

    page: Path
    verb: str
    """`run`, `run until` or `not run`; empty if the page does not say."""

    text: str
    """Text to wait for, or the reason."""

    commands: Sequence[str]

    def script(self) -> str:
        """For bash: it ends with an error if a command does."""
        if self.verb != "run until":
            return "\n".join(map(_step, self.commands))
        *before, last = self.commands
        wanted = "'" + self.text.replace("'", "'\\''") + "'"
        awaited = f"{{ {last}\n}} >answer 2>&1 || true; cat answer; grep -qF -- {wanted} answer"
        return "\n".join([*map(_step, before), _until(awaited)])


def blocks(page: Path) -> Iterator[Block]:
    """Those of a page, in its order."""
    for match in _BLOCK.finditer(page.read_text()):
        yield Block(page, match["verb"] or "", match["text"] or "", list(_commands(match["body"])))


def _commands(body: str) -> Iterator[str]:
    """What follows a prompt, with the lines that it continues on."""
    command = ""
    for line in body.splitlines():
        if command.endswith("\\"):
            command += f"\n{line}"
        else:
            if command:
                yield command
            command = line.removeprefix("$ ") if line.startswith("$ ") else ""
    if command:
        yield command


def _step(command: str) -> str:
    return _until(f"{command}\n") if _AWAITED.search(command) else command


def _until(command: str) -> str:
    return (
        f"end=$((SECONDS + {_PATIENCE})); until {{ {command}\n}}; do [ $SECONDS -lt $end ] || exit 1; sleep 0.3; done"
    )
