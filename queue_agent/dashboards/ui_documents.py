"""Dashboards for the UI of YTsaurus: documents in Cypress, which it shows at the pages of queues and consumers.

They ask for what the official ones ask for, and for more; with the C++ agent what it does not tell stays empty. The UI
finds a panel by its place and puts values in place of variables as they are, which is why a variable stands in quotes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from queue_agent.dashboards.panels import Dashboard, Panel, Row, Target, ref_id

DIRECTORY: Final = "//sys/interface_monitoring"
OLD_DIRECTORY: Final = "//sys/interface-monitoring"
"""Of UI 3.12.2 and earlier."""

_HEIGHT: Final = 6
_ROW_HEIGHT: Final = 1
_RATE: Final = "[$__rate_interval]"
_QUEUE_LABELS: Final = ("queue_cluster", "queue_path")
_CONSUMER_LABELS: Final = ("consumer_cluster", "consumer_path")
_LABEL_TITLES: Final = {
    "queue_cluster": "Queue cluster",
    "queue_path": "Queue path",
    "consumer_cluster": "Consumer cluster",
    "consumer_path": "Consumer path",
}


def _series(name: str, labels: Sequence[str], *matchers: str) -> str:
    chosen = ",".join([*(f'{label}=~"${label}"' for label in labels), *matchers])
    return f'{name}{{cluster=~".+",service=~"yt-queue-agent",{chosen}}}'


def _queue(name: str, *matchers: str) -> str:
    return _series(name, _QUEUE_LABELS, *matchers)


def _pair(name: str, *matchers: str) -> str:
    return _series(name, (*_CONSUMER_LABELS, *_QUEUE_LABELS), *matchers)


def _of_all(name: str) -> str:
    return _queue(f"yt_queue_agent_queue_partition_{name}", 'partition_index=""')


def _pair_of_all(name: str) -> str:
    return _pair(f"yt_queue_agent_consumer_partition_{name}", 'partition_index=""')


def _rate(series: str) -> str:
    return f"rate({series}{_RATE})"


QUEUE_METRICS: Final = Dashboard(
    "ytsaurus-queue-metrics",
    "Queue metrics",
    "What is written, what is there, who reads it and what keeps it.",
    (
        Row(
            "Writing",
            (
                Panel(
                    "Rows written & trimmed",
                    [
                        Target(_rate(_of_all("rows_written")), "Rows written"),
                        Target(_rate(_of_all("rows_trimmed")), "Rows trimmed"),
                    ],
                    "cps",
                ),
                Panel(
                    "Data weight written", [Target(_rate(_of_all("data_weight_written")), "Data weight written")], "Bps"
                ),
                Panel("Queue stored row count", [Target(_of_all("row_count"), "Row count")], "count"),
                Panel("Queue stored data weight", [Target(_of_all("data_weight"), "Data weight")], "decbytes"),
            ),
        ),
        Row(
            "Reading",
            (
                Panel(
                    "Partition count",
                    [
                        Target(_queue("yt_queue_agent_queue_partitions"), "All"),
                        Target(_queue("queue_agent_queue_partitions", 'state="error"'), "Not readable"),
                    ],
                    "count",
                ),
                Panel(
                    "Consumer count",
                    [
                        Target(_queue("yt_queue_agent_queue_consumers", 'vital="true"'), "Vital"),
                        Target(_queue("yt_queue_agent_queue_consumers", 'vital="false"'), "Non-vital"),
                    ],
                    "count",
                ),
                Panel(
                    "Oldest unread row by consumer",
                    [
                        Target(
                            _queue("queue_agent_consumer_lag_seconds"),
                            "{{consumer_cluster}}:{{consumer_path}} {{consumer_name}}",
                        )
                    ],
                    "s",
                ),
                Panel(
                    "Unread rows by consumer",
                    [
                        Target(
                            _queue("queue_agent_consumer_lag_rows"),
                            "{{consumer_cluster}}:{{consumer_path}} {{consumer_name}}",
                        )
                    ],
                    "count",
                ),
            ),
        ),
        Row(
            "Trimming",
            (
                Panel(
                    "Partitions by what holds them back",
                    [Target(_queue("queue_agent_queue_trim_constraint_partitions"), "{{kind}}")],
                    "count",
                ),
                Panel(
                    "Rows that could go but for that",
                    [Target(_queue("queue_agent_queue_trim_held_rows"), "{{kind}}")],
                    "count",
                ),
            ),
        ),
    ),
)

CONSUMER_METRICS: Final = Dashboard(
    "ytsaurus-queue-consumer-metrics",
    "Queue consumer metrics",
    "How far behind it is, how fast it reads, and whether it will lose rows.",
    (
        Row(
            "Speed and lag",
            (
                Panel("Rows consumed", [Target(_rate(_pair_of_all("rows_consumed")), "Rows consumed")], "cps"),
                Panel(
                    "Data weight consumed",
                    [Target(_rate(_pair_of_all("data_weight_consumed")), "Data weight consumed")],
                    "Bps",
                ),
                Panel("Total row lag", [Target(_pair_of_all("lag_rows_sum"), "Row lag")], "count"),
                Panel("Max time lag", [Target(_pair_of_all("lag_time_max"), "Time lag")], "s"),
                Panel("Data weight lag", [Target(_pair_of_all("lag_data_weight_sum"), "Data weight lag")], "decbytes"),
                Panel("Offset", [Target(_pair_of_all("offset_max"), "Largest of all partitions")], "count"),
            ),
        ),
        Row(
            "Loss of rows",
            (
                Panel(
                    "Partitions by where it stands",
                    [Target(_pair("queue_agent_consumer_partitions"), "{{disposition}}")],
                    "count",
                ),
                Panel(
                    "Rows to the trimmed ones, and rows lost",
                    [
                        Target(_pair("queue_agent_consumer_headroom_rows"), "To the trimmed ones"),
                        Target(_pair("queue_agent_consumer_expired_rows"), "Lost"),
                    ],
                    "count",
                ),
            ),
        ),
    ),
)

_DOCUMENTS: Final = {
    "queue-metrics": (QUEUE_METRICS, (_QUEUE_LABELS,)),
    "queue-consumer-metrics": (CONSUMER_METRICS, (_CONSUMER_LABELS, _QUEUE_LABELS)),
}


def ui_documents() -> Mapping[str, dict[str, Any]]:
    """The documents by the names under which the UI looks for them."""
    return {name: _document(dashboard, subjects) for name, (dashboard, subjects) in _DOCUMENTS.items()}


def _document(dashboard: Dashboard, subjects: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """A dashboard; who looks at it has to be allowed to read its subjects, labels of a cluster and a path each."""
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "tags": ["queue-agent"],
        "panels": list(_panels(dashboard.rows)),
        "templating": {
            "list": [_variable(label) for subject in subjects for label in subject],
            "permissions": [
                {"cluster": f"${cluster}", "path": f"${path}", "permission": "read"} for cluster, path in subjects
            ],
        },
    }


def _panels(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    top = 0
    for row in rows:
        yield {"type": "row", "title": row.title, "gridPos": {"h": _ROW_HEIGHT, "w": 24, "x": 0, "y": top}}
        top += _ROW_HEIGHT
        for number, panel in enumerate(row.panels):
            position = {"h": _HEIGHT, "w": 12, "x": 12 * (number % 2), "y": top + _HEIGHT * (number // 2)}
            yield _panel(panel, position)
        top += _HEIGHT * ((len(row.panels) + 1) // 2)


def _panel(panel: Panel, position: dict[str, int]) -> dict[str, Any]:
    refs = [ref_id(index) for index in range(len(panel.targets))]
    return {
        "type": "timeseries",
        "title": panel.title,
        "gridPos": position,
        "datasource": None,
        "fieldConfig": {
            "defaults": {"unit": panel.unit, "custom": {"hideFrom": {"legend": False}}},
            "overrides": [
                {
                    "matcher": {"id": "byFrameRefID", "options": ref},
                    "properties": [{"id": "unit", "value": panel.unit}],
                }
                for ref in refs
            ],
        },
        "targets": [
            {"datasource": None, "expr": target.expr, "legendFormat": target.legend, "refId": ref}
            for target, ref in zip(panel.targets, refs, strict=True)
        ],
    }


def _variable(label: str) -> dict[str, Any]:
    everything = {"selected": True, "text": ".*", "value": ".*"}
    return {
        "name": label,
        "label": _LABEL_TITLES[label],
        "type": "textbox",
        "query": ".*",
        "current": everything,
        "options": [everything],
        "hide": 0,
        "skipUrlSync": False,
        "allFormat": "glob",
    }
