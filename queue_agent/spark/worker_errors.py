"""What was raised in one of Spark's Python workers, which Spark tells as text between the frames of two languages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_TRACEBACK: Final = "Traceback (most recent call last):"
_RAISED: Final = re.compile(r"(?:\w+\.)*(\w+)(?:: (.*))?", re.DOTALL)
_END_OF_PYTHON: Final = re.compile(r"\n\s*\n|\n\W*SQLSTATE|\n\s*at |\n\*{5}")


@dataclass(frozen=True, slots=True)
class WorkerError:
    """An exception of a worker."""

    kind: str
    """Name of its class, without that of the module."""

    message: str


def find_worker_error(error: BaseException) -> WorkerError | None:
    """The exception of a worker that an error of Spark tells of; None if it tells of none."""
    _, traceback, told = str(error).rpartition(_TRACEBACK)
    if not traceback:
        return None
    # The last of them is that of the exception that nobody caught; lines of its frames are indented.
    lines = told.split("\n")
    begin = next((number for number, line in enumerate(lines) if line and not line.startswith(" ")), len(lines))
    raised = _RAISED.fullmatch(_END_OF_PYTHON.split("\n".join(lines[begin:]), maxsplit=1)[0].strip())
    return None if raised is None else WorkerError(raised[1], raised[2] or "")


def words_of_spark(error: BaseException) -> str:
    """What an error of Spark says: what a worker raised, else its own words without the frames of Java and plans."""
    found = find_worker_error(error)
    if found is not None:
        return f"{found.kind}: {found.message}" if found.message else found.kind
    return re.split(r"\n\s*at |;\n", str(error), maxsplit=1)[0].strip()
