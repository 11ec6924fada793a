"""The table of what keeps partitions from being trimmed, and what names its rows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from queue_agent.trim_policies import ConstraintKind

RULES = Path(__file__).parents[2] / "deploy" / "prometheus" / "rules" / "queues.yaml"


def test_where_nothing_is_held_nobody_can_mend_anything() -> None:
    assert {kind.value for kind in ConstraintKind if kind.is_final} == {"end_of_partition", "disabled"}


@pytest.mark.parametrize("kind", ConstraintKind)
def test_a_policy_has_words_and_a_colour(kind: ConstraintKind) -> None:
    assert kind.words
    assert re.fullmatch("#[0-9a-f]{6}", kind.color)


def test_alerts_name_policies_of_the_table() -> None:
    named = {name for names in re.findall(r'kind=~"([a-z_|]+)"', RULES.read_text()) for name in names.split("|")}
    assert named
    assert named <= {kind.value for kind in ConstraintKind}
