"""Whether the agent reads the registrations that proxies write."""

from __future__ import annotations

from typing import Any

import pytest

from queue_agent.core.state.connections import Connection, TableFacts, find_name_mismatch, find_registrations_mismatch
from queue_agent.core.values.refs import CrossClusterRef

OURS = CrossClusterRef("hume", "//sys/queue_agents/consumer_registrations")
THEIRS = CrossClusterRef("pythia", "//home/registrations")
PLAIN = TableFacts.parse({"id": "1-1-1-1", "type": "table", "upstream_replica_id": "0-0-0-0"})
REPLICA = TableFacts.parse({"id": "1-1-1-1", "type": "table", "upstream_replica_id": "7-7-7-7"})


def replicated(mode: str, state: str = "enabled", replica_id: str = "7-7-7-7") -> TableFacts:
    replica = {"cluster_name": "hume", "replica_path": OURS.path, "mode": mode, "state": state}
    return TableFacts.parse({"id": "9-9-9-9", "type": "replicated_table", "replicas": {replica_id: replica}})


def mismatch(
    read: list[CrossClusterRef], write: list[CrossClusterRef], facts: dict[CrossClusterRef, TableFacts] | None = None
) -> str | None:
    facts = {OURS: PLAIN} if facts is None else facts
    return find_registrations_mismatch("pythia", OURS, Connection("pythia", read, write), facts)


@pytest.mark.parametrize(
    ("read", "write"),
    [([], []), ([OURS], [OURS]), ([OURS], []), ([THEIRS, OURS], []), ([THEIRS], [OURS]), ([], [OURS])],
)
def test_a_table_that_proxies_write_is_the_right_one(read: list[CrossClusterRef], write: list[CrossClusterRef]) -> None:
    assert mismatch(read, write) is None


@pytest.mark.parametrize(("read", "write"), [([THEIRS], [THEIRS]), ([THEIRS], []), ([OURS], [THEIRS])])
def test_another_table_is_named(read: list[CrossClusterRef], write: list[CrossClusterRef]) -> None:
    message = mismatch(read, write)
    assert message is not None
    assert str(OURS) in message
    assert str(THEIRS) in message


def test_a_table_reached_by_another_path_is_known_by_its_id() -> None:
    link = CrossClusterRef("hume", "//home/link")
    assert mismatch([link], [link], {OURS: PLAIN, link: PLAIN}) is None
    elsewhere = CrossClusterRef("pythia", "//home/link")
    assert mismatch([elsewhere], [elsewhere], {OURS: PLAIN, elsewhere: PLAIN}) is not None
    assert mismatch([link], [link], {OURS: PLAIN}) is not None


def test_a_replica_has_to_be_synchronous() -> None:
    assert mismatch([OURS], [THEIRS], {OURS: REPLICA, THEIRS: replicated("sync")}) is None
    assert "enabled and async" in str(mismatch([OURS], [THEIRS], {OURS: REPLICA, THEIRS: replicated("async")}))
    assert "disabled and sync" in str(
        mismatch([OURS], [THEIRS], {OURS: REPLICA, THEIRS: replicated("sync", "disabled")})
    )


def test_a_replica_of_nobody_knows_what_is_in_doubt() -> None:
    words = "not known to be a synchronous one"
    assert words in str(mismatch([OURS], [THEIRS], {OURS: REPLICA}))
    assert words in str(mismatch([OURS], [THEIRS], {OURS: REPLICA, THEIRS: replicated("sync", replica_id="8-8-8-8")}))
    assert words in str(mismatch([OURS], [], {OURS: REPLICA, THEIRS: PLAIN}))


def test_a_name_is_compared_if_there_is_one() -> None:
    assert find_name_mismatch("hume", Connection()) is None
    assert find_name_mismatch("hume", Connection("hume")) is None
    assert '"pythia"' in str(find_name_mismatch("hume", Connection("pythia")))


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"id": "1-1-1-1", "upstream_replica_id": "0-0-0-0"}, TableFacts("1-1-1-1", None, {})),
        ({"id": "1-1-1-1", "upstream_replica_id": "7-7-7-7"}, TableFacts("1-1-1-1", "7-7-7-7", {})),
        ({"id": "9-9-9-9", "replicas": {"7-7-7-7": {}}}, TableFacts("9-9-9-9", None, {"7-7-7-7": {}})),
        ({"replicas": "nonsense"}, TableFacts(None, None, {})),
    ],
)
def test_what_a_cluster_leaves_out_of_a_table_is_not_known(attributes: dict[str, Any], expected: TableFacts) -> None:
    assert TableFacts.parse(attributes) == expected
