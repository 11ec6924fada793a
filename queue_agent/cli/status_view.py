"""What `queue-agent status` shows, as tables for terminals and for files alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.text import Text

from queue_agent.cli import words
from queue_agent.cli.listing import Listing
from queue_agent.cli.statuses import (
    Document,
    Overview,
    consumer_problems,
    innermost,
    name_of,
    price_words,
    queue_problems,
)
from queue_agent.core.verdicts.quota import SOON
from queue_agent.core.verdicts.sentences import duration
from queue_agent.core.verdicts.values import Verdict

_GOOD: Final = "green"
_BAD: Final = "red"
_UNCERTAIN: Final = "yellow"
_QUIET: Final = "dim"
_UNTOUCHED: Final = "1970-"

_COLUMNS_OF_FILES: Final = 400
"""Lines of a file are not broken; whatever reads it may do so."""

COLORS: Final[Mapping[str, str]] = {"red": _BAD, "amber": _UNCERTAIN, "gray": _QUIET, "blue": "blue", "green": _GOOD}
"""Of verdicts in terminals."""


def make_console() -> Console:
    """Standard output: coloured if it is a terminal and NO_COLOR is not set."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_COLUMNS_OF_FILES)


def view_overview(overview: Overview, now: datetime, *, only_problems: bool = False) -> RenderableType:
    """All agents, queues and consumers; with `only_problems` the overview has no others."""
    parts: list[RenderableType] = [_agent(one, now) for one in overview.agents]
    parts += [Text(f"not everything is here: {one}", _BAD) for one in overview.missing]
    if overview.queues:
        parts += [Text(), _queues(overview.queues, now)]
    if overview.consumers:
        parts += [Text(), _consumers(overview.consumers, now)]
    if not overview.queues and not overview.consumers:
        parts += [Text(), Text("nothing is wrong" if only_problems else "no queues and no consumers", _QUIET)]
    problems = [*_problems(overview)]
    if problems:
        parts += [Text(), *problems]
    elsewhere = _elsewhere(overview)
    if elsewhere and not only_problems:
        parts += [Text(), Text(elsewhere, _QUIET)]
    return Group(*parts)


def view_queue(document: Document, now: datetime) -> RenderableType:
    """One queue with its consumers and partitions."""
    status = document["status"]
    parts: list[RenderableType] = [_head("queue", document, now), *_errors(status.get("error"))]
    parts += [
        line for category, alert in (status.get("alerts") or {}).items() for line in _errors(alert, f"alert {category}")
    ]
    if "write_row_count_rate" in status:
        parts.append(_rates("written", status["write_row_count_rate"], status["write_data_weight_rate"]))
    if status.get("time_to_quota"):
        parts.append(_quota(status["time_to_quota"]))
    dead = status.get("dead_vital_consumers") or ()
    parts += [Text(f"{one['consumer']} {price_words(one)}", _BAD) for one in dead]
    if status.get("registrations"):
        parts += [Text(), _registrations(status["registrations"])]
    exports = status.get("exports") or {}
    if exports.get("progress"):
        parts += [Text(), _exports(exports["progress"], now)]
    if document["partitions"]:
        parts += [Text(), _queue_partitions(document["partitions"], now)]
    return Group(*parts)


def view_consumer(document: Document, now: datetime) -> RenderableType:
    """One consumer with its position in every partition of its queues."""
    status, partitions = document["status"], document["partitions"] or {}
    parts: list[RenderableType] = [_head("consumer", document, now), *_errors(status.get("error"))]
    vital = {one["queue"]: one["vital"] for one in status.get("registrations", ())}
    if not vital and "error" not in status:
        parts.append(Text("registered with no queue", _UNCERTAIN))
    for queue, position in status.get("queues", {}).items():
        parts += [Text(), Text(f"{queue}{'  vital' if vital.get(queue) else ''}", "bold")]
        parts += _errors(position.get("error"))
        if "verdict" in position:
            parts.append(_sentence(position))
        if position.get("price"):
            parts.append(Text(price_words(position["price"]), _BAD))
        if "read_row_count_rate" in position:
            parts.append(_rates("read", position["read_row_count_rate"], position["read_data_weight_rate"]))
        if partitions.get(queue):
            parts.append(_consumer_partitions(partitions[queue], now))
    return Group(*parts)


def _agent(agent: Document, now: datetime) -> RenderableType:
    line = Text.assemble(
        ("agent ", "bold"),
        agent["address"],
        "  ",
        ("ready", _GOOD) if agent["ready"] else ("not ready", _BAD),
        (f"  version {agent['version']}, started {words.age(agent['start_time'], now)}", _QUIET),
    )
    alerts = [
        line for category, error in agent["alerts"].items() for line in _errors(error, f"alert {category}", indent=2)
    ]
    return Group(line, *alerts)


def _elsewhere(overview: Overview) -> str:
    """What the stage has and is not here."""
    here = {"queues": len(overview.queues), "consumers": len(overview.consumers)}
    stage = {kind: max(one[f"stage_{kind[:-1]}_count"] for one in overview.agents) for kind in here}
    missing = [f"{stage[kind] - count} {kind}" for kind, count in here.items() if stage[kind] > count]
    return (
        f"{' and '.join(missing)} of the stage are not here: the agents that lead them do not answer" if missing else ""
    )


def _queues(queues: Sequence[Document], now: datetime) -> Listing:
    numbers = ("partitions", "rows", "size", "written", "last row", "held")
    table = Listing(
        *("queue", *numbers, "consumers", "state"),
        numbers=numbers,
        whole=("consumers", "state"),
        expendable=("size", "last row", "partitions", "written"),
    )
    for queue in queues:
        figures = queue["overview"] or {}
        problems = queue_problems(queue)
        failing, held = figures.get("failing_consumer_count", 0), figures.get("trim_held_row_count")
        consumers = words.count(figures.get("consumer_count"))
        if figures.get("vital_consumer_count"):
            consumers += f", {figures['vital_consumer_count']} vital"
        table.add(
            name_of(queue),
            words.count(figures.get("partition_count")),
            words.count(figures.get("row_count")),
            words.amount(figures.get("data_weight")),
            words.rate(figures.get("write_row_count_rate")),
            words.age(figures["last_row_commit_time"], now) if "last_row_commit_time" in figures else words.UNKNOWN,
            Text("-", _QUIET) if held is None else words.count(held),
            Text(consumers, _BAD if failing else ""),
            _state(queue, problems),
        )
    return table


def _consumers(consumers: Sequence[Document], now: datetime) -> Listing:
    numbers = ("unread", "lag", "read", "last read")
    table = Listing(
        "consumer", "queue", *numbers, "state", numbers=numbers, whole=("state",), expendable=("read", "last read")
    )
    for consumer in consumers:
        positions = consumer["overview"] or ()
        if not positions:
            table.add(name_of(consumer), Text("-", _QUIET), *[words.UNKNOWN] * len(numbers), _state(consumer, []))
        for index, one in enumerate(positions):
            verdict = _word(one["verdict"])
            failed = one.get("failed_partition_count")
            table.add(
                name_of(consumer) if index == 0 else "",
                Text.assemble(one["queue"], ("  vital", "bold") if one["vital"] else ""),
                words.count(one.get("unread_row_count")),
                words.duration(one.get("processing_lag")),
                words.rate(one.get("read_row_count_rate")),
                words.age(one["last_consume_time"], now) if "last_consume_time" in one else words.UNKNOWN,
                Text(f"{verdict}, not all read", _UNCERTAIN) if failed and verdict.style == _GOOD else verdict,
            )
    return table


def _state(one: Document, problems: Sequence[str]) -> Text:
    if one["error"] is not None:
        return Text("error", _BAD)
    if one["pass_index"] == 0:
        return Text("not polled yet", _QUIET)
    return Text("see below", _UNCERTAIN) if problems else Text("fine", _GOOD)


def _problems(overview: Overview) -> Iterator[Text]:
    for one, problems in (
        *((one, queue_problems(one)) for one in overview.queues),
        *((one, consumer_problems(one)) for one in overview.consumers),
    ):
        for problem in problems:
            yield Text.assemble((name_of(one), "bold"), "  ", (problem, _BAD))


def _head(kind: str, document: Document, now: datetime) -> Text:
    seen = f"  {document['role']}, pass {document['pass_index']}, seen {words.age(document['pass_instant'], now)}"
    return Text.assemble((f"{kind} ", "bold"), name_of(document), (seen, _QUIET))


def _errors(error: Document | None, label: str = "error", indent: int = 0) -> list[Text]:
    """An error and all in it, the inner ones indented."""
    if error is None:
        return []
    line = Text(f"{' ' * indent}{label}: {error['message']} (code {error['code']})", _BAD)
    inner = error.get("inner_errors") or ()
    return [line, *(one for each in inner for one in _errors(each, "because of", indent + 2))]


def _rates(what: str, rows: Document, weight: Document) -> Text:
    windows = (("1m", "the last minute"), ("1h", "hour"), ("1d", "day"))
    shown = (f"{name} {words.rate(rows[key])}, {words.byte_rate(weight[key])}" for key, name in windows)
    return Text(f"{what} in {'; '.join(shown)}")


def _quota(quota: Document) -> Text:
    """When the account that pays for a queue is full."""
    resource = f"disk space of medium {quota['medium']}" if quota["medium"] else "chunks"
    amount = words.amount if quota["medium"] else words.count
    used = f"account {quota['account']} uses {amount(quota['used'])} of {amount(quota['limit'])} {resource}"
    left = quota["value"]
    if left is None:
        return Text(f"{used}: {quota['cause'].replace('_', ' ')}", _QUIET)
    is_soon = left < SOON
    holder = f", {quota['subject']} holds rows" if quota["subject"] and is_soon else ""
    return Text(f"{used}: full in {duration(left)}{holder}", _BAD if is_soon else "")


def _registrations(registrations: Sequence[Document]) -> Listing:
    table = Listing("consumer", "vital", "verdict", "reason", whole=("verdict",))
    for one in registrations:
        error = one.get("error")
        table.add(
            one["consumer"],
            "yes" if one["vital"] else "no",
            _word(one["verdict"]),
            Text(one["reason"] or "") if error is None else Text(innermost(error), _BAD),
        )
    return table


def _sentence(position: Document) -> Text:
    """The verdict on a consumer in one of its queues, why, and what to do."""
    reason, action = position.get("reason"), position.get("action")
    why = f": {reason}" if reason else ""
    return Text.assemble(_word(position["verdict"]), why, f". Do: {action}" if action else "")


def _word(verdict: str) -> Text:
    """A verdict in its color."""
    known = Verdict(verdict)
    return Text(known.value.replace("_", " "), COLORS[known.color])


def _exports(progress: Mapping[str, Document], now: datetime) -> Listing:
    """How far static exports are; rows count from the first ever written."""
    numbers = ("chunks", "rows before", "last table before", "last task")
    table = Listing("export", *numbers, numbers=numbers)
    for name, one in sorted(progress.items()):
        tablets, tick = one["tablets"].values(), one["last_export_unix_ts"]
        table.add(
            name,
            words.count(sum(tablet["chunk_count"] for tablet in tablets)),
            words.count(sum(tablet["row_count"] for tablet in tablets)),
            datetime.fromtimestamp(tick, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if tick else "-",
            _age(one["last_successful_export_task_instant"], now),
        )
    return table


def _queue_partitions(partitions: Sequence[Document], now: datetime) -> Listing:
    numbers = ("partition", "first row", "end", "rows", "size", "written", "last row")
    last = "not trimmed further because of"
    table = Listing(*numbers, "host", last, numbers=numbers, expendable=("written", "last row", "size", "rows"))
    for index, one in enumerate(partitions):
        trim = _trim(one.get("trim"))
        if "error" in one:
            table.add(str(index), *[words.UNKNOWN] * (len(numbers) - 1), Text(innermost(one["error"]), _BAD), trim)
            continue
        table.add(
            str(index),
            words.count(one["lower_row_index"]),
            words.count(one["upper_row_index"]),
            words.count(one["available_row_count"]),
            words.amount(one["available_data_weight"]),
            words.rate(one["write_row_count_rate"]["1m"]),
            _age(one["last_row_commit_time"], now),
            one["meta"]["host"],
            trim,
        )
    return table


def _trim(trim: Document | None) -> Text:
    if trim is None:
        return Text("not to be trimmed", _QUIET)
    constraint = trim["constraint"]
    parts = (constraint["kind"].replace("_", " "), constraint["subject"], constraint["message"])
    return Text(" ".join(part for part in parts if part), _BAD if constraint["kind"] == "error" else "")


def _consumer_partitions(partitions: Sequence[Document], now: datetime) -> Listing:
    numbers = ("partition", "next row", "unread", "lag", "read", "last read")
    table = Listing(*numbers, "state", numbers=numbers, expendable=("read",))
    for index, one in enumerate(partitions):
        if "error" in one:
            unknown = [words.UNKNOWN] * 3
            error = Text(innermost(one["error"]), _BAD)
            consumed = _age(one["last_consume_time"], now)
            table.add(str(index), words.count(one["next_row_index"]), *unknown, consumed, error)
            continue
        disposition = one["disposition"]
        style = _GOOD if disposition in ("up_to_date", "pending_consumption") else _BAD
        waits_unknown = disposition == "pending_consumption" and one["next_row_commit_time"] is None
        table.add(
            str(index),
            words.count(one["next_row_index"]),
            words.count(one["unread_row_count"]),
            words.UNKNOWN if waits_unknown else words.duration(one["processing_lag"]),
            words.rate(one["read_row_count_rate"]["1m"]),
            _age(one["last_consume_time"], now),
            Text(disposition.replace("_", " "), style),
        )
    return table


def _age(instant: str, now: datetime) -> str:
    """The reference has the epoch where there is nothing to tell."""
    return words.age(None if instant.startswith(_UNTOUCHED) else instant, now)
