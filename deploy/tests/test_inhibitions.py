"""Alertmanager holds back what another alert says already, about the same subject alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import aiohttp
import yaml

from deploy.incident_tests.alertmanager_server import alertmanager_server
from deploy.incident_tests.stage import seconds_until
from deploy.tests.prometheus_server import DEPLOY

RULES: Final = yaml.safe_load((DEPLOY / "prometheus/alertmanager.yml").read_text())["inhibit_rules"]
NAMES: Final = [
    rule["alert"]
    for path in (DEPLOY / "prometheus/rules").glob("*.yaml")
    for group in yaml.safe_load(path.read_text())["groups"]
    for rule in group["rules"]
    if "alert" in rule
]
TEXTS: Final = {"summary": "a summary", "description": "a description"}


def matched(matchers: list[str]) -> list[str]:
    """Names of our alerts that the matchers of one side of a rule mean."""
    [matcher] = matchers
    pattern = matcher.partition("=")[2].strip('~"')
    return [name for name in NAMES if re.fullmatch(pattern, name)]


def pairs() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Each alert that holds back another, that other one, and the labels that both must share."""
    for rule in RULES:
        for source in matched(rule["source_matchers"]):
            for target in matched(rule["target_matchers"]):
                yield source, target, tuple(rule["equal"])


def test_a_race_with_trimming_is_one_message() -> None:
    """A reader that loses a race has a lag of unknown age again and again."""
    assert {target for source, target, _ in pairs() if source == "ConsumerRacesTrimming"} == {"ConsumerLagUnknown"}


async def test_each_rule_holds_back_alerts_about_the_same_subject_and_no_others(tmp_path: Path) -> None:
    posted: list[dict[str, Any]] = []
    expected: set[tuple[str, str]] = set()
    for number, (source, target, equal) in enumerate(pairs()):
        for label in equal:  # about it, and about what differs in one label
            same = dict.fromkeys(equal, f"{number}-{label}")
            held = {"alertname": target, "case": f"{number}-{label}-held", **same}
            free = {"alertname": target, "case": f"{number}-{label}-free", **same, label: "of another"}
            posted += [{"labels": one, "annotations": TEXTS} for one in ({"alertname": source, **same}, held, free)]
            expected.add((target, held["case"]))
    async with alertmanager_server(tmp_path) as mailbox, aiohttp.ClientSession() as session:
        url = f"http://{mailbox.address}/api/v2/alerts"
        async with session.post(url, json=posted) as response:
            assert response.status == 200, await response.text()

        async def are_held_back() -> bool:
            async with session.get(url) as response:
                labels = [one["labels"] for one in await response.json() if one["status"]["inhibitedBy"]]
            return {(one["alertname"], one["case"]) for one in labels if "case" in one} == expected

        await seconds_until(are_held_back, "alerts are held back, and no others")
