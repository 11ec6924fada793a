"""Lists of a stage, made of those of its agents.

Agents may be of another version, and an object that is being handed over may be in two lists or in none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from queue_agent.core.group.questions import Missing
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.values import Verdict

List = Mapping[str, Any]

_LEADING: Final = "leading"
_KINDS: Final = ("agent", "account", "queue", "consumer")
_LEAST_SEVERE: Final = max(one.severity for one in Verdict) + 1


def check_list(name: str, keys: Sequence[str]) -> Callable[[Any], List]:
    """A check of another agent's answer that holds a list.

    Args:
        name: of the list.
        keys: each entry has them, as strings.

    Returns:
        A function that gives the answer, or raises ValueError.
    """

    def check(answer: Any) -> List:
        entries = answer.get(name) if isinstance(answer, Mapping) else None
        if not isinstance(entries, list) or not isinstance(answer.get("total"), int):
            raise ValueError(f"no list of {name}")
        for one in entries:
            if not isinstance(one, Mapping) or not all(isinstance(one.get(key), str) for key in keys):
                raise ValueError(f"an entry of {name} has no {' and '.join(keys)}")
        return dict(answer)

    return check


def merge_pages(name: str, pages: Iterable[List], limit: int, missing: Sequence[Missing]) -> dict[str, Any]:
    """A page of objects in order of their references; of an object in two lists, the one of its leader is shown.

    Args:
        name: `queues` or `consumers`.
        pages: of the agents, asked for as many objects as are wanted, behind the same one.
        limit: objects that are wanted.
        missing: agents that have not answered.
    """
    found: dict[str, Mapping[str, Any]] = {}
    total, has_more = 0, False
    for page in pages:
        total += page["total"]
        has_more = has_more or page.get("next") is not None
        for one in page[name]:
            key = _ref_of(one)
            if key in found:
                total -= 1
            if key not in found or one.get("role") == _LEADING:
                found[key] = one
    keys = sorted(found)
    shown = keys[:limit]
    return {
        name: [found[key] for key in shown],
        "total": total,
        "next": shown[-1] if shown and (has_more or len(keys) > limit) else None,
        **tell(missing),
    }


def merge_verdicts(lists: Iterable[List], limit: int, missing: Sequence[Missing]) -> dict[str, Any]:
    """Verdicts, the worst first, vital consumers before others."""
    return _merge("verdicts", lists, limit, missing)


def merge_alerts(lists: Mapping[str, List], limit: int, missing: Sequence[Missing]) -> dict[str, Any]:
    """Alerts in the order of one agent's; of several agents, those of the agents themselves say whose they are.

    Args:
        lists: by the agents' addresses.
        limit: alerts that are wanted.
        missing: agents that have not answered.
    """
    named = [{**one, "alerts": name_agent(one["alerts"], agent)} for agent, one in lists.items()]
    return _merge("alerts", named if len(named) > 1 else lists.values(), limit, missing)


def name_agent(alerts: Iterable[Mapping[str, Any]], agent: str) -> list[Mapping[str, Any]]:
    """Alerts, with the agent named in those that are about it."""
    return [{**one, "agent": agent} if one.get("kind") == "agent" else one for one in alerts]


def by_urgency(one: Mapping[str, Any]) -> tuple[Any, ...]:
    """Key by which alerts and verdicts are sorted; those of a verdict that this version does not know come last."""
    kind = one.get("kind", "consumer")
    rank = _KINDS.index(kind) if kind in _KINDS else len(_KINDS)
    if kind != "consumer":
        return rank, 0, False, str(one.get("queue", "")), str(one.get("category", ""))
    return rank, _severity(one.get("verdict")), not one.get("vital"), str(one.get("consumer")), str(one.get("queue"))


def tell(missing: Sequence[Missing]) -> dict[str, Any]:
    """What an answer says of agents it has nothing of; empty: it is about the whole stage."""
    return {"missing": [one.to_map() for one in missing]}


def _merge(name: str, lists: Iterable[List], limit: int, missing: Sequence[Missing]) -> dict[str, Any]:
    some = list(lists)
    entries = sorted((one for each in some for one in each[name]), key=by_urgency)
    return {name: entries[:limit], "total": sum(each["total"] for each in some), **tell(missing)}


def _severity(verdict: Any) -> int:
    try:
        return Verdict(verdict).severity
    except ValueError:
        return _LEAST_SEVERE


def _ref_of(one: Mapping[str, Any]) -> str:
    return str(CrossClusterRef(one["cluster"], one["path"], one.get("name") or ""))
