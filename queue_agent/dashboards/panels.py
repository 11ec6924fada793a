"""Parts of a dashboard, and the JSON that Grafana, and in a smaller dialect the UI of YTsaurus, read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

WIDTH: Final = 24
"""Columns of the grid."""

PanelKind = Literal["timeseries", "stat", "table", "bargauge"]

_DATASOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}


@dataclass(frozen=True, slots=True)
class Target:
    """One query of a panel."""

    expr: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """What shows the answers to some queries."""

    title: str
    targets: Sequence[Target]
    unit: str
    description: str = ""
    kind: PanelKind = "timeseries"
    width: int = 12
    height: int = 8
    warn_above: float | None = None
    """Values above are shown in red."""


@dataclass(frozen=True, slots=True)
class Row:
    """Panels under a common title, side by side as far as there is room."""

    title: str
    panels: Sequence[Panel]


@dataclass(frozen=True, slots=True)
class Variable:
    """Something people choose at the top of a dashboard; in queries `$name`."""

    name: str
    label: str
    values: str
    """Query for its values: `label_values(metric, label)`."""


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A whole one."""

    uid: str
    title: str
    description: str
    rows: Sequence[Row]
    variables: Sequence[Variable] = ()
    links: Sequence[tuple[str, str]] = field(default_factory=tuple)
    """Title and uid of other dashboards."""


def grafana_json(dashboard: Dashboard) -> dict[str, Any]:
    """The model that Grafana imports; its source of data is a variable."""
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "description": dashboard.description,
        "tags": ["ytsaurus", "queue-agent"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "annotations": {"list": []},
        "links": [
            {"type": "link", "title": title, "url": f"/d/{uid}", "keepTime": True, "includeVars": True}
            for title, uid in dashboard.links
        ],
        "templating": {"list": [_datasource_variable(), *map(_variable, dashboard.variables)]},
        "panels": list(_grafana_panels(dashboard.rows)),
    }


def _grafana_panels(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    number = 0
    top = 0
    for row in rows:
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": row.title,
            "collapsed": False,
            "gridPos": {"h": 1, "w": WIDTH, "x": 0, "y": top},
            "panels": [],
        }
        top += 1
        left = height = 0
        for panel in row.panels:
            if left + panel.width > WIDTH:
                top, left, height = top + height, 0, 0
            number += 1
            yield _grafana_panel(panel, number, {"h": panel.height, "w": panel.width, "x": left, "y": top})
            left += panel.width
            height = max(height, panel.height)
        top += height


def _grafana_panel(panel: Panel, number: int, position: dict[str, int]) -> dict[str, Any]:
    is_now = panel.kind != "timeseries"
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if panel.warn_above is not None:
        steps.append({"color": "red", "value": panel.warn_above})
    defaults: dict[str, Any] = {"unit": panel.unit, "thresholds": {"mode": "absolute", "steps": steps}}
    if not is_now:
        defaults["custom"] = {"fillOpacity": 8, "showPoints": "never", "spanNulls": False}
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": _DATASOURCE,
        "gridPos": position,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": _options(panel.kind),
        "targets": [
            {
                "datasource": _DATASOURCE,
                "expr": target.expr,
                "legendFormat": target.legend or "__auto",
                "refId": ref_id(index),
                "instant": is_now,
                "range": not is_now,
                "format": "table" if panel.kind == "table" else "time_series",
            }
            for index, target in enumerate(panel.targets)
        ],
    }


def _options(kind: PanelKind) -> dict[str, Any]:
    if kind == "timeseries":
        return {
            "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"]},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }
    if kind == "table":
        return {"showHeader": True}
    return {"reduceOptions": {"calcs": ["lastNotNull"], "values": False}, "orientation": "auto"}


def ref_id(index: int) -> str:
    """Name of a query in its panel: A, B, C ..."""
    return chr(ord("A") + index)


def _datasource_variable() -> dict[str, Any]:
    return {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "hide": 0}


def _variable(variable: Variable) -> dict[str, Any]:
    return {
        "name": variable.name,
        "label": variable.label,
        "type": "query",
        "datasource": _DATASOURCE,
        "query": {"query": variable.values, "refId": variable.name},
        "definition": variable.values,
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
        "hide": 0,
    }
