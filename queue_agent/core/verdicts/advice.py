"""What helps, and whose turn it is."""

from __future__ import annotations

import enum
import shlex
from dataclasses import dataclass
from typing import Any, Final


class Turn(enum.Enum):
    """Who has to act."""

    CLUSTER = "cluster"
    OWNER = "owner"
    OPERATOR = "operator"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do, as a sentence or as a command."""

    turn: Turn
    text: str | None = None
    """None: nothing is known that helps."""

    is_command: bool = False
    """Whether the text works as it is in a shell where `yt` knows the clusters by their names."""

    def to_map(self) -> dict[str, Any]:
        return {"turn": self.turn.value, "action": self.text, "action_is_command": self.is_command}


NO_ADVICE: Final = Advice(Turn.NONE)
ADVICE_KEYS: Final = tuple(NO_ADVICE.to_map())


def command(turn: Turn, *commands: tuple[str, ...]) -> Advice:
    """Something to be pasted, which destroys nothing, whatever a path looks like; the words of each command."""
    return Advice(turn, " && ".join(map(shlex.join, commands)), is_command=True)
