"""What a cheap look at a table spares asking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import pytest

from queue_agent.core.values.observed import (
    Poll,
    TableDescription,
    TableFacts,
    TabletDescription,
    TabletInfo,
    is_refresh_due,
    is_untouched,
    remember_table,
    tablet_count,
)
from queue_agent.core.values.refs import CrossClusterRef

TABLE = CrossClusterRef("pythia", "//tmp/q")
FACTS = TableFacts("1-2-3-4", 7, {"mounted": 2})
WRITTEN = {0: TabletInfo(5, 0, 100), 1: TabletInfo(5, 0, 101)}


def described(*states: str) -> TableDescription:
    return TableDescription([], [TabletDescription(i, f"t{i}", state, None, None) for i, state in enumerate(states)])


def poll(infos: Mapping[int, TabletInfo] | None = WRITTEN, facts: TableFacts = FACTS) -> Poll:
    return Poll(facts, infos)


def test_a_table_is_remembered_while_all_its_tablets_are_mounted() -> None:
    known = remember_table(TABLE, FACTS, described("mounted", "mounted"))
    assert known is not None
    assert (known.table, known.tablet_count) == (TABLE, 2)


@pytest.mark.parametrize("state", ["mounting", "frozen", "unmounted"])
def test_a_table_with_a_tablet_that_may_change_is_not_remembered(state: str) -> None:
    assert remember_table(TABLE, FACTS, described("mounted", state)) is None


def test_a_description_holds_as_long_as_the_same_facts_are_seen_and_all_tablets_answer() -> None:
    known = remember_table(TABLE, FACTS, described("mounted", "mounted"))
    assert known is not None
    assert known.is_confirmed_by(poll({}))
    assert not known.is_confirmed_by(poll(None))
    for changed in ({"object_id": "5"}, {"attribute_revision": 8}, {"tablet_count_by_state": {"mounted": 3}}):
        assert not known.is_confirmed_by(poll(facts=FACTS._replace(**changed)))


@pytest.mark.parametrize("period", [1, 7, 60])
def test_every_object_is_refreshed_once_in_a_period(period: int) -> None:
    for key in range(20):
        due = [index for index in range(3 * period) if is_refresh_due(key, index, period)]
        assert [later - earlier for earlier, later in pairwise(due)] == [period, period]


def test_objects_are_not_all_refreshed_in_one_pass() -> None:
    assert len({next(i for i in range(60) if is_refresh_due(key, i, 60)) for key in range(20)}) > 1


def test_tablets_count_whatever_their_state() -> None:
    assert tablet_count(poll(facts=FACTS._replace(tablet_count_by_state={"mounted": 3, "frozen": 2}))) == 5


def test_a_table_that_looks_the_same_was_not_written_to() -> None:
    assert is_untouched(poll(), replace(poll(), digest=b"other"))
    assert not is_untouched(None, poll())
    assert not is_untouched(poll(), poll({**WRITTEN, 1: TabletInfo(6, 0, 102)}))
    assert not is_untouched(poll(), poll(facts=FACTS._replace(attribute_revision=8)))


@pytest.mark.parametrize("infos", [None, {}, {0: TabletInfo(0, 0, 1)}, {**WRITTEN, 2: TabletInfo(0, 0, 0)}])
def test_a_tablet_that_tells_of_no_write_proves_nothing(infos: Mapping[int, TabletInfo] | None) -> None:
    assert not is_untouched(poll(infos), poll(infos))
