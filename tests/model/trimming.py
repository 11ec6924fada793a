"""Who trims a queue: two agents, a mapping that anybody may write at any moment, and clocks that do not agree.

Time passes in ticks; in a tick anything can happen any number of times, in any order, or not at all: an agent that is
paused, cut off or slow is one to which nothing happens. Membership and election are not in the model, because nothing
may depend on them: that the mapping changes whenever it likes is the worst they could bring about.

One of the clocks makes one tick more than the other, at any moment, once: what is older than a wait is not remembered,
so this is a drift of one tick in every wait. A request is decided at the moment it is sent: one decided later is like
one sent later. Nothing else is left out, and all states there are get searched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Final, NamedTuple

NONE: Final = -1


@dataclass(frozen=True, slots=True)
class Rules:
    """What agents keep to, in ticks; the wait of `core.lease.LeaseTerms` is longer yet in proportion."""

    freshness: int = 2
    action: int = 1
    wait: int = 5
    answer: int = 1
    """An answer that takes longer is not waited for."""

    counts_from_request: bool = True
    """The age of a reading is counted from the request; else from the answer."""

    versions_are_compared: bool = True
    """The wait restarts if the mapping has been written since the last reading, whatever it says now."""

    alone_is_looked_at_again: bool = True
    """Having been the only agent counts only if it was seen after the mapping named this agent."""

    clocks_slip: bool = True


class Agent(NamedTuple):
    """What one agent knows and does, by its own clock; ages are not told apart beyond what matters."""

    registered: bool = False
    asked: int = 99
    """Age of the last reading."""

    led: int = NONE
    """For how long it has known that it leads the queue; NONE: by its last reading it does not."""

    alone: bool = False
    """It need not wait."""

    reading: int = NONE
    """Age of a request for the mapping that is under way."""

    named: bool = False
    """Whether that will name this agent."""

    written: bool = False
    """The mapping has been written since the last reading that was answered, or is being answered."""

    written_again: bool = False
    """It has been written since the request that is under way."""

    trim: int = NONE
    """Age of a trim that is under way."""


class State(NamedTuple):
    """Of everything."""

    owner: int
    """Whom the mapping names."""

    agents: tuple[Agent, Agent]
    slipped: bool
    """The clocks have come apart."""


START: Final = State(0, (Agent(), Agent()), slipped=False)


def is_bad(state: State) -> bool:
    """Two trim at once."""
    first, second = state.agents
    return first.trim != NONE != second.trim


def canonical(state: State) -> State:
    """The same state, with the agents in order."""
    first, second = state.agents
    return state if first >= second else State(1 - state.owner, (second, first), state.slipped)


def may_trim(agent: Agent, rules: Rules) -> bool:
    """Whether an agent lets a trim begin."""
    return agent.asked <= rules.freshness and agent.led != NONE and (agent.alone or agent.led >= rules.wait)


def received(agent: Agent, rules: Rules) -> Agent:
    """The answer has come."""
    begins_anew = agent.written and rules.versions_are_compared
    led, alone = agent.led, agent.alone
    if not agent.named:
        led, alone = NONE, False
    elif led == NONE or begins_anew:
        led, alone = 0, agent.alone and not rules.alone_is_looked_at_again
    asked = agent.reading if rules.counts_from_request else 0
    return agent._replace(
        asked=asked,
        led=led,
        alone=alone,
        reading=NONE,
        named=False,
        written=agent.written_again,
        written_again=False,
    )


def written(agent: Agent) -> Agent:
    """The mapping has been written."""
    if agent.led == NONE and agent.reading == NONE:
        return agent  # it will begin to wait anyway
    return agent._replace(written=True) if agent.reading == NONE else agent._replace(written_again=True)


def looked(agent: Agent, is_alone: bool, rules: Rules) -> Agent:
    """It was asked whether there has ever been another agent."""
    known = agent.led != NONE or not rules.alone_is_looked_at_again
    return agent._replace(alone=True) if is_alone and known else agent


def aged(agent: Agent, rules: Rules) -> Agent | None:
    """After a tick of the agent's clock; None: the tick cannot pass before something has ended."""
    if agent.trim != NONE and agent.trim >= rules.action:
        return None
    beyond = rules.freshness + 1
    agent = agent._replace(
        asked=min(agent.asked + 1, beyond),
        led=agent.led if agent.led == NONE else min(agent.led + 1, rules.wait),
        reading=agent.reading if agent.reading == NONE else agent.reading + 1,
        trim=agent.trim if agent.trim == NONE else agent.trim + 1,
    )
    if agent.reading > rules.answer:
        is_written = agent.written or agent.written_again
        agent = agent._replace(reading=NONE, named=False, written=is_written, written_again=False)
    if agent.led == NONE and agent.reading == NONE:
        agent = agent._replace(written=False)
    return agent


def stepper(rules: Rules) -> Callable[[State], Iterator[tuple[str, State]]]:
    """Say what can happen next in a state; an agent has so few states of its own that what it does is remembered."""
    agent_aged = cache(partial(aged, rules=rules))
    agent_written = cache(written)

    @cache
    def agent_steps(index: int, agent: Agent, is_named: bool, is_alone: bool) -> list[tuple[str, Agent]]:
        return [(f"{name} of {index}", after) for name, after in _agent_steps(agent, is_named, is_alone, rules)]

    def steps(state: State) -> Iterator[tuple[str, State]]:
        owner, (first, second), slipped = state
        yield "mapping changes", State(1 - owner, (agent_written(first), agent_written(second)), slipped)
        for name, after in agent_steps(0, first, owner == 0, not second.registered):
            yield name, State(owner, (after, second), slipped)
        for name, after in agent_steps(1, second, owner == 1, not first.registered):
            yield name, State(owner, (first, after), slipped)
        older_first, older_second = agent_aged(first), agent_aged(second)
        if older_first is not None and older_second is not None:
            yield "tick", State(owner, (older_first, older_second), slipped)
        if rules.clocks_slip and not slipped:
            if older_first is not None:
                yield "slip of 0", State(owner, (older_first, second), slipped=True)
            if older_second is not None:
                yield "slip of 1", State(owner, (first, older_second), slipped=True)

    return steps


def _agent_steps(agent: Agent, is_named: bool, is_alone: bool, rules: Rules) -> Iterator[tuple[str, Agent]]:
    """What one agent may do, which the mapping names or not, and which is the only one so far or not."""
    if not agent.registered:
        yield "registration", agent._replace(registered=True, asked=rules.freshness + 1)
        return
    if agent.reading == NONE:
        yield "request", agent._replace(reading=0, named=is_named)
    else:
        yield "answer", received(agent, rules)
    if is_alone:
        yield "look", looked(agent, True, rules)
    if agent.trim != NONE:
        yield "end of trim", agent._replace(trim=NONE)
    elif may_trim(agent, rules):
        yield "trim", agent._replace(trim=0)
