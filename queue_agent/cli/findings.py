"""What an examination finds, and how it is mended."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


class Grade(enum.Enum):
    """How bad it is."""

    OK = "ok"
    SKIPPED = "skipped"
    """It could not be looked at; something else has to be mended first, or the detail says what for."""

    WARNING = "warning"
    """It works, but not as well, or not for ever."""

    FAILURE = "failure"
    """The agent cannot do all of its work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    subject: str
    """Such as `cluster pythia`."""

    check: str
    """What was looked at, in a few words; the same in every examination."""

    grade: Grade
    detail: str
    advice: str | None = None
    """What to do that no command does."""

    commands: Sequence[str] = ()
    """What to do, to be pasted into a shell in this order."""

    def to_map(self) -> dict[str, Any]:
        """As `--json` shows it."""
        return {
            "subject": self.subject,
            "check": self.check,
            "grade": self.grade.value,
            "detail": self.detail,
            "advice": self.advice,
            "commands": list(self.commands),
        }


def is_healthy(findings: Iterable[Finding]) -> bool:
    """Whether nothing failed."""
    return all(finding.grade is not Grade.FAILURE for finding in findings)
