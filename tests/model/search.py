"""All states a model can come to, one breadth after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

State = TypeVar("State", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Outcome(Generic[State]):
    """Of a search."""

    state_count: int
    trace: list[tuple[str, State]] | None
    """The shortest way to a bad state, each step with what it led to; None: there is none."""


def search(
    start: State,
    steps: Callable[[State], Iterable[tuple[str, State]]],
    is_bad: Callable[[State], bool],
    canonical: Callable[[State], State] = lambda state: state,
    limit: int = 3_000_000,
) -> Outcome[State]:
    """Look for a bad state among all that can be reached.

    Args:
        start: the first state.
        steps: what can happen next, each with a name.
        is_bad: what must never be.
        canonical: the same for states between which nothing tells but names.
        limit: of states; with more of them the model is too large to be searched.
    """
    parents: dict[State, tuple[str, State] | None] = {start: None}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        for name, step in steps(state):
            following = canonical(step)
            if following in parents:
                continue
            parents[following] = name, state
            if is_bad(following):
                return Outcome(len(parents), _trace(parents, following))
            assert len(parents) <= limit, "too large a model"
            queue.append(following)
    return Outcome(len(parents), None)


def _trace(parents: dict[State, tuple[str, State] | None], last: State) -> list[tuple[str, State]]:
    steps = []
    state = last
    while (parent := parents[state]) is not None:
        name, before = parent
        steps.append((name, state))
        state = before
    return steps[::-1]
