"""What an agent answers of the objects it leads itself, whoever asks: a client by HTTP, or another agent by RPC."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from queue_agent.adapters.process.json_values import to_json
from queue_agent.adapters.serving.http_requests import read_limit, read_policy, read_verdicts, read_version
from queue_agent.adapters.serving.overview_api import OverviewSource
from queue_agent.adapters.serving.series_api import show_series
from queue_agent.core.group.questions import Question
from queue_agent.core.queues.snapshots import ConsumerSnapshot, PassFacts, QueueSnapshot
from queue_agent.core.status.problems import list_alerts, list_verdicts
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import UnexpectedError
from queue_agent.isolation import isolate
from queue_agent.ports.exports import ExportPlanner
from queue_agent.ports.status import SeriesTeller, StatusSource
from queue_agent.ports.trims import TrimPlanner
from yt_wire.error import ErrorCode, YtError

Document = Mapping[str, Any]

SHOW_AGENT: Final = "show_agent"
SHOW_OVERVIEW: Final = "show_overview"


@dataclass(frozen=True, slots=True)
class Planners:
    """Those who tell what would be done, and do nothing."""

    trims: TrimPlanner
    exports: ExportPlanner


class OwnAnswers:
    """Answers questions; see `questions.Question`.

    Args:
        source: what is led here.
        planners: tell what would be done; without them nobody does.
        series: tells figures over time; without it nobody does.
        overview: rows of what is led here; without it there are none.
        describe: facts of this agent.
    """

    def __init__(
        self,
        source: StatusSource,
        planners: Planners | None = None,
        series: SeriesTeller | None = None,
        overview: OverviewSource | None = None,
        describe: Callable[[], Document] | None = None,
    ) -> None:
        self._source = source
        self._planners = planners
        self._series = series
        self._overview = overview
        self._describe = describe
        self._answers: Mapping[str, Callable[[Question], Awaitable[Document]]] = {
            "list_queues": self._list_queues,
            "list_consumers": self._list_consumers,
            "list_verdicts": self._list_verdicts,
            "list_alerts": self._list_alerts,
            "plan_trim": self._plan_trim,
            "plan_export": self._plan_export,
            "show_series": self._show_series,
            SHOW_OVERVIEW: self._show_overview,
            SHOW_AGENT: self._show_agent,
        }

    async def answer(self, question: Question) -> Document:
        """YtError for what makes no sense, or is not known here; 103 for a question of a later version."""
        answer = self._answers.get(question.name)
        if answer is None:
            raise YtError(f'This agent does not know the question "{question.name}"', ErrorCode.NO_SUCH_METHOD)
        return await answer(question)

    async def _list_queues(self, question: Question) -> Document:
        return _page(question, "queues", self._source.queues(), self._source.queue_overview)

    async def _list_consumers(self, question: Question) -> Document:
        return _page(question, "consumers", self._source.consumers(), self._source.consumer_overview)

    async def _list_verdicts(self, question: Question) -> Document:
        found = list_verdicts(self._source.consumers(), read_verdicts(question.parameters.get("verdict")))
        return {"verdicts": found[: read_limit(question.parameters.get("limit"))], "total": len(found)}

    async def _list_alerts(self, question: Question) -> Document:
        source = self._source
        queues, consumers, known = source.queues().values(), source.consumers(), source.known_consumers
        found = list_alerts(source.alerts(), queues, consumers, known, source.quotas())
        return {"alerts": found[: read_limit(question.parameters.get("limit"))], "total": len(found)}

    async def _plan_trim(self, question: Question) -> Document:
        """The body is empty, or a policy in the form of `@auto_trim_config`; one that does not say so is enabled."""
        policy = read_policy(question.body.encode("utf-8", "surrogatepass"))
        preview = None if self._planners is None else await self._planners.trims.preview(question.ref, policy)
        if preview is None:
            raise not_served(question.ref)
        return preview.to_map()

    async def _plan_export(self, question: Question) -> Document:
        preview = None if self._planners is None else await self._planners.exports.preview(question.ref)
        if preview is None:
            raise not_served(question.ref)
        return preview.to_map()

    async def _show_series(self, question: Question) -> Document:
        return await show_series(self._series, question.parameters)

    async def _show_overview(self, question: Question) -> Document:
        """All rows, or with `since` those that are new; at once."""
        if self._overview is None:
            raise YtError("This agent has no overview", ErrorCode.NO_SUCH_METHOD)
        since = read_version(question.parameters.get("since"))
        await self._overview.wait(since, 0)
        changes = None if since is None else self._overview.changes(since)
        return {**await self._overview.everything(), "full": True} if changes is None else changes

    async def _show_agent(self, question: Question) -> Document:
        return {
            **({} if self._describe is None else self._describe()),
            "queues": len(self._source.queues()),
            "consumers": len(self._source.consumers()),
            "alerts": self._source.alerts(),
            "agent_pass": facts_of(self._source.agent_pass()),
        }


def not_served(ref: CrossClusterRef) -> YtError:
    """Nobody knows the object."""
    return YtError(f"Object {ref} is not served by this queue agent", ErrorCode.QUEUE_AGENT_OBJECT_IS_NOT_MAPPED)


def name_of(ref: CrossClusterRef) -> dict[str, Any]:
    """What names an object in answers."""
    return {"cluster": ref.cluster, "path": ref.path, **({"name": ref.name} if ref.name else {})}


def summary_of(snapshot: QueueSnapshot | ConsumerSnapshot) -> dict[str, Any]:
    """How an object is, in short."""
    return {
        **name_of(snapshot.ref),
        "role": snapshot.role.value,
        "pass_index": snapshot.pass_index,
        "pass_instant": encode_instant(snapshot.pass_instant),
        "error": None if snapshot.error is None else snapshot.error.to_map(),
    }


def facts_of(facts: PassFacts) -> Document:
    """How passes of the agent went."""
    return {
        "pass_index": facts.pass_index,
        "pass_instant": None if facts.pass_instant is None else encode_instant(facts.pass_instant),
        "error": None if facts.error is None else facts.error.to_map(),
        "last_success_instant": (
            None if facts.last_success_instant is None else encode_instant(facts.last_success_instant)
        ),
    }


def _page(
    question: Question,
    name: str,
    snapshots: Mapping[CrossClusterRef, QueueSnapshot] | Mapping[CrossClusterRef, ConsumerSnapshot],
    overview: Callable[[CrossClusterRef], Any],
) -> Document:
    """At most `limit` objects behind the reference `after`; `next` is what to give as `after` for the rest, or null.

    With `overview=true` each has its figures.
    """
    with_overview = question.parameters.get("overview") == "true"
    limit = read_limit(question.parameters.get("limit"))
    after = question.parameters.get("after")
    refs = sorted((ref for ref in snapshots if after is None or str(ref) > after), key=str)
    shown = refs[:limit]

    def show(ref: CrossClusterRef) -> Any:
        entry = isolate(
            "page",
            ref,
            lambda: to_json({**summary_of(snapshots[ref]), **({"overview": overview(ref)} if with_overview else {})}),
        )
        if isinstance(entry, UnexpectedError):
            return {**name_of(ref), "error": ErrorInfo(entry.message).to_map()}
        return entry

    return {
        name: [show(ref) for ref in shown],
        "total": len(snapshots),
        "next": str(shown[-1]) if len(refs) > len(shown) else None,
    }
