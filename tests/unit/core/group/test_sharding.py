"""Which agent leads which object."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queue_agent.core.group.sharding import Rendezvous, find_orphans, mix, plan_hosts, split_by_stage
from queue_agent.core.state.rows import ConsumerRow, QueueRow, StateRows
from queue_agent.core.values.refs import CrossClusterRef
from yt_wire.farm_hash import fingerprint

TABLES = [CrossClusterRef("pythia" if number % 3 else "hume", f"//home/app/queue-{number}") for number in range(4000)]
AGENTS = [f"agent-{number}.queue-agents.example.net:9030" for number in range(6)]
A, B, C = (CrossClusterRef("pythia", f"//{name}") for name in "abc")


def distribute(agents: list[str]) -> dict[CrossClusterRef, str]:
    rendezvous = Rendezvous(fingerprint)
    members = rendezvous.hash_members(agents)
    return {table: rendezvous.choose(table, members) for table in TABLES}


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_objects_are_spread_evenly(count: int) -> None:
    counts = Counter(distribute(AGENTS[:count]).values())
    assert set(counts) == set(AGENTS[:count])
    for led in counts.values():
        assert abs(led - len(TABLES) / count) < 0.1 * len(TABLES) / count


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_a_new_agent_gets_its_share_and_nothing_else_moves(count: int) -> None:
    before, after = distribute(AGENTS[:count]), distribute(AGENTS[: count + 1])
    moved = {table for table in TABLES if before[table] != after[table]}
    assert {after[table] for table in moved} == {AGENTS[count]}
    share = len(TABLES) / (count + 1)
    assert abs(len(moved) - share) < 0.15 * share


def test_the_order_of_agents_is_of_no_account() -> None:
    assert distribute(AGENTS) == distribute(AGENTS[::-1])


def test_the_choice_is_that_of_the_reference_formula() -> None:
    """By the formula written down once more, plainly: numbers of 64 bits, the smallest pair wins."""
    size = 2**64

    def combine(seed: int, value: int) -> int:
        value = (value * 0xC6A4A7935BD1E995) % size
        value = value ^ (value >> 47)
        value = (value * 0xC6A4A7935BD1E995) % size
        return ((seed ^ value) * 0xC6A4A7935BD1E995) % size

    for table, chosen in list(distribute(AGENTS).items())[:50]:
        of_object = combine(combine(0, fingerprint(table.cluster.encode())), fingerprint(table.path.encode()))
        pairs = sorted((combine(of_object, fingerprint(agent.encode())), agent) for agent in AGENTS)
        assert chosen == pairs[0][1]


def test_the_hash_never_changes() -> None:
    """Other agents, of other versions, must come to the same."""
    assert mix(0, 0) == 0
    assert mix(mix(0, 1), 2) == 0xAE0B4A2BE74B72B4
    assert distribute(AGENTS)[TABLES[0]] == AGENTS[2]


def state(stages: dict[CrossClusterRef, str], hosts: dict[CrossClusterRef, str]) -> StateRows:
    queues = [QueueRow(table, queue_agent_stage=stage) for table, stage in stages.items()]
    return StateRows(queues, [], [], hosts=hosts)


def test_only_rows_that_differ_are_written_and_other_stages_are_left_alone() -> None:
    rows = state({A: "mine", B: "mine", C: "theirs"}, {A: "x:1", B: "gone:1", C: "c++:1"})
    changes = plan_hosts(split_by_stage(rows, "mine"), rows.hosts, ["x:1"], Rendezvous(fingerprint), [])
    assert changes.write == {B: "x:1"}
    assert not changes.delete


def test_a_row_without_an_object_goes_when_it_is_seen_the_second_time() -> None:
    rows = state({A: "mine"}, {A: "x:1", B: "x:1"})
    tables, rendezvous = split_by_stage(rows, "mine"), Rendezvous(fingerprint)
    assert not plan_hosts(tables, rows.hosts, ["x:1"], rendezvous, []).any
    orphans = find_orphans(tables, rows.hosts)
    assert plan_hosts(tables, rows.hosts, ["x:1"], rendezvous, orphans).delete == [B]


def test_an_object_that_is_a_queue_and_a_consumer_counts_once() -> None:
    rows = StateRows([QueueRow(A, queue_agent_stage="mine")], [ConsumerRow(A, queue_agent_stage="theirs")], [])
    tables = split_by_stage(rows, "mine")
    assert (set(tables.own), set(tables.others)) == ({A}, set())


@settings(max_examples=50)
@given(
    st.dictionaries(st.sampled_from([A, B, C]), st.sampled_from(["mine", "theirs"])),
    st.dictionaries(st.sampled_from([A, B, C]), st.sampled_from(["x:1", "y:1", "z:1"])),
    st.sets(st.sampled_from(["x:1", "y:1"]), min_size=1),
)
def test_once_done_there_is_nothing_more_to_do(
    stages: dict[CrossClusterRef, str], hosts: dict[CrossClusterRef, str], members: set[str]
) -> None:
    rows = state(stages, hosts)
    tables, rendezvous = split_by_stage(rows, "mine"), Rendezvous(fingerprint)
    orphans = find_orphans(tables, hosts)
    changes = plan_hosts(tables, hosts, members, rendezvous, orphans)
    result = {table: host for table, host in {**hosts, **changes.write}.items() if table not in changes.delete}
    assert not plan_hosts(tables, result, members, rendezvous, find_orphans(tables, result)).any
    assert {table for table in result if stages.get(table) != "theirs"} == set(tables.own)
    assert all(result[table] == hosts[table] for table in tables.others if table in hosts)


def test_what_was_forgotten_is_chosen_as_before() -> None:
    asked: list[bytes] = []

    def counting(data: bytes) -> int:
        asked.append(data)
        return fingerprint(data)

    rendezvous = Rendezvous(counting)
    members = rendezvous.hash_members(AGENTS)
    chosen = {table: rendezvous.choose(table, members) for table in (A, B)}
    rendezvous.forget_all_but([A])
    asked.clear()
    assert {table: rendezvous.choose(table, members) for table in (A, B)} == chosen
    assert asked == [b"pythia", b"//b"]
