"""Rows of the stage's overview, put together from those of its agents, and which of them are new to somebody."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from queue_agent.core.status.overview_rows import Key, VersionedRows

Row = Mapping[str, Any]

FindLeader = Callable[[Key], str | None]
"""The agent that leads the table of a row, as far as is known."""

_KINDS: Final = ("queue", "consumer")
_NAMES: Final = {"queue": ("cluster", "path"), "consumer": ("cluster", "path", "queue_cluster", "queue_path", "name")}
_SPARK: Final = "spark"


@dataclass(frozen=True, slots=True)
class RowsAnswer:
    """An agent's overview, or what is new in it."""

    version: int
    is_full: bool
    queues: Mapping[Key, Row]
    consumers: Mapping[Key, Row]
    gone: Collection[tuple[str, Key]]
    problems: Sequence[Row] | None
    """None: as before."""


def read_rows(answer: Any) -> RowsAnswer:
    """An agent's answer; ValueError if it makes no sense."""
    if not isinstance(answer, Mapping) or not isinstance(answer.get("version"), int):
        raise ValueError("an overview without a version")
    problems = answer.get("problems")
    if problems is not None and not (isinstance(problems, list) and all(isinstance(one, Mapping) for one in problems)):
        raise ValueError("problems are no list")
    gone = answer.get("gone", [])
    if not isinstance(gone, list) or not all(_is_name(one) for one in gone):
        raise ValueError("rows that are gone have no names")
    return RowsAnswer(
        answer["version"],
        answer.get("full") is True,
        _read_rows("queue", answer.get("queues", [])),
        _read_rows("consumer", answer.get("consumers", [])),
        [(kind, tuple(key)) for kind, *key in gone],
        problems,
    )


def _is_name(one: Any) -> bool:
    return isinstance(one, list) and len(one) > 1 and one[0] in _KINDS and all(isinstance(part, str) for part in one)


def _read_rows(kind: str, rows: Any) -> dict[Key, Row]:
    found: dict[Key, Row] = {}
    for row in rows if isinstance(rows, list) else [None]:
        if not isinstance(row, Mapping):
            raise ValueError(f"rows of {kind}s are no list of maps")
        key = [row.get(name, "") if name == "name" else row.get(name) for name in _NAMES[kind]]
        texts = tuple(part for part in key if isinstance(part, str))
        if len(texts) < len(key):
            raise ValueError(f"a row of a {kind} has no name")
        found[texts] = row
    return found


@dataclass(slots=True)
class _Agent:
    """What an agent has sent so far."""

    version: int
    told_at: float
    rows: dict[str, dict[Key, Row]]
    sparks: dict[str, dict[Key, Any]]
    problems: Sequence[Row]


@dataclass(slots=True)
class StageRows:
    """Rows by agent, and put together.

    What an agent has sent stays until it sends something else or is no agent of the stage any more. Of a row that two
    agents tell, that of the one which leads the object is shown.
    """

    first: int
    """The version of nothing at all."""

    _queues: VersionedRows = field(init=False)
    _consumers: VersionedRows = field(init=False)
    _agents: dict[str, _Agent] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._queues, self._consumers = VersionedRows(self.first), VersionedRows(self.first)

    @property
    def is_known(self) -> bool:
        """Whether any agent has sent anything."""
        return bool(self._agents)

    def version_of(self, agent: str, now: float, sparks_since: float) -> int | None:
        """The version that an agent sent last; None: ask it for everything again.

        Args:
            agent: its address.
            now: seconds of some clock.
            sparks_since: sparklines older than so many seconds are not good enough.
        """
        known = self._agents.get(agent)
        return None if known is None or now - known.told_at > sparks_since else known.version

    def put(self, version: int, agent: str, answer: RowsAnswer, now: float, find_leader: FindLeader) -> int:
        """Note what an agent has sent; returns how many rows that changed.

        Args:
            version: by which rows become what they are.
            agent: its address.
            answer: what it has told.
            now: seconds of some clock.
            find_leader: of two agents with the same row that one is believed.
        """
        known = self._agents.get(agent)
        if known is None or answer.is_full:
            old = {} if known is None else known.rows
            rows, sparks = _without_sparks(answer)
            problems = answer.problems or ()
            known = self._agents[agent] = _Agent(answer.version, now, rows, sparks, problems)
            touched = {(kind, key) for each in (rows, old) for kind, some in each.items() for key in some}
        else:
            known.version = answer.version
            touched = {("queue", key) for key in answer.queues} | {("consumer", key) for key in answer.consumers}
            for kind, some in (("queue", answer.queues), ("consumer", answer.consumers)):
                known.rows[kind].update(some)
            for kind, key in answer.gone:
                if key not in (answer.queues if kind == "queue" else answer.consumers):
                    known.rows[kind].pop(key, None)
                    touched.add((kind, key))
            known.problems = known.problems if answer.problems is None else answer.problems
        return self._renew(version, touched, find_leader)

    def keep(self, version: int, agents: Collection[str], find_leader: FindLeader) -> int:
        """Forget all other agents; how many rows are new or gone by that."""
        touched: set[tuple[str, Key]] = set()
        for agent in [agent for agent in self._agents if agent not in agents]:
            touched |= {(kind, key) for kind, rows in self._agents.pop(agent).rows.items() for key in rows}
        return self._renew(version, touched, find_leader)

    def problems(self) -> Mapping[str, Sequence[Row]]:
        """By agent."""
        return {agent: known.problems for agent, known in self._agents.items()}

    def changes(self, since: int) -> dict[str, Any] | None:
        """What is newer than a version; None if nobody can tell any more."""
        queues, consumers = self._queues.since(since), self._consumers.since(since)
        if queues is None or consumers is None:
            return None
        return {
            "queues": list(queues.rows.values()),
            "consumers": list(consumers.rows.values()),
            "gone": [["queue", *key] for key in queues.gone] + [["consumer", *key] for key in consumers.gone],
        }

    def everything(self) -> dict[str, Any]:
        """All rows, with sparklines."""
        sparks: dict[str, dict[Key, Any]] = {kind: {} for kind in _KINDS}
        for known in self._agents.values():
            for kind in _KINDS:
                sparks[kind].update(known.sparks[kind])
        return {
            f"{kind}s": [{**row, _SPARK: sparks[kind].get(key, [])} for key, row in rows.all().items()]
            for kind, rows in self._by_kind().items()
        }

    def _by_kind(self) -> dict[str, VersionedRows]:
        return {"queue": self._queues, "consumer": self._consumers}

    def _renew(self, version: int, touched: Iterable[tuple[str, Key]], find_leader: FindLeader) -> int:
        """Choose the rows again that may have changed."""
        changed, kept = 0, self._by_kind()
        for kind, key in touched:
            told = {agent: known.rows[kind][key] for agent, known in self._agents.items() if key in known.rows[kind]}
            if not told:
                changed += kept[kind].remove(version, key)
                continue
            leader = find_leader(key) if len(told) > 1 else None
            row = told[leader] if leader in told else next(iter(told.values()))
            changed += kept[kind].put(version, key, row)
        return changed


def _without_sparks(answer: RowsAnswer) -> tuple[dict[str, dict[Key, Row]], dict[str, dict[Key, Any]]]:
    """Rows as they are compared, and their sparklines."""
    told = {"queue": answer.queues, "consumer": answer.consumers}
    rows: dict[str, dict[Key, Row]] = {
        kind: {key: {name: value for name, value in row.items() if name != _SPARK} for key, row in some.items()}
        for kind, some in told.items()
    }
    sparks = {
        kind: {key: row[_SPARK] for key, row in some.items() if isinstance(row.get(_SPARK), list)}
        for kind, some in told.items()
    }
    return rows, sparks
