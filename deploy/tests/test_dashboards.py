"""Dashboards: as they are in the files, and held against the metrics there are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.grafana.generate import FOLDER, files
from queue_agent.adapters.metrics.compatible_families import COMPATIBLE_OBJECT_FAMILIES
from queue_agent.adapters.metrics.metric_families import OWN_AGENT_FAMILIES, OWN_OBJECT_FAMILIES
from queue_agent.dashboards.grafana import DASHBOARDS
from queue_agent.dashboards.panels import Dashboard, grafana_json
from queue_agent.dashboards.ui_documents import CONSUMER_METRICS, QUEUE_METRICS, ui_documents

UI_UNITS = {"bytes", "Bps", "count", "cps", "decbytes", "s"}
SCRAPED = {"cluster", "service", "instance", "job"}
DERIVED = {"alertstate", "alertname", "partition_index", "le"}
EVERYTHING = [*DASHBOARDS.values(), QUEUE_METRICS, CONSUMER_METRICS]


def expressions(dashboard: Dashboard) -> Iterator[str]:
    for row in dashboard.rows:
        for panel in row.panels:
            for target in panel.targets:
                yield target.expr


def test_the_files_are_those_the_code_makes() -> None:
    assert {path.name: path.read_text() for path in FOLDER.glob("*.json")} == files()


@pytest.mark.parametrize("dashboard", EVERYTHING, ids=lambda dashboard: dashboard.uid)
def test_dashboards_ask_for_metrics_and_labels_that_there_are(dashboard: Dashboard) -> None:
    families = (*OWN_AGENT_FAMILIES, *OWN_OBJECT_FAMILIES, *COMPATIBLE_OBJECT_FAMILIES)
    labels = {family.name: {*family.labels} for family in families}
    recorded = {
        rule["record"]
        for rule in yaml.safe_load((Path(__file__).parent.parent / "prometheus/rules/recording.yaml").read_text())[
            "groups"
        ][0]["rules"]
    }
    for expr in expressions(dashboard):
        for name, matchers in re.findall(r"\b((?:yt_)?queue_agent[\w:]+)\{([^}]*)\}", expr):
            family = re.sub(r"_(bucket|sum|count)$", "", name) if name not in labels else name
            assert family in labels or name in recorded, expr
            wanted = set(re.findall(r"(\w+)(?:=~|!~|!=|=)\"", matchers))
            assert wanted <= labels[family] | SCRAPED | DERIVED, expr


@pytest.mark.parametrize("dashboard", DASHBOARDS.values(), ids=lambda dashboard: dashboard.uid)
def test_panels_do_not_lie_upon_each_other_and_variables_are_declared(dashboard: Dashboard) -> None:
    model = grafana_json(dashboard)
    taken: set[tuple[int, int]] = set()
    for panel in model["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
    declared = {variable["name"] for variable in model["templating"]["list"]} | {"__rate_interval"}
    for expr in expressions(dashboard):
        assert set(re.findall(r"\$(\w+)", expr)) <= declared, expr


@pytest.mark.parametrize("name", ["queue-metrics", "queue-consumer-metrics"])
def test_documents_keep_to_what_the_ui_understands(name: str) -> None:
    document: dict[str, Any] = dict(ui_documents()[name])
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in document["panels"]]
    assert len(places) == len(set(places))
    declared = {variable["name"] for variable in document["templating"]["list"]}
    assert {part for permission in document["templating"]["permissions"] for part in permission.values()} == {
        "read",
        *(f"${label}" for label in declared),
    }
    for panel in document["panels"]:
        assert panel["type"] in ("row", "timeseries")
        for target in panel.get("targets", ()):
            assert panel["fieldConfig"]["defaults"]["unit"] in UI_UNITS
            # The UI puts values in place of variables only between quotes.
            assert set(re.findall(r'"\$(\w+)"', target["expr"])) == {
                word for word in re.findall(r"\$(\w+)", target["expr"]) if word != "__rate_interval"
            }
