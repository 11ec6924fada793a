"""Alerts and recording rules: judged by promtool, held against the metrics there are; each has a test and a runbook."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from queue_agent.adapters.metrics.metric_families import OWN_AGENT_FAMILIES, OWN_OBJECT_FAMILIES

DEPLOY = Path(__file__).parent.parent
RULE_FILES = sorted((DEPLOY / "prometheus/rules").glob("*.yaml"))
TEST_FILES = sorted((DEPLOY / "prometheus/tests").glob("*.yaml"))


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def rules() -> list[dict[str, Any]]:
    return [rule for path in RULE_FILES for group in load(path)["groups"] for rule in group["rules"]]


def alerts() -> list[dict[str, Any]]:
    return [rule for rule in rules() if "alert" in rule]


def promtool(*arguments: str | Path) -> None:
    done = subprocess.run(["promtool", *arguments], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_finds_nothing_wrong_with_the_rules() -> None:
    promtool("check", "rules", *RULE_FILES)


def test_promtool_finds_nothing_wrong_with_the_configuration() -> None:
    promtool("check", "config", DEPLOY / "prometheus/prometheus.yml")


def test_amtool_finds_nothing_wrong_with_the_alertmanager_and_its_rules_name_alerts_that_there_are() -> None:
    path = DEPLOY / "prometheus/alertmanager.yml"
    done = subprocess.run(["amtool", "check-config", path], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    known = [alert["alert"] for alert in alerts()]
    for rule in load(path)["inhibit_rules"]:
        for matcher in (*rule["source_matchers"], *rule["target_matchers"]):
            found = re.fullmatch(r'alertname=~?"(.+)"', matcher)
            assert found is not None
            for pattern in found[1].split("|"):
                assert any(re.fullmatch(pattern, name) for name in known), pattern


@pytest.mark.parametrize("path", TEST_FILES, ids=lambda path: path.stem)
def test_alerts_fire_when_they_should_and_only_then(path: Path) -> None:
    promtool("test", "rules", path)


def test_a_shell_reads_each_name_in_a_description_as_one_word() -> None:
    named = r'<"cluster"="hume";"queue_consumer_name"="say \"hi\"";>//c'
    known = {"//it's;reboot", "//q", "hume://c", named}
    found: set[str] = set()
    for test in load(DEPLOY / "prometheus/tests/consumers.yaml")["tests"]:
        for case in test["alert_rule_test"]:
            for alert in case.get("exp_alerts", []):
                _, _, command = alert["exp_annotations"]["description"].partition("register-queue-consumer ")
                found |= set(shlex.split(command)[:2])
    assert found == known


def test_every_alert_is_tested_firing_and_silent() -> None:
    cases = [
        (case["alertname"], bool(case.get("exp_alerts")))
        for path in TEST_FILES
        for test in load(path)["tests"]
        for case in test["alert_rule_test"]
    ]
    for alert in alerts():
        assert (alert["alert"], True) in cases
        assert (alert["alert"], False) in cases


def test_every_alert_has_a_runbook_and_every_runbook_an_alert() -> None:
    root = DEPLOY.parent
    linked = {alert["annotations"]["runbook_url"] for alert in alerts()}
    assert linked == {f"docs/runbooks/{alert['alert']}.md" for alert in alerts()}
    assert linked == {str(path.relative_to(root)) for path in (root / "docs/runbooks").glob("*.md")}
    page = (root / "docs/monitoring.md").read_text()
    for alert in alerts():
        assert f"](runbooks/{alert['alert']}.md) | {alert['labels']['severity']} | " in page


def test_links_between_runbooks_lead_somewhere() -> None:
    for path in (DEPLOY.parent / "docs/runbooks").glob("*.md"):
        for link in re.findall(r"\]\(([^)]+)\)", path.read_text()):
            assert (path.parent / link.partition("#")[0]).exists(), f"{path.name}: {link}"


def test_rules_ask_for_metrics_and_labels_that_there_are() -> None:
    labels = {family.name: {*family.labels} for family in (*OWN_AGENT_FAMILIES, *OWN_OBJECT_FAMILIES)}
    for rule in rules():
        for name, matchers in re.findall(r"\b(queue_agent_\w+)(?:\{([^}]*)\})?", rule["expr"]):
            assert name in labels, f"{name} in {rule}"
            assert set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers)) <= labels[name], rule["expr"]


def test_rules_ask_for_recorded_series_that_are_recorded() -> None:
    recorded = {rule["record"] for rule in rules() if "record" in rule}
    for rule in rules():
        assert set(re.findall(r"\bqueue_agent:[\w:]+", rule["expr"])) <= recorded


def test_an_alert_s_expression_ends_with_its_threshold() -> None:
    for alert in alerts():
        assert re.search(r"(==|!=|>=|<=|>|<)\s*-?[0-9][0-9.e+]*$", alert["expr"]), alert["alert"]
