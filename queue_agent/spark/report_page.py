"""The page of a report: HTML that needs no other file."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any, Final, Literal

from queue_agent.spark.report_data import ReportData, Row
from queue_agent.spark.report_plots import tell_count, tell_seconds

MAX_TABLE_ROWS: Final = 200

_STYLE: Final = """
body { font: 15px/1.45 system-ui, sans-serif; color: #1c2024; margin: 2rem auto; max-width: 1240px; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .3rem; }
p { margin: .3rem 0 .8rem; } .note { color: #60646c; }
img { max-width: 100%; display: block; margin: .6rem 0 1rem; }
.scroll { max-height: 32rem; overflow: auto; border: 1px solid #e0e2e6; border-radius: 6px; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th { position: sticky; top: 0; background: #f4f5f7; text-align: left; white-space: nowrap; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid #eceef1; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.text { white-space: nowrap; } td.name { overflow-wrap: anywhere; min-width: 15rem; }
.facts { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1rem 0; }
.facts div { background: #f4f5f7; border-radius: 6px; padding: .5rem .9rem; }
.facts b { display: block; font-size: 1.3rem; }
"""


Kind = Literal["number", "text", "name"]
"""Names are long."""


@dataclass(frozen=True, slots=True)
class _Column:
    title: str
    tell: Callable[[Row], str]
    kind: Kind = "number"


def _name(title: str, name: str) -> _Column:
    return _Column(title, lambda row: _or_dash(row[name], str), "name")


def _count(title: str, name: str) -> _Column:
    return _Column(title, lambda row: _or_dash(row[name], tell_count))


def _seconds(title: str, name: str) -> _Column:
    return _Column(title, lambda row: _or_dash(row[name], tell_seconds))


def _share(title: str, name: str) -> _Column:
    return _Column(title, lambda row: _or_dash(row[name], lambda share: f"{share:.1%}" if share else "0"))


def _moment(title: str, name: str) -> _Column:
    return _Column(title, lambda row: _or_dash(row[name], lambda moment: f"{moment:%Y-%m-%d %H:%M}"), "text")


_QUEUE: Final = _Column("queue", lambda row: f"{row['cluster']}:{row['queue']}", "name")

_CONSUMERS: Final = (
    _name("consumer", "consumer"),
    _QUEUE,
    _Column("vital", lambda row: "yes" if row["vital"] else "", "text"),
    _count("lag, rows: now", "lag_rows_last"),
    _count("average", "lag_rows_avg"),
    _count("highest", "lag_rows_max"),
    _seconds("oldest unread: now", "freshness_last"),
    _seconds("average", "freshness_avg"),
    _seconds("95 %", "freshness_p95"),
    _seconds("highest", "freshness_max"),
    _count("rows/s read", "read_rate"),
    _share("behind", "behind_share"),
    _share("rows lost", "expired_share"),
    _share("in error", "error_share"),
)
_QUEUES: Final = (
    _QUEUE,
    _count("partitions", "partition_count"),
    _count("rows written", "written_rows"),
    _count("rows/s", "write_rate_avg"),
    _count("peak rows/s", "write_rate_max"),
    _count("bytes/s", "write_byte_rate_avg"),
    _count("rows trimmed", "trimmed_rows"),
    _count("rows there", "stored_rows"),
    _seconds("last write ago", "idle_seconds"),
    _share("in error", "error_share"),
)
_RETENTION: Final = (
    _QUEUE,
    _Column("held by", lambda row: str(row["constraint"]).replace("_", " "), "text"),
    _name("who", "subject"),
    _count("rows held: last", "held_rows_last"),
    _count("highest", "held_rows_max"),
    _count("partitions", "partition_count"),
    _share("of the time", "share"),
)
_PROBLEMS: Final = (
    _Column(
        "object",
        lambda row: f"{row['cluster']}:{row['queue']}" if row["queue"] else row["consumer"] or "the agent",
        "name",
    ),
    _Column("consumer", lambda row: _or_dash(row["consumer"] if row["queue"] else None, str), "name"),
    _name("alert", "alert"),
    _Column("code", lambda row: _or_dash(row["error_code"], str)),
    _name("error", "error"),
    _moment("first", "first"),
    _moment("last", "last"),
    _Column("minutes", lambda row: str(row["minutes"])),
)


def render_page(data: ReportData, plots: Mapping[str, bytes], title: str, made_at: datetime) -> str:
    """The whole page.

    Args:
        data: what it tells.
        plots: PNG by name, see `report_plots`.
        title: of the page.
        made_at: shown at the end of the page.
    """
    return "\n".join(_page(data, plots, title, made_at))


def _page(data: ReportData, plots: Mapping[str, bytes], title: str, made_at: datetime) -> Iterator[str]:
    yield f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
    yield f"<style>{_STYLE}</style></head><body>"
    yield f"<h1>{escape(title)}</h1>"
    yield f'<p class="note">{data.since:%Y-%m-%d %H:%M} to {data.until:%Y-%m-%d %H:%M}, UTC</p>'
    if data.is_empty:
        yield "<p><b>The history has no rows of this period.</b> Is it written (section <code>history</code> of the"
        yield "agent's configuration), and exported this far?</p>"
    else:
        yield from _facts(data)
        yield from _section(
            "Consumers",
            "Furthest behind first. <i>Oldest unread</i> is the age of the next row to read.",
            _CONSUMERS,
            data.consumers,
            [plots.get("lag"), plots.get("freshness")],
        )
        busy = [row for row in data.queues if row["written_rows"]]
        idle = [row for row in data.queues if not row["written_rows"]]
        yield from _section("Busy queues", "By rows written.", _QUEUES, busy, [plots.get("queues")])
        yield from _section("Idle queues", "Nothing was written to them, as far as is known.", _QUEUES, idle, [])
        yield from _section(
            "Retention",
            "What kept rows from being trimmed, and whose doing it was.",
            _RETENTION,
            data.retention,
            [plots.get("retention")],
        )
        yield from _section("Errors and alerts", "Those that lasted longest first.", _PROBLEMS, data.problem, [])
    yield f'<p class="note">Made at {made_at:%Y-%m-%d %H:%M} UTC.</p></body></html>'


def _facts(data: ReportData) -> Iterator[str]:
    behind = sum(1 for row in data.consumers if (row["lag_rows_last"] or 0) > 0)
    lost = sum(1 for row in data.consumers if row["expired_share"])
    oldest = max((row["freshness_last"] or 0 for row in data.consumers), default=0)
    facts = (
        (str(len(data.queues)), "queues"),
        (str(len(data.consumers)), "consumers in queues"),
        (str(behind), "behind at the end"),
        (tell_seconds(oldest), "oldest unread row at the end"),
        (str(lost), "lost rows in the period"),
        (tell_count(sum(row["written_rows"] or 0 for row in data.queues)), "rows written"),
    )
    yield '<div class="facts">'
    yield from (f"<div><b>{escape(number)}</b>{escape(what)}</div>" for number, what in facts)
    yield "</div>"


def _section(
    title: str, note: str, columns: Sequence[_Column], rows: Sequence[Row], plots: Sequence[bytes | None]
) -> Iterator[str]:
    yield f"<h2>{title}</h2>"
    if not rows:
        yield '<p class="note">None.</p>'
        return
    left_out = len(rows) - MAX_TABLE_ROWS
    more = f" The first {MAX_TABLE_ROWS} of {len(rows)}; the CSV file has all." if left_out > 0 else ""
    yield f'<p class="note">{note}{more}</p>'
    for plot in plots:
        if plot is not None:
            yield f'<img alt="{title}" src="data:image/png;base64,{b64encode(plot).decode()}">'
    heads = "".join(f'<th class="{column.kind}">{column.title}</th>' for column in columns)
    yield f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>'
    for row in rows[:MAX_TABLE_ROWS]:
        cells = (f'<td class="{column.kind}">{escape(column.tell(row))}</td>' for column in columns)
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"


def _or_dash(value: Any, tell: Callable[[Any], str]) -> str:
    return "–" if value is None else tell(value)
