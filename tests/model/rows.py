"""Which rows of a partition a trim takes: what agents ask before it, and all that may happen between their questions.

A partition has few rows. It may be made again, with rows of its own. A consumer reads and goes back; an export goes on
and is set back. What is written down of them is by row index, and progress says of which partition it is. An agent
plans by what it saw at any time before, and asks again: first offsets, then progress, last whose partition this is.
Each change at any moment is searched. A row is lost if it goes though somebody needed it at every moment since the
agent began to ask.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

ROWS: Final = 2
"""Of a partition at most."""

NONE: Final = -1
PARTITIONS: Final = 2
"""That there are one after the other."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What agents keep to."""

    offsets_are_read_again: bool = True
    progress_is_read_again: bool = True
    progress_has_identity: bool = True
    """Progress of another partition with the same index does not count."""

    partition_is_looked_at_again: bool = True
    """A plan for another partition with the same index is void."""

    trims_name_the_partition: bool = True
    """A trim that comes too late for a partition takes nothing of the next one."""


class Partition(NamedTuple):
    """As it is."""

    number: int = 0
    rows: int = 0
    offset: int = 0
    """Of the vital consumer; it is by index, and stays when the partition is made again."""

    progress: int = 0
    """Of the export, by index."""

    progress_of: int = 0
    """The partition that the progress is of."""

    @property
    def exported(self) -> int:
        """How many rows of this partition the export has."""
        return self.progress if self.progress_of == self.number else 0


class Agent(NamedTuple):
    """What one agent knows, and how far it is with a trim."""

    offset: int = 0
    progress: int = 0
    number: int = 0
    target: int = NONE
    asked: int = 0
    """Questions that were answered since the trim was planned."""

    most_read: int = 0
    """The furthest that the consumer was at any moment since then."""

    most_exported: int = 0


class State(NamedTuple):
    """Of everything."""

    partition: Partition = Partition()
    agent: Agent = Agent()
    is_lost: bool = False


START: Final = State()
_QUESTIONS: Final = 3


def is_bad(state: State) -> bool:
    """Whether a row has gone that was needed."""
    return state.is_lost


def steps(state: State, rules: Rules) -> Iterator[tuple[str, State]]:
    """Say what can happen next."""
    partition, agent, _ = state
    for name, changed in _changes(partition):
        yield name, State(changed, _noticed(agent, changed))
    if agent.target == NONE:
        known = _claimed(partition, rules)
        yield "poll", State(partition, agent._replace(offset=partition.offset, progress=known, number=partition.number))
        target = min(agent.offset, agent.progress)
        if target > 0:
            planned = agent._replace(target=target, asked=0, most_read=0, most_exported=0)
            yield "plan", State(partition, _noticed(planned, partition))
        return
    yield "give up", State(partition, _idle(agent))
    if agent.asked < _QUESTIONS:
        yield "question", State(partition, _asked(partition, agent, rules))
    else:
        yield "trim", State(partition, _idle(agent), _loses(partition, agent, rules))


def _changes(partition: Partition) -> Iterator[tuple[str, Partition]]:
    if partition.rows < ROWS:
        yield "write", partition._replace(rows=partition.rows + 1)
    if partition.offset < partition.rows:
        yield "read", partition._replace(offset=partition.offset + 1)
    if partition.offset > 0:
        yield "rewind", partition._replace(offset=partition.offset - 1)
    if partition.exported < partition.rows:
        yield "export", partition._replace(progress=partition.exported + 1, progress_of=partition.number)
    if partition.progress > 0:
        yield "set back", partition._replace(progress=partition.progress - 1)
    if partition.number + 1 < PARTITIONS:
        yield "recreate", partition._replace(number=partition.number + 1, rows=0)


def _noticed(agent: Agent, partition: Partition) -> Agent:
    """What protects rows has changed."""
    if agent.target == NONE:
        return agent
    # Rows of a partition that is no more need nobody.
    exported = partition.exported if partition.number == agent.number else 0
    return agent._replace(
        most_read=max(agent.most_read, partition.offset), most_exported=max(agent.most_exported, exported)
    )


def _claimed(partition: Partition, rules: Rules) -> int:
    return partition.exported if rules.progress_has_identity else partition.progress


def _asked(partition: Partition, agent: Agent, rules: Rules) -> Agent:
    """The next question is answered, and the target gets no higher by it."""
    target = agent.target
    if agent.asked == 0 and rules.offsets_are_read_again:
        target = min(target, partition.offset)
    if agent.asked == 1 and rules.progress_is_read_again:
        target = min(target, _claimed(partition, rules))
    if agent.asked == 2 and rules.partition_is_looked_at_again and partition.number != agent.number:
        target = 0
    return _idle(agent) if target == 0 else agent._replace(target=target, asked=agent.asked + 1)


def _idle(agent: Agent) -> Agent:
    return agent._replace(target=NONE, asked=0, most_read=0, most_exported=0)


def _loses(partition: Partition, agent: Agent, rules: Rules) -> bool:
    """Whether the trim takes a row that was needed all the while."""
    if partition.number != agent.number:
        # Nobody but the consumer, who is told by index only, has ever let go a row of this partition.
        return not rules.trims_name_the_partition and min(agent.target, partition.rows) > partition.exported
    return agent.target > agent.most_read or agent.target > agent.most_exported
