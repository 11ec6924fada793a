from __future__ import annotations

import pytest

from queue_agent.adapters.cluster.yt_errors import outcome_of, to_cluster_error
from queue_agent.errors import AccessDenied, ClusterError, ClusterUnavailable, ObjectNotFound, TabletNotMounted
from yt_wire.error import YtError


@pytest.mark.parametrize(
    ("code", "kind", "outcome"),
    [
        (3, ClusterUnavailable, "unavailable"),
        (100, ClusterUnavailable, "unavailable"),
        (105, ClusterUnavailable, "unavailable"),
        (2100, ClusterUnavailable, "unavailable"),
        (500, ObjectNotFound, "not_found"),
        (1701, TabletNotMounted, "not_mounted"),
        (1702, TabletNotMounted, "not_mounted"),
        (900, AccessDenied, "denied"),
        (901, AccessDenied, "denied"),
        (1, ClusterError, "error"),
    ],
)
def test_codes_choose_the_class_wherever_they_are_in_the_tree(
    code: int, kind: type[ClusterError], outcome: str
) -> None:
    for error in (YtError("it", code), YtError("outer", 1, inner_errors=[YtError("it", code)])):
        translated = to_cluster_error(error, "get //tmp/q on cluster hume")
        assert type(translated) is kind
        assert translated.code == code
        assert outcome_of(translated) == outcome


def test_a_code_that_means_nothing_to_the_agent_is_kept() -> None:
    translated = to_cluster_error(YtError("exists", 501), "create //tmp/q on cluster hume")
    assert type(translated) is ClusterError
    assert translated.code == 501
    assert outcome_of(translated) == "error"


def test_a_translated_error_tells_the_request_and_keeps_the_whole_answer() -> None:
    error = YtError("outer", 1, {"a": 5}, [YtError("inner", 500)])
    translated = to_cluster_error(error, "get //tmp/q on cluster hume")
    assert translated.message == "get //tmp/q on cluster hume failed: outer (code 1); inner (code 500)"
    assert translated.details == error.to_map()
    assert translated.__cause__ is error


def test_success_is_an_outcome_too() -> None:
    assert outcome_of(None) == "ok"
