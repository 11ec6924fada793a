"""Who keeps the state tables: two agents, a lock that a transaction holds, a lease that is pinged, clocks that slip.

The lock is the cluster's, so at most one has it; but an agent learns late that it has lost it. The cluster's clock does
not jump here: for the tables that would not matter, since writing them twice does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

NONE: Final = -1


@dataclass(frozen=True, slots=True)
class Rules:
    """In ticks; an action and the margin together are left of a lease when an agent stops to count on it."""

    lease: int = 6
    action: int = 1
    margin: int = 2
    counts_from_request: bool = True
    """The lease is counted from the request that prolonged it; else from the answer."""


class Agent(NamedTuple):
    """What one agent knows and does."""

    has_lock: bool = False
    """As far as it knows."""

    since_ping: int = NONE
    """Age of the ping it counts on."""

    ping: int = NONE
    """Age of a ping under way that the cluster has taken."""

    write: int = NONE
    """Age of a write under way."""


class State(NamedTuple):
    """Of everything."""

    holder: int
    """Who has the lock, as the cluster knows."""

    silence: int
    """Of the holder, by the cluster's clock."""

    agents: tuple[Agent, Agent]
    slipped: bool


START: Final = State(NONE, 0, (Agent(), Agent()), slipped=False)


def is_bad(state: State) -> bool:
    """Two write at once."""
    return all(agent.write != NONE for agent in state.agents)


def may_write(agent: Agent, rules: Rules) -> bool:
    """Whether an agent lets a write begin."""
    return agent.has_lock and agent.since_ping + rules.action + rules.margin <= rules.lease


def steps(state: State, rules: Rules) -> Iterator[tuple[str, State]]:
    """Everything that can happen next."""
    for index, agent in enumerate(state.agents):
        for name, following, holder, silence in _agent_steps(index, agent, state, rules):
            changed = (following, state.agents[1]) if index == 0 else (state.agents[0], following)
            yield f"{name} of {index}", State(holder, silence, changed, state.slipped)
    yield from _ticks(state, rules)


def _agent_steps(index: int, agent: Agent, state: State, rules: Rules) -> Iterator[tuple[str, Agent, int, int]]:
    holder, silence = state.holder, state.silence
    if holder == NONE and not agent.has_lock:
        yield "lock", agent._replace(has_lock=True, since_ping=0), index, 0
    if agent.has_lock and holder == index and agent.ping == NONE:
        yield "ping", agent._replace(ping=0), holder, 0
    if agent.ping != NONE:
        age = agent.ping if rules.counts_from_request else 0
        yield "answer", agent._replace(since_ping=min(age, agent.since_ping), ping=NONE), holder, silence
    if agent.has_lock and holder != index and agent.write == NONE:
        yield "bad news", Agent(), holder, silence
    if agent.write != NONE:
        yield "end of write", agent._replace(write=NONE), holder, silence
    elif may_write(agent, rules):
        yield "write", agent._replace(write=0), holder, silence


def _ticks(state: State, rules: Rules) -> Iterator[tuple[str, State]]:
    first, second = (_aged(agent, rules) for agent in state.agents)
    silence = min(state.silence + 1, rules.lease)
    # Transactions end when their lease is over; before that they may live on, as after a change of masters.
    holders = {state.holder, NONE} if silence >= rules.lease else {state.holder}
    if first is not None and second is not None:
        for holder in holders:
            yield "tick", State(holder, silence, (first, second), state.slipped)
    if not state.slipped:
        for holder in holders:
            yield "slip of the cluster", State(holder, silence, state.agents, slipped=True)


def _aged(agent: Agent, rules: Rules) -> Agent | None:
    if agent.write != NONE and agent.write >= rules.action:
        return None
    return agent._replace(
        since_ping=agent.since_ping if agent.since_ping == NONE else min(agent.since_ping + 1, rules.lease),
        ping=agent.ping if agent.ping == NONE else min(agent.ping + 1, rules.lease),
        write=agent.write if agent.write == NONE else agent.write + 1,
    )
