from __future__ import annotations

from typing import Any

import pytest

from queue_agent.core.access.acts import MAX_PARTITIONS, MAX_TEXT, ActKind, ActRequest, check_path, read_act
from queue_agent.core.values.refs import CrossClusterRef

QUEUE = CrossClusterRef("pythia", "//home/q")
CONSUMER = CrossClusterRef("hume", "//home/c", "name")
PAIR: dict[str, Any] = {
    "cluster": "hume",
    "path": "//home/c",
    "name": "name",
    "queue_cluster": "pythia",
    "queue_path": "//home/q",
}


def test_requests_name_what_their_kind_needs() -> None:
    assert read_act(ActKind.BAN, {"agent": "a:1"}) == ActRequest(ActKind.BAN, agent="a:1")
    assert read_act(ActKind.MOUNT, {"cluster": "pythia", "path": "//home/q"}) == ActRequest(ActKind.MOUNT, QUEUE)
    reset = read_act(ActKind.RESET, {**PAIR, "to": "latest", "partitions": [3, 0, 3]})
    assert reset == ActRequest(ActKind.RESET, QUEUE, CONSUMER, to="latest", partitions=(0, 3))
    assert read_act(ActKind.RESET, {**PAIR, "to": "latest", "partitions": None}).partitions == ()
    assert read_act(ActKind.REGISTER, {**PAIR, "vital": False}).vital is False
    assert read_act(ActKind.UNREGISTER, {**PAIR, "name": ""}).consumer == CONSUMER.table


def test_requests_are_told_of_in_words_and_by_their_clusters() -> None:
    assert read_act(ActKind.BAN, {"agent": "a:1"}).subject == "a:1"
    assert read_act(ActKind.MOUNT, {"cluster": "pythia", "path": "//home/q"}).subject == "pythia://home/q"
    request = read_act(ActKind.UNREGISTER, PAIR)
    assert request.subject == f"{CONSUMER} in {QUEUE}"
    assert request.clusters == {"pythia", "hume"}


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (ActKind.BAN, {}),
        (ActKind.BAN, {"agent": 5}),
        (ActKind.BAN, {"agent": "a" * (MAX_TEXT + 1)}),
        (ActKind.REGISTER, {"vital": "yes"}),
        (ActKind.REGISTER, {}),
        (ActKind.RESET, {}),
        (ActKind.RESET, {"to": "latest", "partitions": "all"}),
        (ActKind.RESET, {"to": "latest", "partitions": [-1]}),
        (ActKind.RESET, {"to": "latest", "partitions": [True]}),
        (ActKind.RESET, {"to": "latest", "partitions": [0] * (MAX_PARTITIONS + 1)}),
        (ActKind.MOUNT, {"path": ["//q"]}),
        (ActKind.MOUNT, {"path": "//home/q/@auto_trim_config"}),
    ],
)
def test_what_is_wrong_is_refused(kind: ActKind, change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        read_act(kind, {**PAIR, **change})


@pytest.mark.parametrize(
    "path", ["", "//", "/home", "#1-2-3-4", "//q/@acl", "//q{a,b}", "//q[#0:#1]", "//q/", "<a=1>//q"]
)
def test_only_paths_of_tables_are_taken(path: str) -> None:
    with pytest.raises(ValueError, match="a path must"):
        check_path(path)


@pytest.mark.parametrize("path", ["//q", r"//q\/\@acl", r"//q\[x\]y", "//\u202egnp", r"//\x1b\[31m"])
def test_strange_names_are_names(path: str) -> None:
    check_path(path)
