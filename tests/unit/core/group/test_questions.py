from __future__ import annotations

import pytest

from queue_agent.core.group.questions import Missing, Question
from queue_agent.core.values.refs import CrossClusterRef


@pytest.mark.parametrize("path", ["home/q", "//home/q"])
def test_a_question_names_its_object_as_an_address_does(path: str) -> None:
    question = Question("show_series", {"cluster": "pythia", "path": path, "name": "reader"})
    assert question.ref == CrossClusterRef("pythia", "//home/q", "reader")


def test_plans_and_series_of_queues_are_about_queues() -> None:
    assert Question("plan_trim").is_about_queue
    assert Question("show_series", {"kind": "queue"}).is_about_queue
    assert not Question("show_series", {"kind": "consumer"}).is_about_queue


def test_who_is_missing_is_told_with_the_reason() -> None:
    assert Missing("a:1", "no", 3).to_map() == {"agent": "a:1", "reason": "no", "objects": 3}
