"""What is told about a command beside what its parameters and its descriptor say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

NOTHING: Final = "`{}`"
"""The answer of a structured command without a result."""


@dataclass(frozen=True, slots=True)
class Manual:
    """One command as people look it up; texts are Markdown of one line."""

    does: str
    result: str = NOTHING
    errors: Mapping[int, str] = field(default_factory=dict)
    """When which code is answered, beyond what any command may answer; 1 is for errors without a code of their own."""

    ignored: tuple[str, ...] = ()
    """Parameters of the real command that are accepted and have no effect, whether they are read or not."""

    refused: str = ""
    """Values and parameters that the real command takes and this one answers with an error."""

    differs: str = ""
    """What else is otherwise than on a real cluster."""
